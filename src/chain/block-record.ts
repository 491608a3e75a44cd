// Cuts the node's own JSON of a block into the parts that the store holds. Later answers are joined from these parts.
// Pure: bytes in, bytes out.
import type { PlacedList } from "../jsonrpc/element-reader.ts";
import { findElementsInSteps, findList, type Span } from "../jsonrpc/members.ts";
import { eachInSteps, type Work } from "../lib/turns.ts";
import {
  encodeDirectory,
  type LocatedLog,
  locateLogs,
  logsIn,
  type ReceiptWithLogs,
  type TermedLog,
} from "./log-index.ts";
import {
  BLOOM_DIGITS,
  bytesInPiece,
  joinedBytes,
  type Outline,
  type ProofLevels,
  pieceOf,
  type StoredItem,
  wholeItem,
  withHashes,
  withoutBloom,
} from "./stored-block.ts";

/** A block with more transactions and logs than this is written in several transactions of the store. */
const HUGE = 5_000;

export const isHuge = ({ transactionHashes, logs }: BlockRecord): boolean =>
  transactionHashes.length / HASH_BYTES + logsIn(logs) > HUGE;

/** Whether the store erases the block in several transactions. Logs do not count: a block's logs are few entries. */
export const isHugeToErase = ({ transactions }: Outline): boolean => transactions > HUGE;

export type BlockRecord = {
  readonly outline: Outline;
  /** Lower-case hex. */
  readonly hash: string;
  /** The hashes of all transactions, 32 bytes each. */
  readonly transactionHashes: Buffer;
  /** The span of the array of transactions, then the block's JSON with the hashes of its transactions. */
  readonly block: Buffer;
  readonly transactionPieces: readonly Buffer[];
  readonly receiptPieces: readonly Buffer[];
  /** The directory of the block's logs (`log-index.ts`). */
  readonly logs: Buffer;
  /** The JSON array of the uncles' headers, if they were fetched. */
  readonly uncles: Buffer | undefined;
};

export const HASH_BYTES = 32;

/** A record that is sent to another thread: all parts in one buffer, one after the other. */
export type SentRecord = Pick<BlockRecord, "outline" | "hash"> & {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The offset at which each part ends. */
  readonly ends: readonly number[];
};

export function sentRecord(record: BlockRecord): SentRecord {
  const { outline, hash, transactionPieces, receiptPieces, uncles } = record;
  const parts = [
    ...[record.transactionHashes, record.logs, record.block],
    ...[...transactionPieces, ...receiptPieces],
    ...(uncles ? [uncles] : []),
  ];
  const ends: number[] = [];
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
    ends.push(at);
  }
  return { outline, hash, bytes, ends };
}

/** Restores a record that was sent. Its parts share the memory that was sent. */
export function receivedRecord({ outline, hash, bytes, ends }: SentRecord): BlockRecord {
  const parts = ends.map((end, index) => {
    const start = ends[index - 1] ?? 0;
    return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start);
  });
  const [transactionHashes = NONE, logs = NONE, block = NONE, ...others] = parts;
  const transactionPieces = others.splice(0, outline.transactionPieces.length);
  const receiptPieces = others.splice(0, outline.receiptPieces.length);
  const [uncles] = others;
  return {
    ...{ outline, hash, transactionHashes, logs, block },
    ...{ transactionPieces, receiptPieces, uncles },
  };
}

const NONE = Buffer.alloc(0);

/** The replies of a node about one block. */
export type BlockJson = {
  /** The block with whole transactions. */
  readonly block: Buffer;
  /** The JSON array of the receipts, in the order of the block; undefined where the node does not hold them. */
  readonly receipts: Buffer | undefined;
  /** The JSON array of the uncles' headers, if they were fetched. */
  readonly uncles?: Buffer | undefined;
};

