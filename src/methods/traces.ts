// The methods that trace the inner calls of transactions and calls, in OpenEthereum's form.
import { z } from "zod";
import { blockReference } from "../evm/block-reference.ts";
import { callObject } from "../evm/call-object.ts";
import { locatedTrace, replay } from "../evm/results.ts";
import { data, hash, quantity, toNumber } from "../evm/values.ts";
import { anyContract, calledAt, calledByEach } from "../namespaces/read-contracts.ts";
import { traceAt } from "../traces/call-tree.ts";
import { executedAt } from "./execution.ts";
import { defineForwarded } from "./forwarding.ts";
import { defineMethod } from "./method.ts";
import { blockReplays, blockTraces } from "./tracing/block-traces.ts";
import { callReplay } from "./tracing/call-replays.ts";
import { replay as replayOf, tracesOf } from "./tracing/replays.ts";
import { filterTraces, traceFilter } from "./tracing/trace-filter.ts";

const TRACE = { workKind: "traces", cost: 25 } as const;
/** The EVM's own limit of calls within calls. */
const MAX_DEPTH = 1024;
/** Only three types exist, so a longer list would only cost time. */
const MAX_TYPES = 100;
const MAX_CALLS = 1000;

const traceTypes = z
  .array(z.enum(["vmTrace", "trace", "stateDiff"], { error: "want vmTrace, trace or stateDiff" }), {
    error: "want an array of trace types",
  })
  .max(MAX_TYPES, { error: `want at most ${MAX_TYPES} trace types` })
  .describe("The requested traces: vmTrace, trace, stateDiff.");

/** Each type once, however often the caller names it. */
const unique = <Item>(items: readonly Item[]): readonly Item[] => [...new Set(items)];

export const traceMethods = [
  defineMethod({
    name: "trace_get",
    ...TRACE,
    isSpecified: true,
    summary:
      "One trace of a transaction, by its position in the call tree; null when there is none.",
    params: {
      transactionHash: hash,
      path: z
        .array(quantity, { error: "want an array of indexes" })
        .max(MAX_DEPTH, { error: `want at most ${MAX_DEPTH} indexes` })
        .describe('The traceAddress: ["0x0"] is the first child of the top call.'),
    },
    result: locatedTrace.nullable(),
    freshness: "until reorg",
    answer: async ({ transactionHash, path }, context) => {
      const traces = await tracesOf(transactionHash, context);
      return JSON.stringify((traces && traceAt(traces, path.map(toNumber))) ?? null);
    },
  }),
  defineMethod({
    name: "trace_transaction",
    ...TRACE,
    summary: "All traces of a transaction; null when the transaction is unknown.",
    params: { transactionHash: hash },
    result: z.array(locatedTrace).nullable(),
    freshness: "until reorg",
    answer: async ({ transactionHash }, context) =>
      JSON.stringify((await tracesOf(transactionHash, context)) ?? null),
  }),
  defineMethod({
    name: "trace_block",
    ...TRACE,
    isNullNoBlock: true,
    summary:
      "All traces of a block, with the rewards where the node gives them; null when the block is unknown.",
    params: { block: blockReference },
    result: z.array(locatedTrace).nullable(),
    freshness: "until next block",
    contractsOf: anyContract,
    answer: async (args, context) =>
      JSON.stringify((await blockTraces(args.block, context)) ?? null),
  }),
  defineMethod({
    name: "trace_filter",
    ...TRACE,
    summary: "The traces in a range of blocks that match a filter.",
    params: { filter: traceFilter },
    result: z.array(locatedTrace),
    freshness: "until next block",
    contractsOf: anyContract,
    answer: ({ filter }, context) => filterTraces(filter, context),
  }),
  defineMethod({
    name: "trace_replayTransaction",
    ...TRACE,
    isSpecified: true,
    summary: "Executes a mined transaction again and returns the requested traces.",
    params: { transactionHash: hash, traceTypes },
    result: replay,
    freshness: "until reorg",
    answer: (args, context) => replayOf(args.transactionHash, unique(args.traceTypes), context),
  }),
  defineMethod({
    name: "trace_replayBlockTransactions",
    ...TRACE,
    summary: "Executes all transactions of a block again and returns the requested traces.",
    params: { block: blockReference, traceTypes },
    result: z.array(replay).nullable(),
    freshness: "until next block",
    contractsOf: anyContract,
    answer: async (args, context) =>
      (await blockReplays(args.block, unique(args.traceTypes), context)) ?? "null",
  }),
  defineMethod({
    name: "trace_call",
    ...TRACE,
    summary: "Executes a call and returns the requested traces.",
    params: { call: callObject, traceTypes, block: executedAt },
    result: replay,
    freshness: "until next block",
    contractsOf: calledAt(0),
    answer: ({ call, traceTypes: types, block: reference = "latest" }, context) =>
      callReplay({ call, types: unique(types), block: reference }, context),
  }),
  defineForwarded({
    name: "trace_callMany",
    ...TRACE,
    summary:
      "Executes calls one after the other, each on the state that the previous one left, and returns the requested traces.",
    params: {
      calls: z
        .array(z.array(z.unknown()), { error: "want an array of [call, trace types]" })
        .max(MAX_CALLS, { error: `want at most ${MAX_CALLS} calls` }),
      block: executedAt,
    },
    result: z.array(replay),
    freshness: "until next block",
    contractsOf: calledByEach,
    at: "block",
  }),
  defineForwarded({
    name: "trace_rawTransaction",
    ...TRACE,
    carriesSigned: true,
    summary: "Executes a signed transaction without sending it, and returns the requested traces.",
    params: { transaction: data, traceTypes },
    result: replay,
    freshness: "until next block",
    contractsOf: anyContract,
  }),
];
