// Filters of epoch networks: cursors over the followed epochs. Where nothing is followed, the nodes keep them.
import { z } from "zod";
import { type EpochLogFilter, epochLog, epochLogFilter } from "../conflux/epoch-logs.ts";
import { hash, quantity } from "../evm/values.ts";
import { contractsOfLogs } from "../namespaces/read-contracts.ts";
import { answerEpochLogs } from "./epoch-logs.ts";
import { checkAgain, createFilter, filterMethod, toldChanges } from "./filter-method.ts";

const filterId = z
  .string({ error: "want a filter id" })
  .regex(/^0x[0-9a-fA-F]{1,64}$/, { error: "want a filter id" })
  .describe("What the creation of the filter answered.");

/** js-conflux-sdk puts a zero before an odd number of digits. */
const idOf = (id: string): string => id.replace(/^0x0+(?=.)/, "0x");

const revert = z
  .looseObject({ revertTo: quantity })
  .describe("The pivot chain changed from this epoch on: logs from there are to be forgotten.");

const newLogs = filterMethod({
  name: "cfx_newFilter",
  family: "conflux",
  summary: "Creates a filter that reports logs of new epochs, and answers its id.",
  cost: 2,
  params: { filter: epochLogFilter },
  result: quantity,
  contractsOf: contractsOfLogs,
  answer: ({ filter }, filters, context) =>
    createFilter({ kind: "logs", criteria: criteriaOf(filter) }, filters, context),
});

const newBlocks = filterMethod({
  name: "cfx_newBlockFilter",
  family: "conflux",
  summary: "Creates a filter that reports the blocks of new epochs, and answers its id.",
  cost: 2,
  params: {},
  result: quantity,
  answer: (_, filters, context) => createFilter({ kind: "blocks" }, filters, context),
});

const newPending = filterMethod({
  name: "cfx_newPendingTransactionFilter",
  family: "conflux",
  summary: "Creates a filter that reports the hashes of pending transactions, and answers its id.",
  cost: 2,
  params: {},
  result: quantity,
  answer: (_, filters, context) => createFilter({ kind: "pending" }, filters, context),
});

const creations = { logs: newLogs, blocks: newBlocks, pending: newPending };

export const epochFilterMethods = [
  newLogs,
  newBlocks,
  newPending,
  filterMethod({
    name: "cfx_getFilterChanges",
    isPoll: true,
    family: "conflux",
    summary: "What happened since the last poll: logs, block hashes or transaction hashes.",
    cost: 2,
    params: { filterId },
    result: z.union([z.array(hash), z.array(z.union([epochLog, revert]))]),
    answer: async ({ filterId: id }, filters, context) =>
      toldChanges(
        await filters.changes(idOf(id), context, checkAgain(creations, context)),
        context,
      ),
  }),
  filterMethod({
    name: "cfx_getFilterLogs",
    isPoll: true,
    family: "conflux",
    summary: "All logs that match a log filter, of the epochs that it was created with.",
    cost: 5,
    params: { filterId },
    result: z.array(epochLog),
    answer: async ({ filterId: id }, filters, context) =>
      answerEpochLogs(
        (await filters.criteria(
          idOf(id),
          context,
          checkAgain(creations, context),
        )) as EpochLogFilter,
        context,
      ),
  }),
  filterMethod({
    name: "cfx_uninstallFilter",
    family: "conflux",
    summary: "Ends a filter; false when there is none.",
    cost: 2,
    params: { filterId },
    result: z.boolean(),
    answer: async ({ filterId: id }, filters, context) =>
      String(await filters.remove(idOf(id), context)),
  }),
];

/** Without members that nobody knows: they would be kept for nothing. */
const criteriaOf = (filter: EpochLogFilter): EpochLogFilter => {
  const { fromEpoch, toEpoch, blockHashes, address, topics, limit, offset } = filter;
  return { fromEpoch, toEpoch, blockHashes, address, topics, limit, offset };
};