/** The same replies, parsed. */
export type ParsedBlock = {
  readonly block: {
    readonly number: string;
    readonly hash: string;
    readonly parentHash: string;
    readonly timestamp?: unknown;
    readonly transactions?: unknown;
    readonly uncles?: unknown;
  };
  readonly receipts: readonly unknown[] | undefined;
  /** The spans of the transactions in the block's JSON, and of the receipts in theirs; left out: not known yet. */
  readonly spans?:
    | { readonly transactions: PlacedList; readonly receipts: PlacedList | undefined }
    | undefined;
};

/**
 * Cuts a block into its record, with pauses, since a block may be huge.
 * @returns undefined when the JSON is not that of a block with whole transactions, and its receipts if there are any.
 */
export function* cutRecord(
  json: BlockJson,
  parsed: ParsedBlock,
  levels: ProofLevels,
): Work<BlockRecord | undefined> {
  const { block, spans } = parsed;
  const transactions = spans?.transactions ?? (yield* findList(json.block, "transactions"));
  const hashes = hashesOf(block.transactions);
  if (!transactions || !hashes || transactions.elements.length !== hashes.length) return undefined;
  const receipts = json.receipts ? yield* receiptsIn(json.receipts, parsed) : [];
  if (json.receipts && receipts?.length !== hashes.length) return undefined;
  if (!receipts) return undefined;
  const transactionList = transactions.elements.map((span) => wholeItem(sliceOf(json.block, span)));
  yield;
  const items: StoredItem[] = [];
  const logs: (readonly LocatedLog[])[] = [];
  yield* eachInSteps(receipts, (receipt) => {
    const stored = folded(receipt);
    items.push(stored.item);
    logs.push(stored.logs);
  });
  const [ofTransactions, ofReceipts] = [firstsOf(transactionList), firstsOf(items)];
  return {
    outline: {
      number: Number(block.number),
      timestamp: Number(block.timestamp ?? 0),
      parentHash: block.parentHash.toLowerCase(),
      transactions: hashes.length,
      uncles: Array.isArray(block.uncles) ? block.uncles.length : 0,
      hasUncles: json.uncles !== undefined,
      hasReceipts: json.receipts !== undefined,
      transactionBytes: joinedBytes(transactionList),
      receiptBytes: joinedBytes(items),
      transactionPieces: ofTransactions,
      receiptPieces: ofReceipts,
      ...levels,
    },
    hash: block.hash.toLowerCase(),
    transactionHashes: hashBytes(hashes),
    block: withHashes(json.block, transactions, hashes),
    transactionPieces: yield* piecesOf(transactionList, ofTransactions),
    receiptPieces: yield* piecesOf(items, ofReceipts),
    logs: encodeDirectory(spansInPieces(items, logs, ofReceipts)),
    uncles: json.uncles,
  };
}

/** The receipts with the places of their logs; undefined when one of them is malformed. */
function* receiptsIn(
  json: Buffer,
  { receipts: parsed = [], spans }: ParsedBlock,
): Work<ReceiptWithLogs[] | undefined> {
  const { elements = yield* findElementsInSteps(json), inner } = spans?.receipts ?? {};
  const receipts: ReceiptWithLogs[] = [];
  for (const [index, span] of (elements ?? []).entries()) {
    const receipt = { json: sliceOf(json, span), inner: inner?.[index], at: span.start };
    const located = yield* locateLogs(receipt, parsed[index]);
    if (!located) return undefined;
    receipts.push(located);
  }
  return elements && receipts;
}

const sliceOf = (json: Buffer, { start, end }: Span): Buffer => json.subarray(start, end);

/** The hashes in lower case; undefined when the transactions are not whole. */
function hashesOf(transactions: unknown): string[] | undefined {
  if (!Array.isArray(transactions)) return undefined;
  const hashes = transactions.map((each) => (each as { hash?: unknown } | null)?.hash);
  return hashes.every((hash) => typeof hash === "string")
    ? hashes.map((hash) => hash.toLowerCase())
    : undefined;
}

