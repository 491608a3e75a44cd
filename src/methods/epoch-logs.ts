// cfx_getLogs as the specification says, over nodes of any generation: the gateway itself applies limit and offset.

import { z } from "zod";
import {
  beyondEpochs,
  gapTooWide,
  reversedEpochs,
  tooManyHashes,
} from "../conflux/epoch-log-errors.ts";
import {
  type EpochLogFilter,
  epochLog,
  epochLogFilter,
  epochMatcher,
} from "../conflux/epoch-logs.ts";
import { isBeyondAnyChain } from "../evm/block-reference.ts";
import type { LogMatcher, LogRange } from "../evm/log-filter.ts";
import { isQuantity, toNumber, toQuantity } from "../evm/values.ts";
import type { AnswerJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { contractsOfLogs } from "../namespaces/read-contracts.ts";

import {
  type EpochLogCriteria,
  isKnown,
  logsAsAsked,
  logsOfBlocks,
  logsOfNodes,
  MAX_HASHES,
} from "./epoch-pieces.ts";
import { joinRuns, unitsOfLogs } from "./log-lists.ts";
import { type CallContext, defineMethod, FROM_NODES } from "./method.ts";
import { NewestLogs } from "./newest-logs.ts";

export const epochLogMethods = [
  defineMethod({
    name: "cfx_getLogs",
    workKind: "logs",
    isSpecified: true,
    family: "conflux",
    summary:
      "The logs that match a filter, in a range of epochs or in some blocks. The last `offset` logs are left out; of the rest, the last `limit` logs are returned.",
    cost: 10,
    params: { filter: epochLogFilter },
    result: z.array(epochLog),
    freshness: "until next block",
    contractsOf: contractsOfLogs,
    answer: ({ filter }, context) => answerEpochLogs(filter, context),
  }),
];

/** How many stored epochs one search covers, so that no further epochs are searched once there are enough logs. */
const SLICE = 64;
/** How often the gateway runs a query at most: it runs again when the pivot chain changed meanwhile. */
const ATTEMPTS = 3;

/** The logs that match, as a JSON array. @throws RpcError -32602, -32016, -32005; a node's refusal. */
export async function answerEpochLogs(
  filter: EpochLogFilter,
  context: CallContext,
): Promise<AnswerJson> {
  const { fromEpoch, toEpoch, blockHashes, limit, offset, ...others } = filter;
  const criteria = withoutNulls(others);
  const preset = context.network.limits.logs.results;
  const wanted = limit == null ? Number.POSITIVE_INFINITY : toNumber(limit);
  const isPreset = wanted > preset;
  const options = {
    skip: offset == null ? 0 : toNumber(offset),
    most: Math.min(wanted, preset),
    looksFurther: isPreset,
  };
  if (blockHashes) return answerBlocks({ blockHashes, criteria }, new NewestLogs(options), context);
  // A range of block numbers, which nodes know and the specification does not.
  if ("fromBlock" in criteria || "toBlock" in criteria) {
    const found = new NewestLogs(options);
    const epochs = withoutNulls({ fromEpoch, toEpoch }); // nodes refuse both kinds together
    found.add(await logsAsAsked({ ...criteria, ...epochs }, context));
    return answerOf(found, context);
  }
  const range = await settleEpochs({ fromEpoch, toEpoch }, context);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const found = new NewestLogs(options);
    if (await search(range, criteria, { found, context })) return answerOf(found, context);
  }
  throw errors.chainMoves();
}

/** Adds the logs that match to `found`. @returns false when a reorg changed the chain meanwhile. */
async function search(
  range: LogRange,
  criteria: EpochLogCriteria,
  { found, context }: { found: NewestLogs; context: CallContext },
): Promise<boolean> {
  const { chain, network } = context;
  const matcher = epochMatcher(criteria, network.chainId);
  if (matcher === "nothing") return true;
  let { to } = range;
  // An unknown member may change which logs match and what nodes refuse, so the query goes to a node unchanged.
  if (!isKnown(criteria)) {
    const epochs = { fromEpoch: toQuantity(range.from), toEpoch: toQuantity(range.to) };
    found.add(await logsAsAsked({ ...criteria, ...epochs }, context));
    return true;
  }
  if (chain) {
    const from = Math.max(chain.tail, range.from);
    to = await storedLogs({ from, to }, matcher, { found, context });
    const isStored = found.isFull || to < range.from;
    context.setProvenance({
      source: isStored ? "store" : "upstream",
      block: chain.positionAt(range.to) ?? chain.head,
      proof: "none",
    });
  }
  if (to >= range.from) {
    const older = { from: range.from, to };
    await logsOfNodes(older, criteria, { found, context, newest: range.to });
  }
  return chain ? chain.holds : true;
}

/** Reads the store from the newest epoch downwards. @returns The newest epoch that was not read. */
async function storedLogs(
  { from, to }: LogRange,
  matcher: LogMatcher,
  { found, context }: { found: NewestLogs; context: CallContext },
): Promise<number> {
  let end = to;
  while (end >= from && !found.isFull) {
    const start = Math.max(from, end - SLICE + 1);
    const range = { from: start, to: end };
    const slice = await context.chain?.logs({ matcher, range, most: Number.POSITIVE_INFINITY });
    if (!slice) return end;
    found.add(slice);
    end = start - 1;
  }
  return end;
}

