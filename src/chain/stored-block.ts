// One block of the store: the parts that it lies in, how they are laid out in bytes, and the answers that are put
// together from them.

import { QUOTE } from "../jsonrpc/ascii.ts";
import type { Span } from "../jsonrpc/members.ts";
import { type AnswerJson, BorrowedJson, lasting, putTogether } from "../jsonrpc/raw-json.ts";

/** A block, by its number and its hash. */
export type Position = { readonly number: number; readonly hash: string };

/** How much of a block was proven against its hash. */
export type ProofLevel = "none" | "partial" | "full";
const PROOF_LEVELS: readonly ProofLevel[] = ["none", "partial", "full"];

/** So many transactions, or receipts, lie in one piece: small enough to read for one of them. */
export const PIECE_ITEMS = 8;

/** What is needed to find one's way in the other parts. */
export type Outline = {
  readonly number: number;
  /** In seconds since 1970. */
  readonly timestamp: number;
  /** As lower-case hex. */
  readonly parentHash: string;
  readonly transactions: number;
  /** How many uncles the block names; whether their headers are here is said by `hasUncles`. */
  readonly uncles: number;
  readonly hasUncles: boolean;
  /** Of all receipts (or transactions) with the commas between them, in bytes. */
  readonly receiptBytes: number;
  readonly transactionBytes: number;
  readonly proof: ProofLevel;
};

export type StoredPart = "outline" | "block" | "transactions" | "receipts" | "logs" | "uncles";

/** Gives one part of a block: bytes that last until the next reading only. */
export type PartReader = {
  part(hash: string | Buffer, part: StoredPart, piece?: number): Buffer | undefined;
};

type List = "transactions" | "receipts";
type Around = { readonly before: Buffer; readonly behind: Buffer };

/**
 * Answers are JSON as the node gave it. To be used in the turn in which it was found: later, the
 * block may have left the store.
 */
export class StoredBlock implements Position {
  /** As lower-case hex. */
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

  get proof(): ProofLevel {
    return this.outline.proof;
  }

