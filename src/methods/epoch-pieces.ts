// Asks nodes for the logs of epochs that the store does not have, in pieces that the nodes accept, from the newest
// epoch downwards, until there are enough logs.

import { isBeyondHead, largestGap, tooManyLogs } from "../conflux/epoch-log-errors.ts";
import { type EpochLogFilter, epochMatcher } from "../conflux/epoch-logs.ts";
import type { LogRange } from "../evm/log-filter.ts";
import { type LogExpectation, refuteLogs } from "../evm/log-validation.ts";
import { isQuantity, toNumber, toQuantity } from "../evm/values.ts";
import { OPEN_BRACE } from "../jsonrpc/ascii.ts";
import { findElements } from "../jsonrpc/members.ts";
import { errors, RpcError } from "../jsonrpc/rpc-error.ts";
import { mapConcurrently } from "../lib/waiting.ts";
import type { CrossCheckRule } from "../upstream/asking/call-options.ts";
import type { CallContext } from "./method.ts";
import type { NewestLogs } from "./newest-logs.ts";

/** The part of a filter that every piece repeats: address, topics, and unknown members. */
export type EpochLogCriteria = Omit<
  EpochLogFilter,
  "fromEpoch" | "toEpoch" | "blockHashes" | "limit" | "offset"
>;

/** Whether the gateway knows all members: an unknown member may change which logs match. */
export const isKnown = (criteria: EpochLogCriteria): boolean =>
  Object.keys(criteria).every((name) => name === "address" || name === "topics");

/**
 * Adds the logs of the epochs to `found`.
 * @param query.newest The newest epoch of the whole query; the epochs above `to` were read before.
 * @throws RpcError A node's refusal for another reason than a piece's size; `rangeTooCostly` with a range of the newest
 * epochs that needs no more calls to nodes than one call may make.
 */
export async function logsOfNodes(
  { from, to }: LogRange,
  criteria: EpochLogCriteria,
  { found, context, newest }: { found: NewestLogs; context: CallContext; newest: number },
): Promise<void> {
  const { ranges } = context;
  const pieces = ranges.ofQuery();
  for (let end = to; end >= from && !found.isFull; ) {
    if (context.upstreamCallsLeft === 0) {
      if (!found.isEnough) throw tooCostly({ unread: end, to, newest }, context);
      found.assumeMore(); // the answer is complete; it only stays unknown whether there are more logs
      return;
    }
    const start = Math.max(from, end - Math.min(pieces.width, ranges.width) + 1);
    const range = { fromEpoch: toQuantity(start), toEpoch: toQuantity(end) };
    const reply = await askLogs({ ...criteria, ...range }, context);
    if (reply.kind === "too large" && start < end) {
      const asked = end - start + 1;
      const { most = asked } = reply;
      // A limit on the width concerns every query; a limit on the number of logs concerns this one only.
      if (reply.most !== undefined) ranges.limitedTo(reply.most);
      pieces.limitedTo(most < asked ? most : Math.floor(asked / 2));
      continue;
    }
    const whole = reply.kind === "logs" && wholeEpochs(reply.logs, { start, end }, context);
    if (!whole) {
      found.add(await logsOfBlocks(await blocksOf(end, context), criteria, context));
      end -= 1;
      continue;
    }
    found.add(whole.logs);
    const answered = end - whole.from + 1;
    ranges.fitted(answered);
    pieces.fitted(answered);
    end = whole.from - 1;
  }
}

/** The share of the epochs read so far that the error proposes, since nodes may accept fewer at once elsewhere. */
const SHARE = 0.75;

function tooCostly(
  { unread, to, newest }: { unread: number; to: number; newest: number },
  { network }: CallContext,
): RpcError {
  const from = Math.min(newest, to + 1 - Math.floor((to - unread) * SHARE));
  const range = { from: toQuantity(from), to: toQuantity(newest) };
  return errors.rangeTooCostly(network.limits.upstreamCalls, range, "epoch");
}

/** The logs of blocks by their hashes, in chain order. @throws RpcError A node's refusal, also of an unknown block. */
export async function logsOfBlocks(
  hashes: readonly string[],
  criteria: EpochLogCriteria,
  context: CallContext,
): Promise<readonly Buffer[]> {
  if (hashes.length > MAX_HASHES) return logsOneByOne(hashes, criteria, context);
  const reply = await askLogs({ ...criteria, blockHashes: [...hashes] }, context);
  const isOne = hashes.length <= 1;
  if (reply.kind === "logs" && (isOne || !mayBeCut(reply.logs, context))) return reply.logs;
  if (reply.kind === "too large" && isOne) throw reply.error;
  return logsOneByOne(hashes, criteria, context);
}

async function logsOneByOne(
  hashes: readonly string[],
  criteria: EpochLogCriteria,
  context: CallContext,
): Promise<readonly Buffer[]> {
  const blocks = await mapConcurrently(hashes, AT_ONCE, async (hash) => ({
    hash,
    logs: await logsOfBlocks([hash], criteria, context),
  }));
  const having = blocks.filter(({ logs }) => logs.length > 0);
  return (await inChainOrder(having, context)).flatMap(({ logs }) => logs);
}

/** How many hashes a node accepts in one query, and the gateway in a caller's (specification: limits). */
export const MAX_HASHES = 128;

