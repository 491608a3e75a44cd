// A block as it is taken in: the node's own JSON, cut into the parts that the store holds and later answers are put
// together from. Pure: bytes in, bytes out.
import { findElementsInSteps, findList, type Span } from "../jsonrpc/members.ts";
import type { Work } from "../lib/turns.ts";
import { locateLogs, type ReceiptWithLogs, type TermedLog } from "./log-index.ts";
import {
  joinedBytes,
  type Outline,
  PIECE_ITEMS,
  type ProofLevel,
  pieceOf,
  withHashes,
} from "./stored-block.ts";

/**
 * A block with at least this many transactions or logs is written, and erased, in several transactions of the store.
 */
const HUGE = 5_000;

export const isHuge = ({ transactionHashes, logs }: BlockRecord): boolean =>
  transactionHashes.length + logs.length > HUGE;

/** Counts transactions only: a block's logs are few entries, and erasing those takes no time. */
export const isHugeToErase = ({ transactions }: Outline): boolean => transactions > HUGE;

export type BlockRecord = {
  readonly outline: Outline;
  /** As lower-case hex. */
  readonly hash: string;
  readonly transactionHashes: readonly string[];
  /** The block's JSON with the hashes of its transactions, after the span of their array. */
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

/**
 * In steps: a block may be huge.
 *
 * @returns undefined when the JSON is not that of a block with whole transactions and its receipts.
 */
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

/** The hashes in lower case; undefined when these are not whole transactions. */
function hashesOf(transactions: unknown): string[] | undefined {
  if (!Array.isArray(transactions)) return undefined;
  const hashes = transactions.map((each) => (each as { hash?: unknown } | null)?.hash);
  return hashes.every((hash) => typeof hash === "string")
    ? hashes.map((hash) => hash.toLowerCase())
    : undefined;
}

function* piecesOf(items: readonly Buffer[]): Work<Buffer[]> {
  const pieces: Buffer[] = [];
  for (let first = 0; first < items.length; first += PIECE_ITEMS) {
    pieces.push(pieceOf(items.slice(first, first + PIECE_ITEMS)));
    yield;
  }
  return pieces;
}

/** Moves spans from the start of a receipt to the start of the items of its piece. */
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
