// Fetches one block, its receipts and its uncles from one node, in whichever dialect the node speaks.

import { isHash, toQuantity } from "../evm/values.ts";
import { type PlacedList, parseList } from "../jsonrpc/element-reader.ts";
import { findMembers, textOf } from "../jsonrpc/members.ts";
import { isNull, parsed } from "../jsonrpc/raw-json.ts";
import type { Json } from "../proofs/json.ts";
import type { Reply } from "../upstream/reply.ts";
import {
  type Ask,
  type AskedUpstream,
  askingOf,
  type ChainDialect,
  type Failure,
  type Fetched,
  type FetchTerms,
  failureOf,
  type HeadPosition,
  LARGEST_NUMBER,
  type GivenBlock as ParsedBlock,
  type Reference,
  tooLarge,
} from "./dialect.ts";

/** How many receipts are fetched at the same time where a node gives them one by one. */
const AT_ONCE = 16;
const BY_BLOCK = ["eth_getBlockReceipts", "eth_getTransactionReceiptsByBlock"] as const;

/** Never rejects. */
async function fetchBlock(
  reference: Reference,
  node: AskedUpstream,
  terms: FetchTerms,
): Promise<Fetched> {
  const { limits, receipts, signal } = terms;
  const { bytes: maxBytes } = limits;
  const ask = askingOf(node, signal, maxBytes);
  const reply =
    "hash" in reference
      ? await ask("eth_getBlockByHash", [reference.hash, true])
      : await ask("eth_getBlockByNumber", [toQuantity(reference.number), true]);
  if (reply.kind !== "result") return failureOf(reply, maxBytes);
  const read = await readBlock(reply.json, terms);
  if (read.kind !== "block") return read;
  const { block } = read;
  const given = await fetchReceipts(block, node, { ask, terms });
  const isOfUse = given.kind === "receipts" || (given.kind === "none" && receipts === "if held");
  if (!isOfUse) return given.kind === "none" ? { kind: "no receipts" } : given;
  const held = given.kind === "receipts" ? given : undefined;
  const uncles = await fetchUncles(block, ask);
  return {
    kind: "fetched",
    fetched: {
      json: { block: reply.json, receipts: held?.json, uncles },
      block,
      receipts: held?.list,
      spans: { transactions: read.at, receipts: held?.at },
      uncles: uncles && parsedList(uncles),
    },
  };
}

const garbage = (reason: string): Failure => ({ kind: "garbage", reason });

const EMPTY = Buffer.from("[]");

type FetchParts = { readonly ask: Ask; readonly terms: FetchTerms };

/** Receipts as JSON, and parsed. */
type GivenReceipts = {
  readonly kind: "receipts";
  readonly json: Buffer;
  readonly list: readonly Json[];
  readonly at: PlacedList;
};

/** The node lacks receipts of the block: it has removed them, or a reorg has removed the block, or the node lags. */
type NoReceipts = { readonly kind: "none" };
const NONE: NoReceipts = { kind: "none" };

/** All receipts of a block, however the node gives them. */
async function fetchReceipts(
  block: ParsedBlock,
  node: AskedUpstream,
  parts: FetchParts,
): Promise<GivenReceipts | NoReceipts | Failure> {
  const transactions = hashesOf(block);
  if (!transactions) return withoutTransactions(block);
  if (transactions.length === 0) return readReceipts(EMPTY, 0, parts.terms);
  const given = await receiptsByBlock(block, node, parts);
  if (given?.kind === "result") {
    const read = await readReceipts(given.json, transactions.length, parts.terms);
    if (read.kind !== "none") return read;
  }
  if (given && given.kind !== "result") return given;
  // A node that gave too few receipts most likely has no others, so it is asked for one receipt before it is asked for all.
  return receiptsOneByOne(transactions, given ? 1 : AT_ONCE, parts);
}

/** A node that gives hashes in place of whole transactions tells no lie: its block can only not be proven and stored. */
const withoutTransactions = ({ transactions }: ParsedBlock): Failure =>
  Array.isArray(transactions) && transactions.every(isHash)
    ? { kind: "failed", reason: "the node gives only the hashes of a block's transactions" }
    : garbage("a block without its transactions");

/** The reply of the first method that the node has; undefined when it has none of them, or refused them all. */
async function receiptsByBlock(
  { hash, number }: ParsedBlock,
  node: AskedUpstream,
  { ask, terms }: FetchParts,
): Promise<Extract<Reply, { kind: "result" }> | Failure | undefined> {
  for (const method of BY_BLOCK) {
    if (node.isMissing(method)) continue;
    // By hash first, since a reorg may have changed the block at the number; but some nodes accept only numbers.
    for (const reference of [hash, number]) {
      const reply = await ask(method, [reference]);
      if (reply.kind === "result") return reply;
      if (reply.kind === "missing") break;
      if (reply.kind !== "refused") return failureOf(reply, terms.limits.bytes);
    }
  }
  return undefined;
}

/** @param atFirst How many receipts are asked for before the others. */
async function receiptsOneByOne(
  transactions: readonly string[],
  atFirst: number,
  { ask, terms }: FetchParts,
): Promise<GivenReceipts | NoReceipts | Failure> {
  const { bytes: most } = terms.limits;
  const receipts: Buffer[] = [];
  let bytes = 0;
  for (let first = 0, behind = atFirst; first < transactions.length; ) {
    const replies = await Promise.all(
      transactions.slice(first, behind).map((hash) => ask("eth_getTransactionReceipt", [hash])),
    );
    for (const reply of replies) {
      const isRefused = reply.kind === "refused" || reply.kind === "missing";
      if (isRefused && terms.receipts === "if held") return NONE;
      if (reply.kind !== "result") return failureOf(reply, most);
      if (isNull(reply.json)) return NONE;
      bytes += reply.json.length;
      if (bytes > most) return tooLarge(`receipts of more than ${most} bytes`);
      receipts.push(Buffer.from(receipts.length === 0 ? "[" : ","), reply.json);
    }
    first = behind;
    behind += AT_ONCE;
  }
  const json = Buffer.concat([...receipts, Buffer.from("]")]);
  return readReceipts(json, transactions.length, terms);
}

