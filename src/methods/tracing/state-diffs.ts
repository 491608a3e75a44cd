// The state diff of a mined transaction or a call: from a node's own replay, or from a prestateTracer.
import { isJson } from "../../proofs/json.ts";
import { stateDiffOf } from "../../traces/prestate-diff.ts";
import { normaliseStateDiff, type StateDiff } from "../../traces/state-diff.ts";
import type { MinedTransaction } from "./mined.ts";
import { callSource, replaySources, type Source, tracerSources } from "./sources.ts";

const DIFF = {
  words: "with prestateTracer in diffMode",
  options: { tracer: "prestateTracer", tracerConfig: { diffMode: true } },
};

/** The diff in a node's own replay. */
export const diffIn = (replay: unknown): StateDiff | undefined =>
  isJson(replay) ? normaliseStateDiff(replay["stateDiff"]) : undefined;

const own = replaySources("stateDiff", " with stateDiff", diffIn);

const traced = tracerSources(
  DIFF,
  (result) => stateDiffOf(result),
  // A diff does not name its transaction, but it always has the sender.
  ({ pre }, { json }) => Object.hasOwn(Object(pre), String(json["from"])),
);

export const diffSources: readonly Source<MinedTransaction, StateDiff>[] = [
  ...[own.alone, traced.alone, traced.byHash, traced.byNumber, own.inBlock],
];

export const callDiffSource = callSource(DIFF, (result) => stateDiffOf(result));
