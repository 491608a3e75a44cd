// One epoch of a Conflux network as a block of the followed chain. It has the pivot block's number, hash and parent.
// The blocks of the epoch stand in the place of transactions, each with its logs in the place of a receipt.

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
  type Fetched,
  type FetchTerms,
  LARGEST_NUMBER,
  type Reference,
  type Tag,
} from "./dialect.ts";

type Pivot = { readonly number: number; readonly hash: string; readonly json: Json };

/** `cfx_*`. A block is known when it is the pivot of its epoch. */
export const epochDialect: ChainDialect = {
  kind: "epochs",
  optional: [],
  fetchBlock: (reference, node, terms) =>
    fetchEpoch(reference, askingOf(node, terms.signal, terms.limits.bytes), terms),
  readPosition: async (numberOrTag, node, signal) => {
    const pivot = await readPivot(epochOf(numberOrTag), askingOf(node, signal));
    return pivot && typeof pivot === "object"
      ? { number: pivot.number, hash: pivot.hash }
      : undefined;
  },
  knowsBlock: async (hash, node, signal) => {
    const found = await pivotWith(hash, askingOf(node, signal));
    return found === "failed" ? undefined : found !== undefined;
  },
};

/** The head is the newest epoch that was executed: later ones have no logs yet. */
const TAGS: Readonly<Record<string, string>> = {
  latest: "latest_state",
  safe: "latest_confirmed",
  finalized: "latest_finalized",
};
const epochOf = (numberOrTag: number | Tag): string =>
  typeof numberOrTag === "number" ? toQuantity(numberOrTag) : (TAGS[numberOrTag] ?? numberOrTag);

/** undefined when the node has no such epoch. */
async function readPivot(epoch: string, ask: Ask): Promise<Pivot | "failed" | undefined> {
  const reply = await ask("cfx_getBlockByEpochNumber", [epoch, false]);
  // Nodes refuse what is beyond their newest epoch.
  if (reply.kind === "refused") return undefined;
  return reply.kind === "result" ? pivotIn(reply.json) : "failed";
}

/** The pivot block with this hash; undefined when the node has none, or it is not the pivot any more. */
async function pivotWith(hash: string, ask: Ask): Promise<Pivot | "failed" | undefined> {
  const reply = await ask("cfx_getBlockByHash", [hash, false]);
  if (reply.kind !== "result") return reply.kind === "refused" ? undefined : "failed";
  const block = pivotIn(reply.json);
  if (!block) return undefined;
  const pivot = await readPivot(toQuantity(block.number), ask);
  return typeof pivot === "object" && pivot.hash !== block.hash ? undefined : pivot;
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
  reason: "a log of a block that is not of its epoch",
} as const;

/**
 * Nodes of 2021 give no more logs at once than a setting of theirs allows, which is at least this many, and do not say
 * so.
 */
const SUSPICIOUS = 1000;

/** Never rejects. */
async function fetchEpoch(reference: Reference, ask: Ask, terms: FetchTerms): Promise<Fetched> {
  const { limits } = terms;
  const pivot =
    "hash" in reference
      ? await pivotWith(reference.hash, ask)
      : await readPivot(toQuantity(reference.number), ask);
  if (pivot === "failed") return { kind: "failed", reason: "the pivot block was not told" };
  if (!pivot) return { kind: "unknown" };
  const epoch = toQuantity(pivot.number);
  const [blocks, logs] = await Promise.all([
    ask("cfx_getBlocksByEpoch", [epoch]),
    ask("cfx_getLogs", [{ fromEpoch: epoch, toEpoch: epoch }]),
  ]);
  if (blocks.kind !== "result") return failed(blocks);
  const hashes = parsed(blocks.json);
  // The pivot has changed meanwhile: nobody knows to which of both the replies belong.
  if (!isHashes(hashes) || hashes.at(-1)?.toLowerCase() !== pivot.hash) return { kind: "unknown" };
  if (hashes.length > limits.transactions)
    return tooLarge(`more than ${limits.transactions} blocks`);
  const given = logs.kind === "result" ? elementsOf(logs.json) : undefined;
  const isWhole = given !== undefined && given.length < SUSPICIOUS;
  const all = isWhole ? given : await logsOfEach(hashes, ask, limits);
  if (!all) return failed(logs);
  if (all === "too many" || all.length > limits.logs)
    return tooLarge(`more than ${limits.logs} logs, or ${limits.bytes} bytes of them`);
  const after = await readPivot(epoch, ask);
  if (typeof after !== "object" || after.hash !== pivot.hash) return { kind: "unknown" };
  return (await terms.turns.do(asBlock(pivot, hashes, all))) ?? BEYOND_BLOCKS;
}

const failed = (reply: Reply): Fetched => ({
  kind: "failed",
  reason: reply.kind === "refused" ? reply.message : reply.kind,
});
const tooLarge = (reason: string): Fetched => ({ kind: "too large", reason });

/** Fetches the logs of each block of the epoch by itself: the epoch has more logs than the node gives at once. */
async function logsOfEach(
  hashes: readonly string[],
  ask: Ask,
  limits: BlockLimits,
): Promise<Buffer[] | "too many" | undefined> {
  const all: Buffer[] = [];
  let bytes = 0;
  for (const hash of hashes) {
    const reply = await ask("cfx_getLogs", [{ blockHashes: [hash] }]);
    if (reply.kind === "failed" && reply.isTooLarge) return "too many";
    if (reply.kind !== "result") return undefined;
    bytes += reply.json.length;
    if (bytes > limits.bytes) return "too many";
    const logs = elementsOf(reply.json);
    if (!logs) return undefined;
    for (const log of logs) all.push(log); // there may be more logs than a function takes arguments
  }
  return all;
}

const elementsOf = (array: Buffer): Buffer[] | undefined =>
  findElements(array)?.map(({ start, end }) => array.subarray(start, end));

/** The epoch as a block; undefined when a log belongs to none of its blocks. */
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
      // Logs of epochs never get `removed`: they stay as the node wrote them.
      receipts: groups.map((group) => ({
        logs: group.map((at) => ({ ...list[at], removed: false })),
      })),
      uncles: undefined,
    },
  };
}

const isHashes = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length > 0 && value.every(isHash);
