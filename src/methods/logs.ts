// eth_getLogs: the gateway resolves and checks the range, so that no node guesses the meaning of a tag. The logs of
// stored blocks come from the store, those of older blocks from nodes.

import { z } from "zod";
import type { ChainView } from "../chain/chain-view.ts";
import type { LogSelection } from "../chain/log-selection.ts";
import type { Position } from "../chain/stored-block.ts";
import {
  conditionsOf,
  type LogFilter,
  type LogRange,
  type LogScope,
  logFilter,
  matcherOf,
  scopeOf,
} from "../evm/log-filter.ts";
import { areLogsOdd, inChainOrder, refuteLogs } from "../evm/log-validation.ts";
import { asRemoved, log } from "../evm/results.ts";
import { isData, isHash, isQuantity, toNumber, toQuantity } from "../evm/values.ts";
import { findElements } from "../jsonrpc/members.ts";
import type { AnswerJson, RawJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { contractsOfLogs } from "../namespaces/read-contracts.ts";
import { bloomTestOf } from "../proofs/bloom.ts";
import type { CrossCheckRule } from "../upstream/asking/call-options.ts";
import type { IsFalse } from "../upstream/node-requests.ts";
import { findBlock, findWithReceipts, readBlock, settleNumber } from "./block-lookup.ts";
import { BY_NULL, saysUnknown } from "./forwarding.ts";
import { blockNumberOf, countLogs, joinJson, joinLogs, unitsOfLogs } from "./log-lists.ts";
import { logsOfNodes } from "./log-pieces.ts";
import {
  type Answer,
  type CallContext,
  defineMethod,
  fromStore,
  receiptsFromStore,
} from "./method.ts";
import { checkClaims } from "./proven-blocks.ts";
import { type ProvenLogs, provenLogs } from "./proven-logs.ts";

export const logMethods = [
  defineMethod({
    name: "eth_getLogs",
    workKind: "logs",
    isSpecified: true,
    summary: "The logs that match a filter, in a range of blocks or in one block.",
    cost: 10,
    params: { filter: logFilter },
    result: z.array(log),
    freshness: "until next block",
    contractsOf: contractsOfLogs,
    answer: ({ filter }, context) => answerLogs(filter, context),
  }),
];

/** The logs that match, as a JSON array. @throws RpcError as docs/decisions/0035 says. */
export function answerLogs(filter: LogFilter, context: CallContext): Answer {
  const scope = scopeOf(filter);
  if (scope.kind === "block") return logsOfBlock(scope.blockHash, filter, context);
  const { chain } = context;
  const range = chain && knownRange(scope, chain.head.number);
  if (!range) return settledLogs(scope, filter, context);
  checkWidth(range, context);
  return logsOfChain(range, { filter, view: chain }, context);
}

type RangeScope = Extract<LogScope, { kind: "range" }>;

/** The range that `settleRange` would find, where the view's head is enough to know it. */
function knownRange({ from: first, to: last }: RangeScope, head: number): LogRange | undefined {
  const [from, to] = [knownNumber(first, head), knownNumber(last, head)];
  return from !== undefined && to !== undefined && from <= to && to <= head
    ? { from, to }
    : undefined;
}

function knownNumber(reference: string, head: number): number | undefined {
  if (isHeadTag(reference)) return head;
  return isQuantity(reference) ? toNumber(reference) : undefined;
}

async function settledLogs(
  scope: RangeScope,
  filter: LogFilter,
  context: CallContext,
): Promise<AnswerJson> {
  const range = await settleRange(scope, context);
  const { chain } = context;
  if (!chain) return olderLogs(range, filter, context);
  // The head may have moved on while the range was resolved.
  const view = range.to > chain.head.number ? await chain.reach(range.to, context.signal) : chain;
  return logsOfChain(range, { filter, view }, context);
}

/** @throws RpcError when the range is reversed, ends beyond the head or is too wide (docs/decisions/0035). */
async function settleRange(
  { from: first, to: last }: RangeScope,
  context: Pick<CallContext, "ask" | "headView" | "chain" | "network">,
): Promise<LogRange> {
  const from = toNumber(await settleNumber(first, context));
  let to = toNumber(await settleNumber(last, context));
  // The known head may be older than the one from which the caller took `from`.
  if (from > to && isHeadTag(last)) to = await context.headView().atLeast(from);
  if (from > to) throw errors.invalidBlockRange();
  if (isQuantity(last) && to > (await context.headView().atLeast(to))) throw errors.beyondHead();
  checkWidth({ from, to }, context);
  return { from, to };
}

/** @throws RpcError when the range is wider than the network, or the key, allows. */
export function checkWidth(
  { from, to }: LogRange,
  { network }: Pick<CallContext, "network">,
): void {
  const { blocks, rule } = network.limits.logs;
  if (blocks !== undefined && to - from + 1 > blocks) throw errors.rangeTooWide(blocks, rule);
}

const isHeadTag = (reference: string): boolean => reference === "latest" || reference === "pending";

type Query = { readonly filter: LogFilter; readonly view: ChainView };

/** Joins the logs of older blocks, from the nodes, with those of newer blocks, from the store. */
function logsOfChain(range: LogRange, query: Query, context: CallContext): Answer {
  const { tail } = query.view;
  if (range.from < tail) return logsBelow(tail, { range, ...query }, context);
  return joinStored(range, { range, ...query, older: NOTHING_OLDER }, context);
}

type Ranged = Query & { readonly range: LogRange };

/** @param tail The lowest number from which the store has every block. */
async function logsBelow(tail: number, wanted: Ranged, context: CallContext): Promise<AnswerJson> {
  const { range, filter } = wanted;
  if (range.to < tail) return olderLogs(range, filter, context);
  const older = await findOlder({ from: range.from, to: tail - 1 }, filter, context);
  return joinStored({ from: tail, to: range.to }, { ...wanted, older }, context);
}

/** @param stored The blocks of the range that the store has. */
function joinStored(
  stored: LogRange,
  wanted: Ranged & { readonly older: OlderLogs },
  context: CallContext,
): Answer {
  const { range, filter, view, older } = wanted;
  const { results } = context.network.limits.logs;
  const isOne = range.from === range.to;
  const most = isOne ? Number.POSITIVE_INFINITY : results - countLogs(older.logs);
  const join = (found: LogSelection | undefined): Answer => {
    if (!found) return olderLogs(range, filter, context); // the block left the store meanwhile
    if (found.count > most) {
      const last = Math.max(range.from, found.numberOf(most) - 1);
      throw errors.tooManyLogs(results, { from: toQuantity(range.from), to: toQuantity(last) });
    }
    const proof = view.blockAt(range.to)?.proof ?? "none";
    context.setProvenance({
      source: older.isFresh ? "upstream" : "store",
      block: view.positionAt(range.to),
      proof: older.proof === "full" ? proof : "partial",
    });
    const units = unitsOfLogs(found);
    return units > 0
      ? context.payForWork(units).then(() => joinLogs(found, older.logs))
      : joinLogs(found, older.logs);
  };
  const search = view.logs({ matcher: matcherOf(filter), range: stored, most });
  return search instanceof Promise ? search.then(join) : join(search);
}

type OlderLogs = ProvenLogs & { readonly isFresh: boolean };

const NOTHING_OLDER: OlderLogs = { logs: Buffer.from("[]"), isFresh: false, proof: "full" };

/** The logs of blocks below the store: from nodes, or from proven blocks where the network's `proof` is strict. */
async function findOlder(
  range: LogRange,
  filter: LogFilter,
  context: CallContext,
): Promise<OlderLogs> {
  const { chain: view, network } = context;
  if (view && network.proof === "strict")
    return { ...(await provenLogs(range, filter, { view, context })), isFresh: true };
  const found = await logsOfNodes(range, filter, context);
  if (view && network.proof !== "off" && found.isSuspect)
    await checkClaims(found.logs, filter, { view, context });
  return { ...found, proof: "none" };
}

/** As `findOlder`, for an answer without stored blocks. Sets its provenance. */
async function olderLogs(
  range: LogRange,
  filter: LogFilter,
  context: CallContext,
): Promise<Buffer> {
  const { logs, isFresh, proof } = await findOlder(range, filter, context);
  context.setProvenance({ source: isFresh ? "upstream" : "store", proof });
  return logs;
}

/**
 * The logs of one block by its hash, also of a block that a reorg removed.
 * @throws RpcError -32000 when it is unknown.
 */
async function logsOfBlock(
  blockHash: string,
  filter: LogFilter,
  context: CallContext,
): Promise<AnswerJson> {
  const found = await findWithReceipts({ kind: "hash", hash: blockHash }, context);
  if (found === "unknown") throw errors.unknownBlock();
  if (found === "no receipts") return logsWithoutReceipts(blockHash, filter, context);
  if (found !== "elsewhere" && context.chain) {
    const logs = context.chain.selectedLogsOf(found, matcherOf(filter));
    const isGone = logs.count > 0 && (await isDropped(found, context));
    return receiptsFromStore(
      isGone ? joinJson(logs.all().map(asRemoved)) : joinLogs(logs),
      found,
      context,
    );
  }
  return askLogsOfBlock(blockHash, filter, context);
}

/** @throws RpcError 502 when no node has the block's receipts, and its bloom says that it may have matching logs. */
async function logsWithoutReceipts(
  blockHash: string,
  filter: LogFilter,
  context: CallContext,
): Promise<RawJson> {
  const found = await findBlock({ kind: "hash", hash: blockHash }, context);
  if (typeof found === "string") throw errors.receiptsNotKept();
  const { logsBloom } = JSON.parse(found.withHashes().toString()) as { logsBloom?: unknown };
  if (isData(logsBloom) && !bloomTestOf(matcherOf(filter))(logsBloom))
    return fromStore("[]", found, context); // the header is proven, and the bloom with it
  const logs = await askLogsOfBlock(blockHash, filter, context);
  if (logs === "[]") throw errors.receiptsNotKept();
  return logs;
}

async function askLogsOfBlock(
  blockHash: string,
  filter: LogFilter,
  context: CallContext,
): Promise<RawJson> {
  const logs = await askByHash(blockHash, filter, { context, crossCheck: NULL_OR_ODD });
  if (!isEmpty(logs)) return withRemoval(logs, blockHash, context);
  // Some nodes answer an empty list for a block that they do not have, or whose logs they dropped.
  const block = await readBlock({ kind: "hash", hash: blockHash }, context);
  if (!block) throw errors.unknownBlock();
  if (!isData(block.logsBloom) || !bloomTestOf(matcherOf(filter))(block.logsBloom)) return "[]";
  const again = await askByHash(blockHash, filter, { context, crossCheck: NULL_ODD_OR_NONE });
  return isEmpty(again) ? "[]" : withRemoval(again, blockHash, context);
}

const isEmpty = (logs: Buffer): boolean => logs.length <= 4; // [], or null

async function askByHash(
  blockHash: string,
  filter: LogFilter,
  { context, crossCheck }: { context: CallContext; crossCheck: CrossCheckRule },
): Promise<Buffer> {
  const paramsJson = JSON.stringify([{ blockHash, ...conditionsOf(filter) }]);
  const expected = { matcher: matcherOf(filter), within: new Set([blockHash.toLowerCase()]) };
  const isFalse: IsFalse = (json) => refuteLogs(json, expected);
  const asked = context.ask("eth_getLogs", paramsJson, { crossCheck, isFalse });
  return inChainOrder(
    await asked.catch((thrown: unknown) => {
      throw saysUnknown(thrown) ? errors.unknownBlock() : thrown;
    }),
  );
}

/** Another node may have the block, or give its logs in order. */
const NULL_OR_ODD: CrossCheckRule = {
  name: "null, or odd logs",
  isUncertain: (reply) =>
    BY_NULL.isUncertain(reply) || (reply.kind === "result" && areLogsOdd(reply.json)),
};

/** For a block whose bloom says that it may have matching logs. */
const NULL_ODD_OR_NONE: CrossCheckRule = {
  name: "null, odd logs, or none",
  isUncertain: (reply) =>
    NULL_OR_ODD.isUncertain(reply) || (reply.kind === "result" && isEmpty(reply.json)),
};

/**
 * Adds `removed: true` to the logs of a block that a reorg removed: nodes give them by hash as if the block were
 * canonical.
 */
async function withRemoval(logs: Buffer, hash: string, context: CallContext): Promise<RawJson> {
  const all = (findElements(logs) ?? []).map(({ start, end }) => logs.subarray(start, end));
  const number = all[0] && blockNumberOf(all[0]);
  if (number === undefined) return logs;
  const isGone = await isDropped({ number, hash: hash.toLowerCase() }, context);
  return isGone ? joinJson(all.map(asRemoved)) : logs;
}

/** Whether another block is canonical at this number; false when no node knows. */
async function isDropped({ number, hash }: Position, context: CallContext): Promise<boolean> {
  const { chain } = context;
  const stored = chain?.positionAt(number);
  if (stored) return stored.hash !== hash;
  if (chain) {
    const sought = await chain.fetch({ number }, "if held");
    return typeof sought !== "string" && sought.hash !== hash;
  }
  const at = { kind: "number", number: toQuantity(number) } as const;
  const canonical = await readBlock(at, context).catch(() => undefined);
  return isHash(canonical?.hash) && canonical.hash.toLowerCase() !== hash;
}