async function answerBlocks(
  { blockHashes, criteria }: { blockHashes: readonly string[]; criteria: EpochLogCriteria },
  found: NewestLogs,
  context: CallContext,
): Promise<AnswerJson> {
  if (blockHashes.length > MAX_HASHES) throw tooManyHashes(blockHashes.length);
  const hashes = [...new Set(blockHashes.map((hash) => hash.toLowerCase()))];
  const stored = storedLogsOf(hashes, criteria, context);
  if (stored) context.setProvenance({ source: "store", block: context.chain?.head, proof: "none" });
  found.add(stored ?? (await logsOfBlocks(hashes, criteria, context)));
  return answerOf(found, context);
}

/** The logs of these blocks in chain order; undefined unless the store has all of the blocks. */
function storedLogsOf(
  hashes: readonly string[],
  criteria: EpochLogCriteria,
  { chain, network }: CallContext,
): readonly Buffer[] | undefined {
  if (!chain || !isKnown(criteria)) return undefined;
  const matcher = epochMatcher(criteria, network.chainId);
  if (matcher === "nothing") return [];
  const positions = hashes.flatMap((hash) => {
    const position = chain.transaction(hash);
    return position ? [{ hash, ...position }] : [];
  });
  if (positions.length < hashes.length) return undefined;
  return positions
    .sort((a, b) => a.block.number - b.block.number || a.index - b.index)
    .flatMap(({ hash, block }) =>
      chain.logsOf(block, matcher).filter((log) => blockHashIn(log) === hash),
    );
}

const blockHashIn = (log: Buffer): string =>
  (JSON.parse(log.toString()) as { blockHash: string }).blockHash.toLowerCase();

/** Some callers write null for a member that they leave out. */
const withoutNulls = <Members extends object>(members: Members): Partial<Members> =>
  Object.fromEntries(
    Object.entries(members).filter(([, value]) => value != null),
  ) as Partial<Members>;

async function answerOf(found: NewestLogs, context: CallContext): Promise<AnswerJson> {
  const units = unitsOfLogs({ length: found.storedBytes });
  if (units > 0) await context.payForWork(units);
  if (found.hasMore) context.setProvenance({ ...(context.provenance ?? FROM_NODES), isCut: true });
  return joinRuns(found.inOrder());
}

/** The defaults for members that are left out (docs/decisions/0035). */
const DEFAULTS = { from: "latest_checkpoint", to: "latest_state" };

/**
 * The range of a query in epoch numbers. Its end is at most the newest executed epoch, as on nodes.
 * @throws RpcError -32016 in the nodes' words: reversed, beyond the newest epoch, or too wide.
 */
async function settleEpochs(
  { fromEpoch, toEpoch }: Pick<EpochLogFilter, "fromEpoch" | "toEpoch">,
  context: CallContext,
): Promise<LogRange> {
  const newest = await newestEpoch(fromEpoch, context);
  const settle = (reference: string): number | Promise<number> =>
    reference === "latest_state" ? newest : settleEpoch(reference, context);
  const from = await settle(fromEpoch ?? DEFAULTS.from);
  const to = Math.min(await settle(toEpoch ?? DEFAULTS.to), newest);
  if (from > newest && from > (await readEpoch("latest_mined", context))) throw beyondEpochs();
  if (from > to) throw reversedEpochs(from, to);
  const { blocks, rule } = context.network.limits.logs;
  if (blocks !== undefined && to - from >= blocks) throw gapTooWide(from, to, { blocks, rule });
  return { from, to };
}

/** The newest executed epoch. The gateway asks nodes again when the range begins above the known epoch. */
async function newestEpoch(
  fromEpoch: string | null | undefined,
  context: CallContext,
): Promise<number> {
  const { chain } = context;
  if (!chain) return context.headView().latest();
  const wanted = fromEpoch && isQuantity(fromEpoch) ? toNumber(fromEpoch) : 0;
  return wanted > chain.head.number ? chain.atLeast(wanted, context.signal) : chain.head.number;
}

async function settleEpoch(reference: string, context: CallContext): Promise<number> {
  if (reference === "earliest") return 0;
  if (isBeyondAnyChain(reference)) return Number.MAX_SAFE_INTEGER;
  if (isQuantity(reference)) return toNumber(reference);
  const position = await context.chain?.tagged(reference as `latest_${string}`);
  return position?.number ?? readEpoch(reference, context);
}

const readEpoch = async (reference: string, context: Pick<CallContext, "ask">): Promise<number> => {
  const json = await context.ask("cfx_epochNumber", JSON.stringify([reference]));
  const number: unknown = JSON.parse(json.toString());
  if (!isQuantity(number) || isBeyondAnyChain(number)) throw errors.upstreamsFailed();
  return toNumber(number);
};
