// Fetches one epoch of a Conflux network as a block of the followed chain, with the pivot block's number, hash and
// parent. The blocks of the epoch take the place of transactions; the logs of each block take the place of a receipt.

import { isHash, isQuantity, toNumber, toQuantity } from "../evm/values.ts";
import { findElements } from "../jsonrpc/members.ts";
import { parsed } from "../jsonrpc/raw-json.ts";
import { eachInSteps, type Work } from "../lib/turns.ts";
import type { Json } from "../proofs/json.ts";
import type { Reply } from "../upstream/reply.ts";
import {
  type Ask,
  askingOf,
  type BlockLimits,
  type ChainDialect,
  type Failure,
  type Fetched,
  type FetchTerms,
  failureOf,
  LARGEST_NUMBER,
  type Reference,
  type Tag,
  tooLarge,
} from "./dialect.ts";

type Pivot = { readonly number: number; readonly hash: string; readonly json: Json };

/** The dialect of Conflux networks: `cfx_*`. A node knows a block if the block is the pivot of its epoch. */
export const epochDialect: ChainDialect = {
  kind: "epochs",
  optional: [],
  fetchBlock: (reference, node, terms) =>
    fetchEpoch(reference, askingOf(node, terms.signal, terms.limits.bytes), terms),
  readPosition: async (numberOrTag, node, signal) => {
    const pivot = await readPivot(epochOf(numberOrTag), askingOf(node, signal));
    if (!isPivot(pivot)) return undefined;
    const { number, hash, json } = pivot;
    const { timestamp } = json;
    return { number, hash, ...(isQuantity(timestamp) ? { timestamp: toNumber(timestamp) } : {}) };
  },
  knowsBlock: async (hash, node, signal) => {
    const found = await pivotWith(hash, askingOf(node, signal));
    return found === undefined ? false : isPivot(found) || undefined;
  },
};

/** The head is the newest epoch that was executed: later epochs have no logs yet. */
const TAGS: Readonly<Record<string, string>> = {
  latest: "latest_state",
  safe: "latest_confirmed",
  finalized: "latest_finalized",
};
const epochOf = (numberOrTag: number | Tag): string =>
  typeof numberOrTag === "number" ? toQuantity(numberOrTag) : (TAGS[numberOrTag] ?? numberOrTag);

/** A pivot block; undefined when the node has none; the reply of a call that failed. */
type PivotReply = Pivot | undefined | Exclude<Reply, { kind: "result" | "refused" }>;

const isPivot = (given: PivotReply): given is Pivot => given !== undefined && "hash" in given;

async function readPivot(epoch: string, ask: Ask): Promise<PivotReply> {
  const reply = await ask("cfx_getBlockByEpochNumber", [epoch, false]);
  // Nodes refuse epochs above their newest one.
  if (reply.kind === "refused") return undefined;
  return reply.kind === "result" ? pivotIn(reply.json) : reply;
}

/** The pivot block with this hash; undefined when the node has no such block, or the block is not a pivot any more. */
async function pivotWith(hash: string, ask: Ask): Promise<PivotReply> {
  const reply = await ask("cfx_getBlockByHash", [hash, false]);
  if (reply.kind !== "result") return reply.kind === "refused" ? undefined : reply;
  const block = pivotIn(reply.json);
  if (!block) return undefined;
  const pivot = await readPivot(toQuantity(block.number), ask);
  return isPivot(pivot) && pivot.hash !== block.hash ? undefined : pivot;
}

function pivotIn(bytes: Buffer): Pivot | undefined {
  const json = parsed(bytes) as Json | null | undefined;
  const { epochNumber, hash, parentHash } = json ?? {};
  if (!json || !isHash(hash) || !isHash(parentHash)) return undefined;
  if (!isQuantity(epochNumber) || toNumber(epochNumber) > LARGEST_NUMBER) return undefined;
  return { number: toNumber(epochNumber), hash: hash.toLowerCase(), json };
}

const BEYOND_BLOCKS = {
  kind: "garbage",
  reason: "a log is of a block outside its epoch",
} as const;

/** Conflux nodes of 2021 silently cut off lists of logs at a length that operators set, which is at least this many. */
const SUSPICIOUS = 1000;

