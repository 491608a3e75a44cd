// trace_filter: a node's own answer, or the matching traces of a bounded range of blocks where no node has the method.
import { z } from "zod";
import { blockNumberOrTag } from "../../evm/block-reference.ts";
import { address, isQuantity, toNumber, toQuantity } from "../../evm/values.ts";
import type { AnswerJson } from "../../jsonrpc/raw-json.ts";
import { errors, isTooMuchWork } from "../../jsonrpc/rpc-error.ts";
import { isJson, type Json } from "../../proofs/json.ts";
import { settleNumber } from "../block-lookup.ts";
import type { CallContext } from "../method.ts";
import { tracesOfBlock } from "./block-traces.ts";
import { findMinedBlock } from "./mined.ts";
import { askSource, type Source, type SourceAnswer } from "./sources.ts";

const addresses = z.array(address, { error: "want an array of addresses" }).max(1000).nullish();
const count = z.int({ error: "want a number" }).nonnegative().nullish();

export const traceFilter = z
  .looseObject(
    {
      fromBlock: blockNumberOrTag.nullish().describe("The first block. Left out: earliest."),
      toBlock: blockNumberOrTag.nullish().describe("The last block. Left out: latest."),
      fromAddress: addresses.describe("The senders; left out or empty: all."),
      toAddress: addresses.describe("The recipients; left out or empty: all."),
      mode: z
        .enum(["union", "intersection"])
        .nullish()
        .describe(
          "union: the sender or the recipient must match; intersection: both must match. Left out: intersection.",
        ),
      after: count.describe("The number of matching traces that are skipped at the beginning."),
      count: count.describe("The most traces in the answer."),
    },
    { error: "want a trace filter object" },
  )
  .describe(
    "A range of blocks, conditions on senders and recipients, and the page of the matching traces.",
  );

export type TraceFilter = z.infer<typeof traceFilter>;

/** How many blocks are traced at the same time. */
const AT_ONCE = 4;

/** The answer of trace_filter. @throws RpcError when the range is reversed, too wide or beyond the head. */
export async function filterTraces(filter: TraceFilter, context: CallContext): Promise<AnswerJson> {
  const from = toNumber(await settleNumber(filter.fromBlock ?? "earliest", context));
  const to = toNumber(await settleNumber(filter.toBlock ?? "latest", context));
  if (from > to) throw errors.invalidBlockRange();
  if (to > (await context.headView().atLeast(to))) throw errors.beyondHead();
  const range = { fromBlock: toQuantity(from), toBlock: toQuantity(to) };
  const own = await ownTraces({ ...filter, ...range }, context);
  if (own.kind === "result") return JSON.stringify(own.value);
  const { blocks } = context.network.limits.traces;
  if (to - from >= blocks) throw own.kind === "refused" ? own.error : errors.rangeTooWide(blocks);
  const { after, count: most } = filter;
  const end = most == null ? Number.POSITIVE_INFINITY : (after ?? 0) + most;
  return JSON.stringify(page(await matching({ from, to, end }, filter, context), filter));
}

/** The first `end` matching traces, or a few more. Of other traces, those of only a few blocks are held at a time. */
async function matching(
  { from, to, end }: { from: number; to: number; end: number },
  filter: TraceFilter,
  context: CallContext,
): Promise<readonly unknown[]> {
  const matches = matcherOf(filter);
  const found: unknown[] = [];
  for (let start = from; start <= to && found.length < end; start += AT_ONCE) {
    const length = Math.min(AT_ONCE, to - start + 1);
    const numbers = Array.from({ length }, (_, index) => toQuantity(start + index));
    const fitting = { from: toQuantity(from), to: toQuantity(Math.max(from, start - 1)) };
    const traces = await Promise.all(
      numbers.map(async (number) => {
        const block = await findMinedBlock(number, context);
        if (!block) throw errors.headerNotFound();
        return (await tracesOfBlock(block, context)).filter(matches);
      }),
    ).catch((thrown: unknown) => {
      if (!isTooMuchWork(thrown)) throw thrown;
      throw errors.rangeTooCostly(context.network.limits.upstreamCalls, fitting);
    });
    for (const own of traces) for (const trace of own) found.push(trace);
  }
  return found;
}

/**
 * A node's own answer. Nodes disagree about the meaning of a filter with two lists, so the gateway joins or filters the
 * traces of such a filter itself.
 */