/** A block with more uncles gets none of them: no chain has more than two in a block, and each takes a call. */
const MOST_UNCLES = 16;

/** The headers of the block's uncles; undefined when the block names none, or the node does not give them. */
async function fetchUncles({ hash, uncles }: ParsedBlock, ask: Ask): Promise<Buffer | undefined> {
  if (!Array.isArray(uncles) || uncles.length === 0 || uncles.length > MOST_UNCLES)
    return undefined;
  const headers: string[] = [];
  for (const index of uncles.keys()) {
    const reply = await ask("eth_getUncleByBlockHashAndIndex", [hash, toQuantity(index)]);
    if (reply.kind !== "result" || isNull(reply.json)) return undefined;
    headers.push(reply.json.toString("utf8"));
  }
  return Buffer.from(`[${headers.join(",")}]`);
}

/** Reads the reply to a block call. A reply without the hash, parent and number of a block is garbage. */
async function readBlock(
  json: Buffer,
  terms: FetchTerms,
): Promise<{ kind: "block"; block: ParsedBlock; at: PlacedList } | Failure> {
  if (isNull(json)) return { kind: "unknown" };
  const { transactions: most } = terms.limits;
  const list = await terms.turns.do(parseList(json, { path: ["transactions"], most }));
  if (list.kind === "too many") return tooLarge(`more than ${most} transactions`);
  const block = list.kind === "parsed" ? Object(list.around) : {};
  const { number, hash, parentHash, transactions } = block as Record<string, unknown>;
  const isLinked = isHash(hash) && isHash(parentHash) && typeof number === "string";
  if (list.kind !== "parsed" || !isLinked || !/^0x[0-9a-f]{1,8}$/i.test(number))
    return garbage("this is not a block");
  // `fetchReceipts` refuses a block whose transactions are not an array.
  const whole = Array.isArray(transactions) ? { ...block, transactions: list.elements } : block;
  return { kind: "block", block: whole as ParsedBlock, at: list.at };
}

/** @param count How many receipts the block has. A list of another length is no lie by itself: no hash covers it. */
async function readReceipts(
  json: Buffer,
  count: number,
  terms: FetchTerms,
): Promise<GivenReceipts | NoReceipts | Failure> {
  if (isNull(json)) return NONE;
  const { transactions: most, logs: mostLogs } = terms.limits;
  const list = await terms.turns.do(parseList(json, { path: [], most }));
  if (list.kind === "too many") return tooLarge(`more than ${most} receipts`);
  if (list.kind !== "parsed" || !Array.isArray(list.around))
    return garbage("this is not a list of receipts");
  const { elements, at } = list;
  if (!elements.every((each) => each === null || isObject(each)))
    return garbage("this is not a list of receipts");
  if (elements.length !== count || !elements.every(isObject)) return NONE;
  const logs = elements.reduce((sum: number, { logs: some }) => sum + lengthOf(some), 0);
  return logs > mostLogs
    ? tooLarge(`more than ${mostLogs} logs`)
    : { kind: "receipts", json, list: elements, at };
}

const lengthOf = (list: unknown): number => (Array.isArray(list) ? list.length : 0);

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null;

function parsedList(json: Buffer): readonly Json[] | undefined {
  const list = parsed(json);
  return Array.isArray(list) && list.every(isObject) ? list : undefined;
}

function hashesOf({ transactions }: ParsedBlock): string[] | undefined {
  if (!Array.isArray(transactions)) return undefined;
  const hashes = transactions.map((each) => (Object(each) as { hash?: unknown }).hash);
  return hashes.every(isHash) ? hashes : undefined;
}

function positionIn(json: Buffer): HeadPosition | undefined {
  const [number, hash, time] = findMembers(json, ["number", "hash", "timestamp"]) ?? [];
  if (!number || !hash) return undefined;
  const position = {
    number: Number(textOf(json, number).slice(1, -1)),
    hash: textOf(json, hash).slice(1, -1).toLowerCase(),
    timestamp: time && secondsIn(textOf(json, time)),
  };
  const isNumber = Number.isInteger(position.number) && position.number <= LARGEST_NUMBER;
  return isNumber && isHash(position.hash) ? position : undefined;
}

/** The seconds in a JSON quantity; undefined when it is none. */
function secondsIn(json: string): number | undefined {
  const seconds = Number(json.replaceAll('"', ""));
  return Number.isSafeInteger(seconds) ? seconds : undefined;
}

/** The dialect of EVM networks: `eth_*`. */
export const blockDialect: ChainDialect = {
  kind: "blocks",
  optional: BY_BLOCK,
  fetchBlock,
  readPosition: async (numberOrTag, node, signal) => {
    const reference = typeof numberOrTag === "number" ? toQuantity(numberOrTag) : numberOrTag;
    const reply = await askingOf(node, signal)("eth_getBlockByNumber", [reference, false]);
    return reply.kind === "result" ? positionIn(reply.json) : undefined;
  },
  knowsBlock: async (hash, node, signal) => {
    const reply = await askingOf(node, signal)("eth_getBlockByHash", [hash, false]);
    return reply.kind === "result" ? !isNull(reply.json) : undefined;
  },
};
