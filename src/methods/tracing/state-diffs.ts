// What a mined transaction changed in the state, from whatever its nodes offer.
import { toQuantity } from "../../evm/values.ts";
import { isJson } from "../../proofs/json.ts";
import { stateDiffOf } from "../../traces/prestate-diff.ts";
import { normaliseStateDiff, type StateDiff } from "../../traces/state-diff.ts";
import { replayFor, resultFor } from "./call-trees.ts";
import type { MinedTransaction } from "./mined.ts";
import type { Source } from "./sources.ts";

export const DIFF = { tracer: "prestateTracer", tracerConfig: { diffMode: true } };

type DiffSource = Source<MinedTransaction, StateDiff>;

export const diffSources: readonly DiffSource[] = [
  {
    name: "trace_replayTransaction with stateDiff",
    method: "trace_replayTransaction",
    params: ({ hash }) => [hash, ["stateDiff"]],
    read: (result) => diffIn(result),
  },
  {
    name: "debug_traceTransaction with prestateTracer in diffMode",
    method: "debug_traceTransaction",
    params: ({ hash }) => [hash, DIFF],
    read: (result) => stateDiffOf(result),
  },
  {
    name: "debug_traceBlockByHash with prestateTracer in diffMode",
    method: "debug_traceBlockByHash",
    params: ({ block }) => [block.hash, DIFF],
    read: (result, transaction) => diffFor(transaction, result),
  },
  {
    name: "debug_traceBlockByNumber with prestateTracer in diffMode",
    method: "debug_traceBlockByNumber",
    params: ({ block }) => [toQuantity(block.number), DIFF],
    read: (result, transaction) => diffFor(transaction, result),
  },
  {
    name: "trace_replayBlockTransactions with stateDiff",
    method: "trace_replayBlockTransactions",
    params: ({ block }) => [toQuantity(block.number), ["stateDiff"]],
    read: (result, transaction) => diffIn(replayFor(transaction, result)),
  },
];

/** Of a node's own replay. */
export const diffIn = (replay: unknown): StateDiff | undefined =>
  isJson(replay) ? normaliseStateDiff(replay["stateDiff"]) : undefined;

/** A diff says nothing of the transaction that it is of: one without a name has the sender in it at least. */
const diffFor = (transaction: MinedTransaction, result: unknown): StateDiff | undefined =>
  stateDiffOf(
    resultFor(transaction, result, ({ pre }) =>
      Object.hasOwn(Object(pre), String(transaction.json["from"])),
    ),
  );
