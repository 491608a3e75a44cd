// Keeps the traces of final blocks, which do not change, in the store with their block.
import { type AnswerJson, PackedJson } from "../../jsonrpc/raw-json.ts";
import type { Trace } from "../../traces/call-tree.ts";
import { withGasLeft } from "../../traces/gas.ts";
import type { CallContext } from "../method.ts";
import type { MinedPosition } from "./mined.ts";

/** "more": further members of a node's own replay. */
export type TracedPart = "output" | TraceType | "more";
export type TraceType = "trace" | "stateDiff" | "vmTrace";

/** Each part as JSON; "more" as members with a comma before them. */
export type Parts = Readonly<Partial<Record<TracedPart, AnswerJson>>>;

type KeptParts = Readonly<Partial<Record<TracedPart, Buffer>>>;

/** The most bytes of a part that is kept: more would take the room of many blocks. */
const WORTH_KEEPING = 1 << 23;

/** The wanted parts from the store; undefined unless all of them are kept. */
export function keptParts(
  { block, index }: MinedPosition,
  wanted: readonly TracedPart[],
  context: CallContext,
): KeptParts | undefined {
  const parts: Partial<Record<TracedPart, Buffer>> = {};
  for (const part of wanted) {
    const json = context.chain?.keptTrace(block.hash, { index, part });
    if (!json) return undefined;
    parts[part] = json;
  }
  context.setProvenance({ source: "store", block, proof: "none" });
  const more = context.chain?.keptTrace(block.hash, { index, part: "more" });
  return more ? { ...parts, more } : parts;
}

/**
 * Makes a trace agree with a vmTrace that was kept at another time. The gas of the top call comes from the vmTrace,
 * since a node that gave only calls did not know it.
 */
export function withGasOfVmTrace(parts: KeptParts): Parts {
  const { trace, vmTrace } = parts;
  const [, used] = LAST_USED.exec(vmTrace?.subarray(-LONGEST_END).toString() ?? "") ?? [];
  if (!trace || used === undefined) return parts;
  const traces = JSON.parse(trace.toString()) as readonly Trace[];
  return { ...parts, trace: JSON.stringify(withGasLeft(traces, Number(used))) };
}

const LONGEST_END = 100;
/** The end of the vmTrace of a top frame that did not fail. */
const LAST_USED = /"used":(\d+)\}\}\]\}$/;

/** Keeps the parts without waiting: a later call asks nodes again for parts that could not be kept. */
export function keepParts(
  { block, index }: MinedPosition,
  parts: Parts,
  { chain }: CallContext,
): void {
  if (!chain) return;
  for (const [part, json] of Object.entries(parts) as [TracedPart, AnswerJson][]) {
    if (json.length > WORTH_KEEPING) continue;
    const bytes = json instanceof PackedJson ? json.toString() : json;
    chain.keepTrace(block, { index, part }, Buffer.from(bytes)).catch(() => undefined);
  }
}
