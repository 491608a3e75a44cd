// Filters are cursors over the followed chain. Where nothing is followed, the upstreams keep them.
import { z } from "zod";
import { type LogFilter, logFilter, scopeOf } from "../evm/log-filter.ts";
import { log } from "../evm/results.ts";
import { hash, isQuantity, quantity, toNumber } from "../evm/values.ts";
import type { Criteria } from "../filters/filter-record.ts";
import type { Changes } from "../filters/open-filter.ts";
import type { RawJson } from "../jsonrpc/envelope.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { joinJson } from "./join-json.ts";
import { answerLogs } from "./logs.ts";
import { type CallContext, defineMethod } from "./method.ts";
import { askAsGiven } from "./passing-on.ts";

const filterId = quantity.describe("What the creation of the filter answered.");

export const filterMethods = [
  defineMethod({
    name: "eth_newFilter",
    summary: "Creates a filter that reports logs from now on, and answers its id.",
    cost: 2,
    params: { filter: logFilter },
    result: quantity,
    freshness: "unknown",
    answer: ({ filter }, context) => {
      const scope = scopeOf(filter);
      if (scope.kind === "range" && isReversed(scope)) throw errors.invalidBlockRange();
      if (!context.filters) return askAsGiven("eth_newFilter", { filter }, context);
      return createFilter({ kind: "logs", criteria: criteriaOf(filter) }, context.filters, context);
    },
  }),
  defineMethod({
    name: "eth_newBlockFilter",
    summary: "Creates a filter that reports new blocks, and answers its id.",
    cost: 2,
    params: {},
    result: quantity,
    freshness: "unknown",
    answer: (args, context) =>
      context.filters
        ? createFilter({ kind: "blocks" }, context.filters, context)
        : askAsGiven("eth_newBlockFilter", args, context),
  }),
  defineMethod({
    name: "eth_newPendingTransactionFilter",
    summary:
      "Creates a filter that reports the hashes of pending transactions, and answers its id.",
    cost: 2,
    params: { fullTransactions: z.boolean({ error: "want true or false" }).optional() },
    result: quantity,
    freshness: "unknown",
    answer: (args, context) => {
      if (!context.filters) return askAsGiven("eth_newPendingTransactionFilter", args, context);
      if (args.fullTransactions)
        throw errors.invalidArgument(0, "filters report the hashes of transactions only");
      return createFilter({ kind: "pending" }, context.filters, context);
    },
  }),
  defineMethod({
    name: "eth_getFilterChanges",
    summary: "What happened since the last poll: logs, block hashes or transaction hashes.",
    cost: 2,
    params: { filterId },
    result: z.union([z.array(hash), z.array(log)]),
    freshness: "unknown",
    answer: ({ filterId: id }, context) =>
      context.filters
        ? context.filters.changes(id, context).then((changes) => toldChanges(changes, context))
        : askAsGiven("eth_getFilterChanges", { filterId: id }, context),
  }),
  defineMethod({
    name: "eth_getFilterLogs",
    summary: "All logs that match a log filter, of the range that it was created with.",
    cost: 5,
    params: { filterId },
    result: z.array(log),
    freshness: "unknown",
    answer: async ({ filterId: id }, context) =>
      context.filters
        ? answerLogs((await context.filters.criteria(id, context)) as LogFilter, context)
        : askAsGiven("eth_getFilterLogs", { filterId: id }, context),
  }),
  defineMethod({
    name: "eth_uninstallFilter",
    summary: "Ends a filter; false when there is none.",
    cost: 2,
    params: { filterId },
    result: z.boolean(),
    freshness: "unknown",
    answer: async ({ filterId: id }, context) =>
      context.filters
        ? String(await context.filters.remove(id, context))
        : askAsGiven("eth_uninstallFilter", { filterId: id }, context),
  }),
];

/** Without members that nobody knows: they would be kept for nothing. */
const criteriaOf = ({ fromBlock, toBlock, address, topics, blockHash }: LogFilter): LogFilter => ({
  fromBlock,
  toBlock,
  address,
  topics,
  blockHash,
});

type Asked =
  | { readonly kind: "logs"; readonly criteria: Criteria }
  | { readonly kind: "blocks" | "pending" };

type Filters = NonNullable<CallContext["filters"]>;

/** Answers the id. */
export const createFilter = async (
  asked: Asked,
  filters: Filters,
  context: CallContext,
): Promise<RawJson> => `"${await filters.create(asked, context)}"`;

export function toldChanges({ items, at }: Changes, context: CallContext): RawJson {
  if ("sequence" in at) context.note({ source: "upstream", proof: "none" });
  else {
    const proof = context.chain?.blockOf(at.hash)?.proof ?? "none";
    context.note({ source: "store", block: at, proof });
  }
  return joinJson(items);
}

/** Both ends are numbers, and in the wrong order. Tags are settled when the logs are asked for. */
const isReversed = ({ from, to }: { from: string; to: string }): boolean =>
  isQuantity(from) && isQuantity(to) && toNumber(from) > toNumber(to);