function ownTraces(
  filter: TraceFilter,
  context: CallContext,
): Promise<SourceAnswer<readonly unknown[]>> {
  if (!filter.fromAddress?.length || !filter.toAddress?.length)
    return askSource(ownFilter, withoutMode(filter), context);
  return filter.mode === "union" ? ownUnion(filter, context) : ownIntersection(filter, context);
}

const ownFilter: Source<TraceFilter, readonly unknown[]> = {
  name: "trace_filter",
  params: (filter) => [filter],
  read: (result) => (Array.isArray(result) ? result : undefined),
};

const withoutMode = ({ mode: _, ...filter }: TraceFilter): TraceFilter => filter;
const whole = ({ after: _, count: __, ...filter }: TraceFilter): TraceFilter => withoutMode(filter);

/** A node that gives the traces of either list gives more than those of both, so this removes the rest. */
async function ownIntersection(
  filter: TraceFilter,
  context: CallContext,
): Promise<SourceAnswer<readonly unknown[]>> {
  const both = await askSource(ownFilter, { ...whole(filter), mode: "intersection" }, context);
  // Some nodes do not know `mode`, and refuse unknown members.
  const own = both.kind === "refused" ? await askSource(ownFilter, whole(filter), context) : both;
  if (own.kind !== "result") return own;
  return { ...own, value: page(own.value.filter(matcherOf(filter)), filter) };
}

/** Asks for one list at a time, which means the same to all nodes. */
async function ownUnion(
  filter: TraceFilter,
  context: CallContext,
): Promise<SourceAnswer<readonly unknown[]>> {
  const { fromAddress: _, ...received } = whole(filter);
  const { toAddress: __, ...sent } = whole(filter);
  const [one, other] = await Promise.all(
    [received, sent].map((list) => askSource(ownFilter, list, context)),
  );
  if (one?.kind !== "result" || other?.kind !== "result")
    return (one?.kind === "result" ? other : one) ?? { kind: "missing" };
  return { kind: "result", value: page(together(one.value, other.value), filter) };
}

const page = (traces: readonly unknown[], { after, count: most }: TraceFilter) => {
  const first = after ?? 0;
  return traces.slice(first, most == null ? undefined : first + most);
};

/** Matches as OpenEthereum does: a created contract, and the beneficiary of a self-destruct, are recipients, too. */
function matcherOf({ fromAddress, toAddress, mode }: TraceFilter): (trace: unknown) => boolean {
  const wanted = (list: readonly string[] | null | undefined): ReadonlySet<unknown> =>
    new Set(list?.map((each) => each.toLowerCase()));
  const [senders, recipients] = [wanted(fromAddress), wanted(toAddress)];
  const isEither = mode === "union" && senders.size > 0 && recipients.size > 0;
  return (trace) => {
    if (!isJson(trace)) return false;
    const { action, result } = trace;
    const { from, address: ended, to, refundAddress, author } = Object(action) as Json;
    const { address: created } = Object(result) as Json;
    const isFrom = [from, ended].some((each) => senders.has(each));
    const isTo = [to, refundAddress, author, created].some((each) => recipients.has(each));
    if (isEither) return isFrom || isTo;
    return (senders.size === 0 || isFrom) && (recipients.size === 0 || isTo);
  };
}

/** Both lists in chain order, each trace once: a trace that is in both has the same text in both. */
function together(one: readonly unknown[], other: readonly unknown[]): readonly unknown[] {
  const byText = new Map([...one, ...other].map((trace) => [JSON.stringify(trace), trace]));
  return [...byText.values()]
    .map((trace) => ({ trace, path: pathOf(trace) }))
    .sort((left, right) => compare(left.path, right.path))
    .map(({ trace }) => trace);
}

/** The sort key of a trace: block, transaction, path. A reward has no transaction, and comes last in its block. */
function pathOf(trace: unknown): readonly number[] {
  const { blockNumber, transactionPosition, traceAddress } = isJson(trace) ? trace : {};
  const path = Array.isArray(traceAddress) ? traceAddress.map(Number) : [];
  return [numberOf(blockNumber), numberOf(transactionPosition), ...path];
}

const numberOf = (value: unknown): number =>
  typeof value === "number" || isQuantity(value) ? Number(value) : Number.MAX_SAFE_INTEGER;

/** Compares two sort keys: a parent comes before its children. */
function compare(left: readonly number[], right: readonly number[]): number {
  const at = left.findIndex((step, index) => step !== right[index]);
  if (at < 0) return left.length - right.length;
  return (left[at] ?? 0) - (right[at] ?? -1);
}
