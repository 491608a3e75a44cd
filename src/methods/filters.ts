// Filters are cursors over the followed chain. Where nothing is followed, the upstreams keep them.
import { z } from "zod";
import { type LogFilter, logFilter, scopeOf } from "../evm/log-filter.ts";
import { log } from "../evm/results.ts";
import { hash, isQuantity, quantity, toNumber } from "../evm/values.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { contractsOfLogs } from "../namespaces/read-contracts.ts";
import { checkAgain, createFilter, filterMethod, toldChanges } from "./filter-method.ts";
import { answerLogs } from "./logs.ts";

const filterId = quantity.describe("What the creation of the filter answered.");

const EVM = { family: "evm", isSpecified: true } as const;

const newLogs = filterMethod({
  name: "eth_newFilter",
  ...EVM,
  summary: "Creates a filter that reports logs from now on, and answers its id.",
  cost: 2,
  params: { filter: logFilter },
  result: quantity,
  contractsOf: contractsOfLogs,
  check: ({ filter }) => {
    const scope = scopeOf(filter);
    if (scope.kind === "range" && isReversed(scope)) throw errors.invalidBlockRange();
  },
  answer: ({ filter }, filters, context) =>
    createFilter({ kind: "logs", criteria: criteriaOf(filter) }, filters, context),
});

const newBlocks = filterMethod({
  name: "eth_newBlockFilter",
  ...EVM,
  summary: "Creates a filter that reports new blocks, and answers its id.",
  cost: 2,
  params: {},
  result: quantity,
  answer: (_, filters, context) => createFilter({ kind: "blocks" }, filters, context),
});

const newPending = filterMethod({
  name: "eth_newPendingTransactionFilter",
  ...EVM,
  summary: "Creates a filter that reports the hashes of pending transactions, and answers its id.",
  cost: 2,
  params: { fullTransactions: z.boolean({ error: "want true or false" }).optional() },
  result: quantity,
  answer: ({ fullTransactions }, filters, context) => {
    if (fullTransactions)
      throw errors.invalidArgument(0, "filters report the hashes of transactions only");
    return createFilter({ kind: "pending" }, filters, context);
  },
});

const creations = { logs: newLogs, blocks: newBlocks, pending: newPending };

export const filterMethods = [
  newLogs,
  newBlocks,
  newPending,
  filterMethod({
    name: "eth_getFilterChanges",
    isPoll: true,
    ...EVM,
    summary: "What happened since the last poll: logs, block hashes or transaction hashes.",
    cost: 2,
    params: { filterId },
    result: z.union([z.array(hash), z.array(log)]),
    answer: async ({ filterId: id }, filters, context) =>
      toldChanges(await filters.changes(id, context, checkAgain(creations, context)), context),
  }),
  filterMethod({
    name: "eth_getFilterLogs",
    isPoll: true,
    ...EVM,
    summary: "All logs that match a log filter, of the range that it was created with.",
    cost: 5,
    params: { filterId },
    result: z.array(log),
    answer: async ({ filterId: id }, filters, context) =>
      answerLogs(
        (await filters.criteria(id, context, checkAgain(creations, context))) as LogFilter,
        context,
      ),
  }),
  filterMethod({
    name: "eth_uninstallFilter",
    ...EVM,
    summary: "Ends a filter; false when there is none.",
    cost: 2,
    params: { filterId },
    result: z.boolean(),
    answer: async ({ filterId: id }, filters, context) => String(await filters.remove(id, context)),
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

/** Both ends are numbers, and in the wrong order. Tags are settled when the logs are asked for. */
const isReversed = ({ from, to }: { from: string; to: string }): boolean =>
  isQuantity(from) && isQuantity(to) && toNumber(from) > toNumber(to);
