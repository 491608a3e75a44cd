// One block of the store: its parts, their layout in bytes, and the answers that are joined from them.

import { QUOTE } from "../jsonrpc/ascii.ts";
import type { Span } from "../jsonrpc/members.ts";
import { type AnswerJson, assembleJson, BorrowedJson, ownedCopy } from "../jsonrpc/raw-json.ts";

/** A block, by its number and its hash. */
export type Position = { readonly number: number; readonly hash: string };

/** How much of a block was proven against its hash. */
export type ProofLevel = "none" | "partial" | "full";
const PROOF_LEVELS: readonly ProofLevel[] = ["none", "partial", "full"];

/** The level of a block with its receipts and their logs, and the level of the block without them. */
export type ProofLevels = { readonly proof: ProofLevel; readonly blockProof: ProofLevel };

/** The facts of a block that the store needs to find items in the block's other parts. */
export type Outline = ProofLevels & {
  readonly number: number;
  /** Seconds since 1970. */
  readonly timestamp: number;
  /** Lower-case hex. */
  readonly parentHash: string;
  readonly transactions: number;
  /** How many uncles the block names. `hasUncles` says whether the store has their headers. */
  readonly uncles: number;
  readonly hasUncles: boolean;
  /**
   * Whether the store has the receipts, and so the logs: a node may keep blocks longer than receipts. Always true of the
   * blocks of the window, and of a block without transactions.
   */
  readonly hasReceipts: boolean;
  /** The size of all receipts (or transactions) with the commas between them, in bytes. */
  readonly receiptBytes: number;
  readonly transactionBytes: number;
  /** The index of the first transaction of each piece of transactions; below, the same of receipts. */
  readonly transactionPieces: Uint32Array;
  readonly receiptPieces: Uint32Array;
};

export type StoredPart = "outline" | "block" | "transactions" | "receipts" | "logs" | "uncles";

/** Reads one part of a block. The bytes are valid only until the next read. */
export type PartReader = {
  part(hash: string | Buffer, part: StoredPart, piece?: number): Buffer | undefined;
};

type List = "transactions" | "receipts";
type Around = { readonly before: Buffer; readonly behind: Buffer };

/** A block whose answers are JSON as the node gave it. Use it only in the turn of its lookup: it may leave the store. */
export class StoredBlock implements Position {
  /** Lower-case hex. */
  readonly hash: string;
  readonly outline: Outline;
  readonly #store: PartReader;

  constructor({ hash, outline }: { hash: string; outline: Outline }, parts: { store: PartReader }) {
    this.hash = hash;
    this.outline = outline;
    this.#store = parts.store;
  }

  get number(): number {
    return this.outline.number;
  }

  /** The level of answers that tell of receipts or logs. */
  get proof(): ProofLevel {
    return this.outline.proof;
  }

  /** The level of answers that tell of the block alone. */
  get blockProof(): ProofLevel {
    return this.outline.blockProof;
  }

  get hasReceipts(): boolean {
    return this.outline.hasReceipts;
  }

