// A block as the store keeps it: the node's own JSON, cut into pieces that later answers are put
// together from. Pure: bytes in, bytes out.
import { QUOTE } from "../jsonrpc/ascii.ts";
import { findElementsInSteps, findList, type Span } from "../jsonrpc/members.ts";
import { atOnce, type Work } from "../lib/turns.ts";
import { locateLogs, type ReceiptWithLogs, type TermedLog } from "./log-index.ts";

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

/** With so many transactions or logs a block is written, and erased, in several transactions of the store. */
const HUGE = 5_000;

export const isHuge = ({ transactionHashes, logs }: BlockRecord): boolean =>
  transactionHashes.length + logs.length > HUGE;

/** Its logs are few entries: erasing them takes no time. */
export const isHugeToErase = ({ transactions }: Outline): boolean => transactions > HUGE;

export type BlockRecord = {
  readonly outline: Outline;
  /** As lower-case hex. */
  readonly hash: string;
  readonly transactionHashes: readonly string[];
  /** The block with the hashes of its transactions, behind the span of their array. */
  readonly block: Buffer;
  readonly transactionPieces: readonly Buffer[];
  readonly receiptPieces: readonly Buffer[];
  readonly logs: readonly TermedLog[];
  /** The JSON array of the uncles' headers, when they were fetched. */
  readonly uncles: Buffer | undefined;
};

/** What a node answered about one block. */
export type BlockJson = {
  /** With whole transactions. */
  readonly block: Buffer;
  /** The JSON array, in the order of the block. */
  readonly receipts: Buffer;
  /** The JSON array of the uncles' headers, where they were fetched. */
  readonly uncles?: Buffer | undefined;
};

/** The same parsed. */
export type ParsedBlock = {
  readonly block: {
    readonly number: string;
    readonly hash: string;
    readonly parentHash: string;
    readonly timestamp?: unknown;
    readonly transactions?: unknown;
    readonly uncles?: unknown;
  };
  readonly receipts: readonly unknown[];
};

/** @returns undefined when the JSON is not that of a block with whole transactions and its receipts. */
export const recordOf = (
  json: BlockJson,
  parsed: ParsedBlock,
  proof: ProofLevel,
): BlockRecord | undefined => atOnce(cutRecord(json, parsed, proof));

/** The same in steps: a block may be huge. */
export function* cutRecord(
  json: BlockJson,
  { block, receipts: parsedReceipts }: ParsedBlock,
  proof: ProofLevel,
): Work<BlockRecord | undefined> {
  const transactions = yield* findList(json.block, "transactions");
  const hashes = hashesOf(block.transactions);
  const receiptSpans = yield* findElementsInSteps(json.receipts);
  if (!transactions || !hashes || transactions.elements.length !== hashes.length) return undefined;
  if (receiptSpans?.length !== hashes.length) return undefined;
  const receipts: ReceiptWithLogs[] = [];
  for (const [index, span] of receiptSpans.entries()) {
    const located = yield* locateLogs(sliceOf(json.receipts, span), parsedReceipts[index]);
    if (!located) return undefined;
    receipts.push(located);
  }
  const transactionList = transactions.elements.map((span) => sliceOf(json.block, span));
  yield;
  const receiptList = receipts.map(({ json: receipt }) => receipt);
  return {
    outline: {
      number: Number(block.number),
      timestamp: Number(block.timestamp ?? 0),
      parentHash: block.parentHash.toLowerCase(),
      transactions: hashes.length,
      uncles: Array.isArray(block.uncles) ? block.uncles.length : 0,
      hasUncles: json.uncles !== undefined,
      transactionBytes: joinedBytes(transactionList),
      receiptBytes: joinedBytes(receiptList),
      proof,
    },
    hash: block.hash.toLowerCase(),
    transactionHashes: hashes,
    block: withHashes(json.block, transactions, hashes),
    transactionPieces: yield* piecesOf(transactionList),
    receiptPieces: yield* piecesOf(receiptList),
    logs: spansInPieces(receipts),
    uncles: json.uncles,
  };
}

const sliceOf = (json: Buffer, { start, end }: Span): Buffer => json.subarray(start, end);

/** In lower case; undefined when they are not whole transactions. */
function hashesOf(transactions: unknown): string[] | undefined {
  if (!Array.isArray(transactions)) return undefined;
  const hashes = transactions.map((each) => (each as { hash?: unknown } | null)?.hash);
  return hashes.every((hash) => typeof hash === "string")
    ? hashes.map((hash) => hash.toLowerCase())
    : undefined;
}

// The block with hashes: [u32 start of the array][u32 end of the array] JSON.

const ARRAY_SPAN_BYTES = 8;

function withHashes(block: Buffer, { start, end }: Span, hashes: readonly string[]): Buffer {
  const array = hashes.length > 0 ? `["${hashes.join('","')}"]` : "[]";
  const span = Buffer.allocUnsafe(ARRAY_SPAN_BYTES);
  span.writeUInt32LE(start, 0);
  span.writeUInt32LE(start + array.length, 4);
  return Buffer.concat([span, block.subarray(0, start), Buffer.from(array), block.subarray(end)]);
}

/** The stored block's JSON with the hashes of its transactions; a part of `stored`. */
export const blockWithHashes = (stored: Buffer): Buffer => stored.subarray(ARRAY_SPAN_BYTES);

/** What stands before and behind the value of `transactions`; parts of `stored`. */
export function aroundTransactions(stored: Buffer): { before: Buffer; behind: Buffer } {
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

function* piecesOf(items: readonly Buffer[]): Work<Buffer[]> {
  const pieces: Buffer[] = [];
  for (let first = 0; first < items.length; first += PIECE_ITEMS) {
    pieces.push(pieceOf(items.slice(first, first + PIECE_ITEMS)));
    yield;
  }
  return pieces;
}

function pieceOf(items: readonly Buffer[]): Buffer {
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

const joinedBytes = (items: readonly Buffer[]): number =>
  items.reduce((sum, item) => sum + item.length, Math.max(0, items.length - 1));

/** All items of a piece, with commas between them; a part of `piece`. */
export const itemsOf = (piece: Buffer): Buffer =>
  piece.subarray(pieceHeadBytes(piece.readUInt16LE(0)));

/** One item; a part of `piece`. */
export function itemOf(piece: Buffer, index: number): Buffer {
  const start = index === 0 ? 0 : piece.readUInt32LE(2 + 4 * (index - 1)) + 1;
  return itemsOf(piece).subarray(start, piece.readUInt32LE(2 + 4 * index));
}

/** From spans in a receipt to spans in the items of its piece. */
function spansInPieces(receipts: readonly ReceiptWithLogs[]): TermedLog[] {
  const spans: TermedLog[] = [];
  let at = 0;
  receipts.forEach(({ json, logs }, receipt) => {
    if (receipt % PIECE_ITEMS === 0) at = 0;
    for (const log of logs) spans.push({ ...log, receipt, start: at + log.start });
    at += json.length + 1;
  });
  return spans;
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
