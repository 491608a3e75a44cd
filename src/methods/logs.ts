// eth_getLogs: the range is fixed and checked here, so that no node guesses what a tag means; what is
// stored of it is answered from the store, and nodes are asked for what is older.
import { z } from "zod";
import type { ChainView } from "../chain/chain-view.ts";
import { type LogFilter, logFilter, scopeOf } from "../evm/log-filter.ts";
import { matcherOf } from "../evm/log-matcher.ts";
import { log } from "../evm/results.ts";
import { toQuantity } from "../evm/values.ts";
import type { AnswerJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { contractsOfLogs } from "../namespaces/read-contracts.ts";
import { logsOfBlock } from "./block-logs.ts";
import { joinLogs } from "./join-logs.ts";
import { checkClaims } from "./log-claims.ts";
import { logsOfNodes } from "./log-pieces.ts";
import { countLogs, type LogRange, settleRange } from "./log-range.ts";
import { type CallContext, defineMethod } from "./method.ts";
import { type ProvenLogs, provenLogs } from "./proven-logs.ts";

export const logMethods = [
  defineMethod({
    name: "eth_getLogs",
    group: "logs",
    isSpecified: true,
    summary: "The logs that match a filter, of a range of blocks or of one block.",
    cost: 10,
    params: { filter: logFilter },
    result: z.array(log),
    freshness: "until next block",
    contractsOf: contractsOfLogs,
    answer: ({ filter }, context) => answerLogs(filter, context),
  }),
];

/** @throws RpcError (docs/decisions/0035) */
export async function answerLogs(filter: LogFilter, context: CallContext): Promise<AnswerJson> {
  const scope = scopeOf(filter);
  if (scope.kind === "block") return logsOfBlock(scope.blockHash, filter, context);
  const range = await settleRange(scope, context);
  const { chain } = context;
  if (!chain) return olderLogs(range, filter, context);
  // The head may have moved on while the range was settled.
  const view = await chain.reach(range.to, context.signal);
  return logsOfChain(range, { filter, view }, context);
}

type Query = { readonly filter: LogFilter; readonly view: ChainView };

/** Older blocks from the nodes, newer ones from the store: in order, and as one answer. */
async function logsOfChain(
  range: LogRange,
  { filter, view }: Query,
  context: CallContext,
): Promise<AnswerJson> {
  const { results } = context.network.limits.logs;
  if (range.to < view.tail) return olderLogs(range, filter, context);
  const olderRange = { from: range.from, to: view.tail - 1 };
  const hasOlder = range.from < view.tail;
  const older = hasOlder ? await findOlder(olderRange, filter, context) : NOTHING_OLDER;
  const stored = { from: Math.max(range.from, view.tail), to: range.to };
  const isOne = range.from === range.to;
  const most = isOne ? Number.POSITIVE_INFINITY : results - countLogs(older.logs);
  const found = await view.logs({ matcher: matcherOf(filter), range: stored, most });
  if (!found) return olderLogs(range, filter, context); // it left the store meanwhile
  if (found.count > most) {
    const before = found.numberOf(most) - 1;
    throw errors.tooManyLogs(results, rangeJson({ ...range, to: Math.max(range.from, before) }));
  }
  const proof = view.blockAt(range.to)?.proof ?? "none";
  context.setProvenance({
    source: older.isFresh ? "upstream" : "store",
    block: view.positionAt(range.to),
    proof: older.proof === "full" ? proof : "partial",
  });
  return joinLogs(found, older.logs);
}

type OlderLogs = ProvenLogs & { readonly isFresh: boolean };

const NOTHING_OLDER: OlderLogs = { logs: Buffer.from("[]"), isFresh: false, proof: "full" };

/** As nodes tell them; where all must be proven, as the blocks themselves say. */
async function findOlder(
  range: LogRange,
  filter: LogFilter,
  context: CallContext,
): Promise<OlderLogs> {
  const { chain: view, network } = context;
  if (view && network.proof === "strict")
    return { ...(await provenLogs(range, filter, { view, context })), isFresh: true };
  const told = await logsOfNodes(range, filter, context);
  if (view && network.proof !== "off" && told.isSuspect)
    await checkClaims(told.logs, filter, { view, context });
  return { ...told, proof: "none" };
}

/** From the nodes, or as these told them before. */
async function olderLogs(
  range: LogRange,
  filter: LogFilter,
  context: CallContext,
): Promise<Buffer> {
  const { logs, isFresh, proof } = await findOlder(range, filter, context);
  context.setProvenance({ source: isFresh ? "upstream" : "store", proof });
  return logs;
}

const rangeJson = ({ from, to }: LogRange): { from: string; to: string } => ({
  from: toQuantity(from),
  to: toQuantity(to),
});