type BlockLogs = { readonly hash: string; readonly logs: readonly Buffer[] };

async function inChainOrder(
  blocks: readonly BlockLogs[],
  context: CallContext,
): Promise<readonly BlockLogs[]> {
  const byEpoch = Map.groupBy(blocks, ({ logs }) => epochOf(logs[0] as Buffer));
  const epochs = [...byEpoch].sort(([a], [b]) => a - b);
  const ordered = await mapConcurrently(epochs, AT_ONCE, async ([epoch, own]) => {
    const order = own.length > 1 ? await blocksOf(epoch, context) : [];
    return own.toSorted((a, b) => order.indexOf(a.hash) - order.indexOf(b.hash));
  });
  return ordered.flat();
}

const AT_ONCE = 4;

/** The logs of a filter, in one call to a node. @throws RpcError A node's refusal. */
export async function logsAsAsked(
  filter: EpochLogFilter,
  context: CallContext,
): Promise<readonly Buffer[]> {
  const reply = await askLogs(filter, context);
  if (reply.kind === "logs") return reply.logs;
  throw reply.error;
}

type LogsReply =
  | { readonly kind: "logs"; readonly logs: readonly Buffer[] }
  /** `most`: how many epochs the node accepts, if it says so. */
  | { readonly kind: "too large"; readonly most: number | undefined; readonly error: RpcError };

/** The expectation that replies are checked against; undefined where the filter has unknown members, or can match no log. */
function expectationOf(
  filter: EpochLogFilter,
  { network }: CallContext,
): LogExpectation | undefined {
  const { fromEpoch: from, toEpoch: to, blockHashes, ...criteria } = filter;
  const matcher = isKnown(criteria) ? epochMatcher(criteria, network.chainId) : "nothing";
  if (matcher === "nothing") return undefined;
  const range =
    isQuantity(from) && isQuantity(to) ? { from: toNumber(from), to: toNumber(to) } : undefined;
  const hashes = blockHashes && new Set(blockHashes.map((hash) => hash.toLowerCase()));
  return { matcher, within: hashes ?? range, isOfEpochs: true };
}

async function askLogs(filter: EpochLogFilter, context: CallContext): Promise<LogsReply> {
  const expected = expectationOf(filter, context);
  try {
    const json = await context.ask("cfx_getLogs", JSON.stringify([filter]), {
      ...(expected && { isFalse: (given) => refuteLogs(given, expected) }),
      crossCheck: FURTHER,
      reaches: context.chain?.head.number,
    });
    context.hold(json.length);
    const logs = findElements(json)?.map(({ start, end }) => json.subarray(start, end));
    if (!logs?.every(isObject)) throw errors.upstreamsFailed();
    return { kind: "logs", logs };
  } catch (error) {
    if (!(error instanceof RpcError) || error.status !== 200) throw error;
    const refusal = { code: error.code, message: error.message, data: dataOf(error) };
    const most = largestGap(refusal);
    if (most === undefined && !tooManyLogs(refusal)) throw error;
    return { kind: "too large", most, error };
  }
}

/** Another node's head may be higher, or another node may still have the block or state that this one lacks. */
const FURTHER: CrossCheckRule = {
  name: "further",
  isUncertain: (reply) =>
    reply.kind === "refused" && (isBeyondHead(reply) || LACKING.test(reply.message)),
};

const LACKING = /unable to identify block|pruned|reorganized during/i;

const isObject = (json: Buffer): boolean => json[0] === OPEN_BRACE;

/** The data of a node's own error object. */
const dataOf = ({ json, data }: RpcError): unknown =>
  json === undefined ? data : (JSON.parse(json) as { data?: unknown }).data;

/**
 * Nodes of 2021 give only the last logs of a range, and do not say so. When a node gave as many logs as it may, those of
 * the oldest epoch may be incomplete, and are left out.
 * @returns undefined when even the logs of the newest epoch may be incomplete.
 */
function wholeEpochs(
  logs: readonly Buffer[],
  { start, end }: { start: number; end: number },
  context: CallContext,
): { readonly logs: readonly Buffer[]; readonly from: number } | undefined {
  if (!mayBeCut(logs, context)) return { logs, from: start };
  const oldest = epochOf(logs[0] as Buffer);
  if (oldest >= end) return undefined;
  return { logs: logs.filter((log) => epochOf(log) > oldest), from: Math.max(start, oldest + 1) };
}

const mayBeCut = (logs: readonly Buffer[], { network }: CallContext): boolean =>
  logs.length >= network.limits.logs.results;

/** The number of a log's epoch. @throws RpcError 502 when the bytes are no log. */
function epochOf(log: Buffer): number {
  const { epochNumber } = JSON.parse(log.toString()) as { epochNumber?: unknown };
  if (!isQuantity(epochNumber)) throw errors.upstreamsFailed();
  return toNumber(epochNumber);
}

async function blocksOf(epoch: number, context: CallContext): Promise<readonly string[]> {
  const json = await context.ask("cfx_getBlocksByEpoch", JSON.stringify([toQuantity(epoch)]));
  const hashes: unknown = JSON.parse(json.toString());
  if (!Array.isArray(hashes)) throw errors.upstreamsFailed();
  return hashes as string[];
}