  withHashes(): Buffer {
    return Buffer.from(blockWithHashes(this.#part("block")));
  }

  withTransactions(): Buffer {
    return this.#join("transactions", inBuffer);
  }

  /** The hashes in order; on epoch networks those of the epoch's blocks. */
  transactionHashes(): string[] {
    return transactionHashesIn(this.#part("block"));
  }

  /** As `withHashes`, for a response. */
  withHashesToSend(): AnswerJson {
    return ownedCopy(blockWithHashes(this.#part("block")));
  }

  /** As `withTransactions`, for a response: a large answer is read while it is sent. */
  withTransactionsToSend(): AnswerJson {
    return this.#toSend("transactions");
  }

  /** As `receipts`, for a response: a large answer is read while it is sent. */
  receiptsToSend(): AnswerJson | undefined {
    return this.outline.hasReceipts ? this.#toSend("receipts") : undefined;
  }

  /** undefined when the store has the block without its receipts. */
  receipts(): Buffer | undefined {
    return this.outline.hasReceipts ? this.#join("receipts", inBuffer) : undefined;
  }

  /** @returns undefined when the block has no transaction at this index. */
  transaction(index: number): BorrowedJson | undefined {
    return this.#item("transactions", index);
  }

  /** @returns undefined also when the store has the block without its receipts. */
  receipt(index: number): BorrowedJson | undefined {
    return this.outline.hasReceipts ? this.#item("receipts", index) : undefined;
  }

  /** The JSON array of the uncles' headers; undefined when the node did not give them. */
  uncles(): Buffer | undefined {
    return this.outline.hasUncles ? Buffer.from(this.#part("uncles")) : undefined;
  }

  #item(part: List, index: number): BorrowedJson | undefined {
    if (index >= this.outline.transactions) return undefined;
    const firsts = this.#firstsOf(part);
    const piece = pieceWith(firsts, index);
    return itemOf(this.#part(part, piece), index - (firsts[piece] ?? 0));
  }

  #toSend(part: List): AnswerJson {
    return this.#bytesOf(part) > WORTH_HOLDING
      ? this.#source(part)
      : this.#join(part, assembleJson);
  }

  /** Joins all items as one array, with the JSON around it. @param put Calls `write` with a buffer of `bytes` or more. */
  #join<Json>(part: List, put: (bytes: number, write: (into: Buffer) => void) => Json): Json {
    const { before, behind } = this.#around(part);
    const bytes = before.length + 1 + this.#bytesOf(part) + 1 + behind.length;
    return put(bytes, (joined) => {
      let at = before.copy(joined);
      behind.copy(joined, bytes - behind.length); // `behind` is valid only until the next read
      at += OPEN.copy(joined, at);
      for (let piece = 0; piece < this.#firstsOf(part).length; piece += 1) {
        if (piece > 0) at += COMMA.copy(joined, at);
        at = putItems(this.#part(part, piece), joined, at);
      }
      CLOSE.copy(joined, at);
    });
  }

  /** Reads the JSON of `#join` piece by piece. Throws if the block leaves the store before the last piece is read. */
  #source(part: List): AnswerJson {
    const around = this.#around(part);
    const [before, behind] = [Buffer.from(around.before), Buffer.from(around.behind)];
    const pieces = this.#firstsOf(part).length;
    const read = (piece: number): Buffer => wholeItems(this.#part(part, piece));
    return {
      length: before.length + 1 + this.#bytesOf(part) + 1 + behind.length,
      heldBytes: before.length + behind.length,
      *chunks() {
        yield before;
        for (let piece = 0; piece < pieces; piece += 1) {
          yield piece === 0 ? OPEN : COMMA;
          yield read(piece);
        }
        yield CLOSE;
        yield behind;
      },
    };
  }

  /** The JSON before and behind the array; valid until the next read. */
  #around(part: List): Around {
    return part === "receipts" ? NOTHING_AROUND : aroundTransactions(this.#part("block"));
  }

  /** The size of the items with the commas between them, in bytes. */
  #bytesOf(part: List): number {
    return part === "receipts" ? this.outline.receiptBytes : this.outline.transactionBytes;
  }

  #firstsOf(part: List): Uint32Array {
    return part === "receipts" ? this.outline.receiptPieces : this.outline.transactionPieces;
  }

  #part(part: StoredPart, piece = 0): Buffer {
    const bytes = this.#store.part(this.hash, part, piece);
    if (!bytes) throw new Error(`block ${this.hash} has no ${part} ${piece} in the store`);
    return bytes;
  }
}

/** An answer up to this long, in bytes, is joined at once. */
const WORTH_HOLDING = 262_144;
const OPEN = Buffer.from("[");
const COMMA = Buffer.from(",");
const CLOSE = Buffer.from("]");
const NOTHING_AROUND = { before: Buffer.alloc(0), behind: Buffer.alloc(0) };

function inBuffer(bytes: number, write: (into: Buffer) => void): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  write(buffer);
  return buffer;
}

// The block with hashes: [u32 start of the array][u32 end of the array] JSON.

const ARRAY_SPAN_BYTES = 8;

/** @param array The span of the array of transactions in the block. */
export function withHashes(block: Buffer, { start, end }: Span, hashes: readonly string[]): Buffer {
  const array = hashes.length > 0 ? `["${hashes.join('","')}"]` : "[]";
  const span = Buffer.allocUnsafe(ARRAY_SPAN_BYTES);
  span.writeUInt32LE(start, 0);
  span.writeUInt32LE(start + array.length, 4);
  return Buffer.concat([span, block.subarray(0, start), Buffer.from(array), block.subarray(end)]);
}

/** The stored block's JSON with the hashes of its transactions; shares the memory of `stored`. */
const blockWithHashes = (stored: Buffer): Buffer => stored.subarray(ARRAY_SPAN_BYTES);

/** The JSON before and behind the value of `transactions`; shares the memory of `stored`. */
function aroundTransactions(stored: Buffer): Around {
  const json = blockWithHashes(stored);
  return {
    before: json.subarray(0, stored.readUInt32LE(0)),
    behind: json.subarray(stored.readUInt32LE(4)),
  };
}

/** The hashes of the transactions of a stored block, in order. */
export const transactionHashesIn = (stored: Buffer): string[] =>
  JSON.parse(
    blockWithHashes(stored).toString("latin1", stored.readUInt32LE(0), stored.readUInt32LE(4)),
  ) as string[];

/** The same hashes one by one, since the list of a huge block is long. */
export function* eachTransactionHash(stored: Buffer): Generator<string> {
  const json = blockWithHashes(stored);
  const end = stored.readUInt32LE(4);
  let at = json.indexOf(QUOTE, stored.readUInt32LE(0));
  while (at >= 0 && at < end) {
    const close = json.indexOf(QUOTE, at + 1);
    yield json.toString("latin1", at + 1, close);
    at = json.indexOf(QUOTE, close + 1);
  }
}

// A piece: [u16 how many items], for each item [u32 end][u16 offset of its removed bloom][u32 end of its digits]; the
// items with commas between them; [u16 position and value] of each digit of a bloom that is not 0. A receipt's bloom has
// 512 digits, nearly all of them 0, and would take a sixth of a block.

/** A transaction or a receipt as its piece has it. */
export type StoredItem = {
  /** The JSON without the digits of the bloom. */
  readonly json: Buffer;
  /** The offset of the removed digits in the JSON; undefined when no digits were removed. */
  readonly bloomAt?: number;
  /** The digits that are not 0: twelve bits for the digit's position in the bloom, four for its value. */
  readonly digits?: Uint16Array;
  /** The size of the whole item, in bytes. */
  readonly bytes: number;
};

const BLOOM_NAME = Buffer.from('"logsBloom":"0x');
export const BLOOM_DIGITS = 512;
/** A bloom with more digits than this that are not 0 stays in its receipt. */
const MOST_DIGITS = 128;
const NO_BLOOM = 0xffff;
const ZERO = 0x30;
const NINE = 0x39;
const LETTER_A = 0x61;
const LETTER_F = 0x66;
const TEN = 10;
const foundDigits = new Uint16Array(MOST_DIGITS);
/** The digits of the bloom at hand, one by one and in fours: most fours are zeros. */
const bloomBytes = new Uint8Array(BLOOM_DIGITS);
const bloomWords = new Uint32Array(bloomBytes.buffer);
const ZEROS = 0x30303030;

export const wholeItem = (json: Buffer): StoredItem => ({ json, bytes: json.length });

/** Removes the digits of a receipt's bloom. @returns undefined when they cannot be removed. */
export function withoutBloom(
  receipt: Buffer,
): (StoredItem & { readonly bloomAt: number }) | undefined {
  const at = receipt.indexOf(BLOOM_NAME) + BLOOM_NAME.length;
  if (at < BLOOM_NAME.length || at >= NO_BLOOM || receipt[at + BLOOM_DIGITS] !== QUOTE) return;
  receipt.copy(bloomBytes, 0, at, at + BLOOM_DIGITS);
  let count = 0;
  for (let word = 0; word < bloomWords.length; word += 1) {
    if (bloomWords[word] === ZEROS) continue;
    for (let position = 4 * word; position < 4 * word + 4; position += 1) {
      const byte = bloomBytes[position] ?? 0;
      if (byte === ZERO) continue;
      const isDigit = byte > ZERO && byte <= NINE;
      const isLetter = byte >= LETTER_A && byte <= LETTER_F;
      if (count === MOST_DIGITS || !(isDigit || isLetter)) return undefined;
      foundDigits[count] = (position << 4) | (isDigit ? byte - ZERO : byte - LETTER_A + TEN);
      count += 1;
    }
  }
  const json = Buffer.concat([receipt.subarray(0, at), receipt.subarray(at + BLOOM_DIGITS)]);
  return { json, bloomAt: at, digits: foundDigits.slice(0, count), bytes: receipt.length };
}

const PIECE_HEAD_BYTES = 2;
const ITEM_HEAD_BYTES = 10;

/** The bytes that an item takes in its piece, with a comma. */
export const bytesInPiece = ({ json, digits }: StoredItem): number =>
  ITEM_HEAD_BYTES + json.length + 1 + 2 * (digits?.length ?? 0);

export function pieceOf(items: readonly StoredItem[]): Buffer {
  const head = itemsAt(items.length);
  const joined = items.reduce((sum, { json }) => sum + json.length, Math.max(0, items.length - 1));
  const digits = items.reduce((sum, item) => sum + (item.digits?.length ?? 0), 0);
  const piece = Buffer.allocUnsafe(head + joined + 2 * digits);
  piece.writeUInt16LE(items.length, 0);
  let at = head;
  let digitsAt = head + joined;
  items.forEach((item, index) => {
    if (index > 0) at += piece.write(",", at);
    at += item.json.copy(piece, at);
    for (const digit of item.digits ?? []) digitsAt = piece.writeUInt16LE(digit, digitsAt);
    const entry = PIECE_HEAD_BYTES + ITEM_HEAD_BYTES * index;
    piece.writeUInt32LE(at - head, entry);
    piece.writeUInt16LE(item.bloomAt ?? NO_BLOOM, entry + 4);
    piece.writeUInt32LE((digitsAt - head - joined) / 2, entry + 6);
  });
  return piece;
}

const itemsAt = (items: number): number => PIECE_HEAD_BYTES + ITEM_HEAD_BYTES * items;

/** The size of the whole items with the commas between them, in bytes. */
export const joinedBytes = (items: readonly StoredItem[]): number =>
  items.reduce((sum, { bytes }) => sum + bytes, Math.max(0, items.length - 1));

/** All items of a piece with commas between them, without their blooms; shares the memory of `piece`. */
export function itemsOf(piece: Buffer): Buffer {
  const count = piece.readUInt16LE(0);
  const head = itemsAt(count);
  return piece.subarray(head, head + endOf(piece, count - 1));
}

const endOf = (piece: Buffer, index: number): number =>
  index < 0 ? 0 : piece.readUInt32LE(PIECE_HEAD_BYTES + ITEM_HEAD_BYTES * index);

function itemOf(piece: Buffer, index: number): BorrowedJson {
  const head = itemsAt(piece.readUInt16LE(0));
  const start = index === 0 ? 0 : endOf(piece, index - 1) + 1;
  const end = endOf(piece, index);
  const entry = PIECE_HEAD_BYTES + ITEM_HEAD_BYTES * index;
  if (piece.readUInt16LE(entry + 4) === NO_BLOOM)
    return new BorrowedJson(piece.subarray(head + start, head + end));
  const length = end - start + BLOOM_DIGITS;
  const only = { first: index, behind: index + 1 };
  return new BorrowedJson({
    length,
    write: (into: Buffer, at: number) => void putFrom(piece, only, into, at),
  });
}

/** Writes all items with their blooms, and the commas between them. @returns The offset behind them. */
function putItems(piece: Buffer, into: Buffer, at: number): number {
  return putFrom(piece, { first: 0, behind: piece.readUInt16LE(0) }, into, at);
}

function putFrom(
  piece: Buffer,
  { first, behind }: { first: number; behind: number },
  into: Buffer,
  start: number,
): number {
  const count = piece.readUInt16LE(0);
  const head = itemsAt(count);
  const digitsFrom = head + endOf(piece, count - 1);
  let at = start;
  let from = first === 0 ? 0 : endOf(piece, first - 1) + 1;
  let itemAt = from;
  for (let index = first; index < behind; index += 1) {
    const entry = PIECE_HEAD_BYTES + ITEM_HEAD_BYTES * index;
    const bloomAt = piece.readUInt16LE(entry + 4);
    if (bloomAt !== NO_BLOOM) {
      at += piece.copy(into, at, head + from, head + itemAt + bloomAt);
      into.fill(ZERO, at, at + BLOOM_DIGITS);
      const end = digitsFrom + 2 * piece.readUInt32LE(entry + 6);
      let digit = index === 0 ? digitsFrom : digitsFrom + 2 * piece.readUInt32LE(entry - 4);
      // Reads single bytes: a receipt has up to a hundred digits, and a call for each would cost as much as all else.
      for (; digit < end; digit += 2) {
        const low = piece[digit] ?? 0;
        const position = (low >> 4) | ((piece[digit + 1] ?? 0) << 4);
        const value = low & 15;
        into[at + position] = value < TEN ? ZERO + value : LETTER_A - TEN + value;
      }
      at += BLOOM_DIGITS;
      from = itemAt + bloomAt;
    }
    itemAt = endOf(piece, index) + 1;
  }
  return at + piece.copy(into, at, head + from, head + itemAt - 1);
}

function wholeItems(piece: Buffer): Buffer {
  const count = piece.readUInt16LE(0);
  const blooms = Array.from({ length: count }, (_, index) =>
    piece.readUInt16LE(PIECE_HEAD_BYTES + ITEM_HEAD_BYTES * index + 4),
  ).filter((bloomAt) => bloomAt !== NO_BLOOM).length;
  const whole = Buffer.allocUnsafe(endOf(piece, count - 1) + BLOOM_DIGITS * blooms);
  putItems(piece, whole, 0);
  return whole;
}

/** The piece that has the item with this index. */
function pieceWith(firsts: Uint32Array, index: number): number {
  let from = 0;
  let to = firsts.length;
  while (to - from > 1) {
    const middle = (from + to) >> 1;
    if ((firsts[middle] ?? 0) <= index) from = middle;
    else to = middle;
  }
  return from;
}

// The outline: 64 bytes, and the index of the first item of each piece.

const OUTLINE_BYTES = 64;
const HAS_UNCLES = 1;
const LACKS_RECEIPTS = 2;
/** The bits of the block's own level are above those of the level with receipts. 0: both are the same (format 3). */
const LEVEL_BITS = 2;
const LEVEL_MASK = 3;

export function encodeOutline(outline: Outline): Buffer {
  const { transactionPieces, receiptPieces } = outline;
  const pieces = transactionPieces.length + receiptPieces.length;
  const bytes = Buffer.alloc(OUTLINE_BYTES + 4 * pieces);
  bytes.writeUInt32LE(outline.number, 0);
  bytes.writeDoubleLE(outline.timestamp, 4);
  bytes.write(outline.parentHash.slice(2), 12, "hex");
  bytes.writeUInt32LE(outline.transactions, 44);
  bytes.writeUInt32LE(outline.transactionBytes, 48);
  bytes.writeUInt32LE(outline.receiptBytes, 52);
  bytes.writeUInt16LE(outline.uncles, 56);
  const lacking = outline.hasReceipts ? 0 : LACKS_RECEIPTS;
  bytes.writeUInt8((outline.hasUncles ? HAS_UNCLES : 0) | lacking, 58);
  bytes.writeUInt8(encodeLevels(outline), 59);
  bytes.writeUInt16LE(transactionPieces.length, 60);
  bytes.writeUInt16LE(receiptPieces.length, 62);
  [...transactionPieces, ...receiptPieces].forEach((first, index) => {
    bytes.writeUInt32LE(first, OUTLINE_BYTES + 4 * index);
  });
  return bytes;
}

export function decodeOutline(bytes: Buffer): Outline {
  const behindTransactions = OUTLINE_BYTES + 4 * bytes.readUInt16LE(60);
  const behindReceipts = behindTransactions + 4 * bytes.readUInt16LE(62);
  return {
    ...fixedIn(bytes),
    transactionPieces: wordsIn(bytes, OUTLINE_BYTES, behindTransactions),
    receiptPieces: wordsIn(bytes, behindTransactions, behindReceipts),
  };
}

function wordsIn(bytes: Buffer, from: number, to: number): Uint32Array {
  const words = new Uint32Array((to - from) / 4);
  for (let index = 0; index < words.length; index += 1)
    words[index] = bytes.readUInt32LE(from + 4 * index);
  return words;
}

const fixedIn = (bytes: Buffer): Omit<Outline, "transactionPieces" | "receiptPieces"> => ({
  number: bytes.readUInt32LE(0),
  timestamp: bytes.readDoubleLE(4),
  parentHash: `0x${bytes.toString("hex", 12, 44)}`,
  transactions: bytes.readUInt32LE(44),
  transactionBytes: bytes.readUInt32LE(48),
  receiptBytes: bytes.readUInt32LE(52),
  uncles: bytes.readUInt16LE(56),
  hasUncles: (bytes.readUInt8(58) & HAS_UNCLES) !== 0,
  hasReceipts: (bytes.readUInt8(58) & LACKS_RECEIPTS) === 0,
  proof: PROOF_LEVELS[bytes.readUInt8(59) & LEVEL_MASK] ?? "none",
  blockProof: blockLevelIn(bytes.readUInt8(59)),
});

const encodeLevels = ({ proof, blockProof }: ProofLevels): number =>
  PROOF_LEVELS.indexOf(proof) | ((PROOF_LEVELS.indexOf(blockProof) + 1) << LEVEL_BITS);

function blockLevelIn(levels: number): ProofLevel {
  const own = levels >> LEVEL_BITS;
  return PROOF_LEVELS[own === 0 ? levels & LEVEL_MASK : own - 1] ?? "none";
}

/** The lower one of two levels. */
export const lowerLevel = (one: ProofLevel, other: ProofLevel): ProofLevel =>
  PROOF_LEVELS[Math.min(PROOF_LEVELS.indexOf(one), PROOF_LEVELS.indexOf(other))] ?? "none";
