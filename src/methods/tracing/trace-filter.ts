// trace_filter over nodes that lack it: the traces of a bounded range of blocks, those that match.
import { z } from "zod";
import { blockNumberOrTag } from "../../evm/block-reference.ts";
import { address, toNumber, toQuantity } from "../../evm/values.ts";
import type { AnswerJson } from "../../jsonrpc/envelope.ts";
import { errors } from "../../jsonrpc/rpc-error.ts";
import { isJson, type Json } from "../../proofs/json.ts";
import { settleNumber } from "../block-lookup.ts";
import { inBatches } from "../in-batches.ts";
import type { CallContext } from "../method.ts";
import { tracesOfBlock } from "./block-traces.ts";
import { findMinedBlock } from "./mined-block.ts";
import { askSource, type Source } from "./sources.ts";

const addresses = z.array(address, { error: "want an array of addresses" }).max(1000).nullish();
const count = z.int({ error: "want a number" }).nonnegative().nullish();

export const traceFilter = z
  .looseObject(
    {
      fromBlock: blockNumberOrTag.nullish().describe("Left out: earliest."),
      toBlock: blockNumberOrTag.nullish().describe("Left out: latest."),
      fromAddress: addresses.describe("Senders; left out or empty: all."),
      toAddress: addresses.describe("Recipients; left out or empty: all."),
      mode: z
        .enum(["union", "intersection"])
        .nullish()
        .describe("Whether sender or recipient has to match, or both (when left out)."),
      after: count.describe("So many of the matching traces are left out."),
      count: count.describe("So many are answered at most."),
    },
    { error: "want a trace filter object" },
  )
  .describe("fromBlock, toBlock, fromAddress, toAddress, mode, after, count.");

export type TraceFilter = z.infer<typeof traceFilter>;

/** Blocks that are traced at once. */
const AT_ONCE = 4;

/** @throws RpcError -32602 when the range is reversed, too wide or beyond the head. */
export async function filterTraces(filter: TraceFilter, context: CallContext): Promise<AnswerJson> {
  const from = toNumber(await settleNumber(filter.fromBlock ?? "earliest", context));
  const to = toNumber(await settleNumber(filter.toBlock ?? "latest", context));
  if (from > to) throw errors.invalidBlockRange();
  if (to > (await context.head.atLeast(to))) throw errors.beyondHead();
  const range = { fromBlock: toQuantity(from), toBlock: toQuantity(to) };
  const own = await askSource(ownFilter, { ...filter, ...range }, context);
  if (own.kind === "told") return JSON.stringify(own.value);
  if (own.kind === "refused") throw own.error;
  const { blocks } = context.network.limits.traces;
  if (to - from >= blocks) throw errors.rangeTooWide(blocks);
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => toQuantity(from + index));
  const traces = await inBatches(numbers, AT_ONCE, async (number) => {
    const block = await findMinedBlock(number, context);
    if (!block) throw errors.headerNotFound();
    return tracesOfBlock(block, context);
  });
  const { after, count: most } = filter;
  const found = traces.flat().filter((trace) => isJson(trace) && matches(trace, filter));
  const first = after ?? 0;
  return JSON.stringify(found.slice(first, most == null ? undefined : first + most));
}

const ownFilter: Source<TraceFilter, readonly unknown[]> = {
  name: "trace_filter",
  method: "trace_filter",
  params: (filter) => [filter],
  read: (result) => (Array.isArray(result) ? result : undefined),
};

/** As OpenEthereum matches: the contract that is created, and the heir of one that ends, are recipients. */
function matches(trace: Json, { fromAddress, toAddress, mode }: TraceFilter): boolean {
  const { action, result } = trace;
  const { from, address: ended, to, refundAddress, author } = Object(action) as Json;
  const isOneOf = (wanted: readonly string[] | null | undefined, told: readonly unknown[]) =>
    wanted?.some((one) => told.includes(one.toLowerCase())) ?? false;
  const isFrom = isOneOf(fromAddress, [from, ended]);
  const isTo = isOneOf(toAddress, [to, refundAddress, author, (Object(result) as Json)["address"]]);
  const asksFrom = (fromAddress?.length ?? 0) > 0;
  const asksTo = (toAddress?.length ?? 0) > 0;
  if (asksFrom && asksTo && mode === "union") return isFrom || isTo;
  return (!asksFrom || isFrom) && (!asksTo || isTo);
}