  withHashes(): Buffer {
    return Buffer.from(blockWithHashes(this.#part("block")));
  }

  withTransactions(): Buffer {
    return this.#join("transactions", inBuffer);
  }

  /** In order; on epoch networks those of the epoch's blocks. */
  transactionHashes(): string[] {
    return transactionHashesIn(this.#part("block"));
  }

  /** As `withHashes`. */
  withHashesToSend(): AnswerJson {
    return lasting(blockWithHashes(this.#part("block")));
  }

  /** As `withTransactions`; of many, made while it is sent. */
  withTransactionsToSend(): AnswerJson {
    return this.#toSend("transactions");
  }

  /** As `receipts`; of many, made while it is sent. */
  receiptsToSend(): AnswerJson {
    return this.#toSend("receipts");
  }

  receipts(): Buffer {
    return this.#join("receipts", inBuffer);
  }

  /** undefined when the block has no transaction at this index. */
  transaction(index: number): BorrowedJson | undefined {
    return this.#item("transactions", index);
  }

  receipt(index: number): BorrowedJson | undefined {
    return this.#item("receipts", index);
  }

  /** The JSON array of the uncles' headers; undefined when the node did not give them. */
  uncles(): Buffer | undefined {
    return this.outline.hasUncles ? Buffer.from(this.#part("uncles")) : undefined;
  }

  #item(part: List, index: number): BorrowedJson | undefined {
    if (index >= this.outline.transactions) return undefined;
    const piece = this.#part(part, Math.floor(index / PIECE_ITEMS));
    return new BorrowedJson(itemOf(piece, index % PIECE_ITEMS));
  }

  #toSend(part: List): AnswerJson {
    return this.#bytesOf(part) > WORTH_HOLDING ? this.#source(part) : this.#join(part, putTogether);
  }

  /** All items as one array, with what stands around it. @param put Has it written into a buffer of so many bytes, or more. */
  #join<Json>(part: List, put: (bytes: number, write: (into: Buffer) => void) => Json): Json {
    const { before, behind } = this.#around(part);
    const bytes = before.length + 1 + this.#bytesOf(part) + 1 + behind.length;
    return put(bytes, (joined) => {
      let at = before.copy(joined);
      behind.copy(joined, bytes - behind.length); // before the next reading
      at += OPEN.copy(joined, at);
      for (let piece = 0; piece < this.#pieces; piece += 1) {
        if (piece > 0) at += COMMA.copy(joined, at);
        at += itemsOf(this.#part(part, piece)).copy(joined, at);
      }
      CLOSE.copy(joined, at);
    });
  }

  /** What `#join` makes, piece by piece. The block may leave the store before it is read to its end: then reading throws. */
  #source(part: List): AnswerJson {
    const around = this.#around(part);
    const [before, behind] = [Buffer.from(around.before), Buffer.from(around.behind)];
    const pieces = this.#pieces;
    const read = (piece: number): Buffer => Buffer.from(itemsOf(this.#part(part, piece)));
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

  /** What stands before and behind the array; until the next reading. */
  #around(part: List): Around {
    return part === "receipts" ? NOTHING_AROUND : aroundTransactions(this.#part("block"));
  }

  /** Of the items with the commas between them. */
  #bytesOf(part: List): number {
    return part === "receipts" ? this.outline.receiptBytes : this.outline.transactionBytes;
  }

  get #pieces(): number {
    return Math.ceil(this.outline.transactions / PIECE_ITEMS);
  }

  #part(part: StoredPart, piece = 0): Buffer {
    const bytes = this.#store.part(this.hash, part, piece);
    if (!bytes) throw new Error(`block ${this.hash} has no ${part} ${piece} in the store`);
    return bytes;
  }
}

/** In bytes: an answer up to this long is put together at once. */
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

/** @param array Where the array of transactions stands in the block. */
export function withHashes(block: Buffer, { start, end }: Span, hashes: readonly string[]): Buffer {
  const array = hashes.length > 0 ? `["${hashes.join('","')}"]` : "[]";
  const span = Buffer.allocUnsafe(ARRAY_SPAN_BYTES);
  span.writeUInt32LE(start, 0);
  span.writeUInt32LE(start + array.length, 4);
  return Buffer.concat([span, block.subarray(0, start), Buffer.from(array), block.subarray(end)]);
}

/** The stored block's JSON with the hashes of its transactions; a part of `stored`. */
const blockWithHashes = (stored: Buffer): Buffer => stored.subarray(ARRAY_SPAN_BYTES);

/** What stands before and behind the value of `transactions`; parts of `stored`. */
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

/** The same one by one: of a huge block the list is long. */
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

// A piece: [u16 how many][u32 end of each] items with commas between them.

export function pieceOf(items: readonly Buffer[]): Buffer {
  const head = pieceHeadBytes(items.length);
  const piece = Buffer.allocUnsafe(head + joinedBytes(items));
  piece.writeUInt16LE(items.length, 0);
  let at = head;
  items.forEach((item, index) => {
    if (index > 0) at += piece.write(",", at);
    at += item.copy(piece, at);
    piece.writeUInt32LE(at - head, 2 + 4 * index);
  });
  return piece;
}

const pieceHeadBytes = (items: number): number => 2 + 4 * items;

/** Of the items with the commas between them. */
export const joinedBytes = (items: readonly Buffer[]): number =>
  items.reduce((sum, item) => sum + item.length, Math.max(0, items.length - 1));

/** All items of a piece, with commas between them; a part of `piece`. */
export const itemsOf = (piece: Buffer): Buffer =>
  piece.subarray(pieceHeadBytes(piece.readUInt16LE(0)));

/** One item; a part of `piece`. */
function itemOf(piece: Buffer, index: number): Buffer {
  const head = pieceHeadBytes(piece.readUInt16LE(0));
  const start = index === 0 ? 0 : piece.readUInt32LE(2 + 4 * (index - 1)) + 1;
  return piece.subarray(head + start, head + piece.readUInt32LE(2 + 4 * index));
}

// The outline in 64 bytes.

const OUTLINE_BYTES = 64;
const HAS_UNCLES = 1;

export function encodeOutline(outline: Outline): Buffer {
  const bytes = Buffer.alloc(OUTLINE_BYTES);
  bytes.writeUInt32LE(outline.number, 0);
  bytes.writeDoubleLE(outline.timestamp, 4);
  bytes.write(outline.parentHash.slice(2), 12, "hex");
  bytes.writeUInt32LE(outline.transactions, 44);
  bytes.writeUInt32LE(outline.transactionBytes, 48);
  bytes.writeUInt32LE(outline.receiptBytes, 52);
  bytes.writeUInt16LE(outline.uncles, 56);
  bytes.writeUInt8(outline.hasUncles ? HAS_UNCLES : 0, 58);
  bytes.writeUInt8(PROOF_LEVELS.indexOf(outline.proof), 59);
  return bytes;
}

export const decodeOutline = (bytes: Buffer): Outline => ({
  number: bytes.readUInt32LE(0),
  timestamp: bytes.readDoubleLE(4),
  parentHash: `0x${bytes.toString("hex", 12, 44)}`,
  transactions: bytes.readUInt32LE(44),
  transactionBytes: bytes.readUInt32LE(48),
  receiptBytes: bytes.readUInt32LE(52),
  uncles: bytes.readUInt16LE(56),
  hasUncles: bytes.readUInt8(58) === HAS_UNCLES,
  proof: PROOF_LEVELS[bytes.readUInt8(59)] ?? "none",
});
