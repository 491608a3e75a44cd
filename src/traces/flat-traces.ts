// The trace list from one that is flat already: geth's flatCallTracer, or a node's own trace_transaction.
import { isJson, type Json } from "../proofs/json.ts";
import { type Trace, type TreeOptions, tracesOfFrames } from "./call-tree.ts";
import type { Frame } from "./frame.ts";

/** Undefined when it is no list of one transaction's traces, parents before their children. */
export function tracesOfFlat(
  entries: unknown,
  options: TreeOptions = {},
): readonly Trace[] | undefined {
  if (!Array.isArray(entries)) return undefined;
  const frames: Frame[] = [];
  let before: readonly number[] | undefined;
  for (const entry of entries as readonly unknown[]) {
    if (!isJson(entry)) return undefined;
    if (entry["type"] === "reward") continue;
    const path = pathOf(entry["traceAddress"]);
    if (!path || !follows(path, before)) return undefined;
    frames.push(frameOf(entry, path.length));
    before = path;
  }
  return tracesOfFrames(frames, options);
}

const pathOf = (value: unknown): readonly number[] | undefined =>
  Array.isArray(value) && value.every((step) => Number.isSafeInteger(step) && step >= 0)
    ? value
    : undefined;

/** A child of the one before, or a later sibling of it or of a frame around it; gaps are let pass. */
function follows(path: readonly number[], before: readonly number[] | undefined): boolean {
  if (!before) return path.length === 0;
  const last = path.length - 1;
  if (last < 0 || last > before.length) return false;
  if (path.some((step, at) => at < last && step !== before[at])) return false;
  return last === before.length || (path[last] ?? 0) > (before[last] ?? 0);
}

function frameOf(entry: Json, depth: number): Frame {
  const { error, type } = entry;
  const action = isJson(entry["action"]) ? entry["action"] : {};
  const result = isJson(entry["result"]) ? entry["result"] : {};
  const { gas, value } = action;
  const told = { depth, from: action["from"], value, gas, gasUsed: result["gasUsed"], error };
  switch (type) {
    case "call":
      return { ...told, ...callOf(action), output: result["output"] };
    case "create":
      return { ...told, ...createOf(action), to: result["address"], output: result["code"] };
    case "suicide":
    case "selfdestruct": // some call it so
      return { ...told, ...suicideOf(action) };
    default:
      return { ...told, kind: "", to: undefined, input: undefined, output: undefined };
  }
}

const callOf = ({ callType, to, input }: Json) => ({
  kind: typeof callType === "string" ? callType.toLowerCase() : "",
  to,
  input,
});

const createOf = ({ init, creationMethod }: Json) => ({
  kind: "create",
  input: init,
  creationMethod,
});

const suicideOf = ({ address, refundAddress, balance }: Json) => ({
  kind: "suicide",
  from: address,
  to: refundAddress,
  value: balance,
  input: undefined,
  output: undefined,
});