/** Never rejects. */
async function fetchEpoch(reference: Reference, ask: Ask, terms: FetchTerms): Promise<Fetched> {
  const { limits } = terms;
  const pivot =
    "hash" in reference
      ? await pivotWith(reference.hash, ask)
      : await readPivot(toQuantity(reference.number), ask);
  if (!pivot) return { kind: "unknown" };
  if (!isPivot(pivot)) return failureOf(pivot, limits.bytes);
  const epoch = toQuantity(pivot.number);
  const [blocks, logs] = await Promise.all([
    ask("cfx_getBlocksByEpoch", [epoch]),
    ask("cfx_getLogs", [{ fromEpoch: epoch, toEpoch: epoch }]),
  ]);
  if (blocks.kind !== "result") return failureOf(blocks, limits.bytes);
  const hashes = parsed(blocks.json);
  // The pivot has changed meanwhile, so the logs may be those of either pivot.
  if (!isHashes(hashes) || hashes.at(-1)?.toLowerCase() !== pivot.hash) return { kind: "unknown" };
  if (hashes.length > limits.transactions)
    return tooLarge(`more than ${limits.transactions} blocks`);
  const given = logs.kind === "result" ? elementsOf(logs.json) : undefined;
  const isWhole = given !== undefined && given.length < SUSPICIOUS;
  const all = isWhole ? given : await logsOfEach(hashes, ask, limits);
  if (!Array.isArray(all)) return all;
  if (all.length > limits.logs) return tooLarge(`more than ${limits.logs} logs`);
  const after = await readPivot(epoch, ask);
  if (!isPivot(after) || after.hash !== pivot.hash) return { kind: "unknown" };
  return (await terms.turns.do(asBlock(pivot, hashes, all))) ?? BEYOND_BLOCKS;
}

/** Fetches the logs of each block by itself, for an epoch with more logs than the node gives at once. */
async function logsOfEach(
  hashes: readonly string[],
  ask: Ask,
  limits: BlockLimits,
): Promise<Buffer[] | Failure> {
  const all: Buffer[] = [];
  let bytes = 0;
  for (const hash of hashes) {
    const reply = await ask("cfx_getLogs", [{ blockHashes: [hash] }]);
    if (reply.kind !== "result") return failureOf(reply, limits.bytes);
    bytes += reply.json.length;
    if (bytes > limits.bytes) return tooLarge(`more than ${limits.bytes} bytes of logs`);
    const logs = elementsOf(reply.json);
    if (!logs) return { kind: "failed", reason: "the logs are not a list" };
    for (const log of logs) all.push(log); // a spread of all logs could exceed the limit of arguments
  }
  return all;
}

const elementsOf = (array: Buffer): Buffer[] | undefined =>
  findElements(array)?.map(({ start, end }) => array.subarray(start, end));

/** The epoch as a block; undefined when a log belongs to none of the epoch's blocks. */
function* asBlock(
  pivot: Pivot,
  hashes: readonly string[],
  texts: readonly Buffer[],
): Work<Fetched | undefined> {
  const list: Json[] = [];
  yield* eachInSteps(texts, (text) => list.push(Object(parsed(text)) as Json));
  const byBlock = new Map(hashes.map((hash) => [hash.toLowerCase(), [] as number[]]));
  for (const [index, log] of list.entries()) {
    const ofBlock = byBlock.get(String(log["blockHash"]).toLowerCase());
    if (!ofBlock) return undefined;
    ofBlock.push(index);
  }
  const groups = [...byBlock.values()];
  const number = toQuantity(pivot.number);
  const { parentHash, timestamp } = pivot.json as { parentHash: string; timestamp?: unknown };
  const transactions = [...byBlock.keys()].map((hash) => ({ hash }));
  const block = { number, hash: pivot.hash, parentHash, timestamp, transactions };
  const receipts = groups.map((group) => `{"logs":[${group.map((at) => texts[at]).join(",")}]}`);
  return {
    kind: "fetched",
    fetched: {
      json: {
        block: Buffer.from(JSON.stringify(block)),
        receipts: Buffer.from(`[${receipts.join(",")}]`),
      },
      block,
      // `cutRecord` adds `removed` to logs that lack it. With it set here, the JSON stays as the node wrote it.
      receipts: groups.map((group) => ({
        logs: group.map((at) => ({ ...list[at], removed: false })),
      })),
      uncles: undefined,
    },
  };
}

const isHashes = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length > 0 && value.every(isHash);