function hashBytes(hashes: readonly string[]): Buffer {
  const bytes = Buffer.alloc(hashes.length * HASH_BYTES);
  for (const [index, hash] of hashes.entries())
    bytes.write(hash.slice(2), index * HASH_BYTES, HASH_BYTES, "hex");
  return bytes;
}

/** A receipt as the store has it: without its bloom, unless the bloom stands in one of the receipt's logs. */
function folded({ json, logs }: ReceiptWithLogs): {
  readonly item: StoredItem;
  readonly logs: readonly LocatedLog[];
} {
  const item = withoutBloom(json);
  const isIn = ({ start, length }: LocatedLog): boolean =>
    item !== undefined && start < item.bloomAt && item.bloomAt < start + length;
  if (!item || logs.some(isIn)) return { item: wholeItem(json), logs };
  const moved = (log: LocatedLog): LocatedLog =>
    log.start < item.bloomAt ? log : { ...log, start: log.start - BLOOM_DIGITS };
  return { item, logs: logs.map(moved) };
}

// A piece is small enough to be read for one item, and nearly fills its pages of 4 KB: the rest of the last page is lost.

const PAGE_BYTES = 4096;
/** The bytes before the items of a piece: 16 of LMDB, 1 of the encoding, 2 of the number of items. */
const BEFORE_PIECE = 16 + 1 + 2;
const MOST_PAGES = 10;
/** A list of more pieces gets larger ones, so that it has at most four times as many: their numbers have two bytes. */
const MANY_PIECES = 15_000;

/** The index of the first item of each piece. */
function firstsOf(items: readonly StoredItem[]): Uint32Array {
  const bytes = items.map(bytesInPiece);
  const all = bytes.reduce((sum, each) => sum + each, 0);
  const mostPages = Math.max(MOST_PAGES, Math.ceil(all / MANY_PIECES / PAGE_BYTES));
  const firsts: number[] = [];
  for (let first = 0; first < items.length; ) {
    firsts.push(first);
    first = endOfPiece(bytes, first, mostPages);
  }
  return Uint32Array.from(firsts);
}

/** The end of the piece that wastes the smallest share of its pages, among the pieces of at least half of `mostPages`. */
function endOfPiece(bytes: readonly number[], first: number, mostPages: number): number {
  const most = mostPages * PAGE_BYTES;
  let filled = BEFORE_PIECE + (bytes[first] ?? 0);
  let best = { end: first + 1, lost: lostOf(filled) };
  for (let end = first + 1; end < bytes.length; end += 1) {
    filled += bytes[end] ?? 0;
    if (filled > most) return best.end;
    const lost = lostOf(filled);
    if (filled <= most / 2 || lost <= best.lost) best = { end: end + 1, lost };
  }
  return bytes.length;
}

/** The share of its pages that a piece of this many bytes leaves empty. */
const lostOf = (filled: number): number => {
  const pages = Math.ceil(filled / PAGE_BYTES);
  return 1 - filled / (pages * PAGE_BYTES);
};

function* piecesOf(items: readonly StoredItem[], firsts: Uint32Array): Work<Buffer[]> {
  const pieces: Buffer[] = [];
  for (const [piece, first] of firsts.entries()) {
    pieces.push(pieceOf(items.slice(first, firsts[piece + 1])));
    yield;
  }
  return pieces;
}

/** Turns spans from the start of a receipt into spans from the start of the items of its piece. */
function spansInPieces(
  items: readonly StoredItem[],
  logs: readonly (readonly LocatedLog[])[],
  firsts: Uint32Array,
): TermedLog[] {
  const spans: TermedLog[] = [];
  let piece = -1;
  let at = 0;
  for (const [index, { json }] of items.entries()) {
    if (firsts[piece + 1] === index) {
      piece += 1;
      at = 0;
    }
    for (const log of logs[index] ?? []) spans.push({ ...log, piece, start: at + log.start });
    at += json.length + 1;
  }
  return spans;
}
