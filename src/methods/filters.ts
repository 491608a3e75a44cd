// Filters, as the upstreams keep them.
import { z } from "zod";
import { logFilter } from "../evm/log-filter.ts";
import { log } from "../evm/results.ts";
import { hash, quantity } from "../evm/values.ts";
import { passedOn } from "./passing-on.ts";

const filterId = quantity.describe("What the creation of the filter answered.");

export const filterMethods = [
  passedOn({
    name: "eth_newFilter",
    summary: "Creates a filter that reports logs from now on, and answers its id.",
    cost: 2,
    params: { filter: logFilter },
    result: quantity,
    freshness: "unknown",
  }),
  passedOn({
    name: "eth_newBlockFilter",
    summary: "Creates a filter that reports new blocks, and answers its id.",
    cost: 2,
    params: {},
    result: quantity,
    freshness: "unknown",
  }),
  passedOn({
    name: "eth_newPendingTransactionFilter",
    summary: "Creates a filter that reports pending transactions, and answers its id.",
    cost: 2,
    params: { fullTransactions: z.boolean({ error: "want true or false" }).optional() },
    result: quantity,
    freshness: "unknown",
  }),
  passedOn({
    name: "eth_getFilterChanges",
    summary: "What happened since the last poll: logs, block hashes or transaction hashes.",
    cost: 2,
    params: { filterId },
    result: z.union([z.array(hash), z.array(log)]),
    freshness: "unknown",
  }),
  passedOn({
    name: "eth_getFilterLogs",
    summary: "All logs that match a log filter.",
    cost: 5,
    params: { filterId },
    result: z.array(log),
    freshness: "unknown",
  }),
  passedOn({
    name: "eth_uninstallFilter",
    summary: "Ends a filter; false when there is none.",
    cost: 2,
    params: { filterId },
    result: z.boolean(),
    freshness: "unknown",
  }),
];
