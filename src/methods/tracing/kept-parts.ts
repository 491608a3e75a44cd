// Traces of final blocks do not change: they are kept with the block.
import { type AnswerJson, PackedJson } from "../../jsonrpc/raw-json.ts";
import type { Trace } from "../../traces/call-tree.ts";
import { withGasLeft } from "../../traces/gas.ts";
import type { CallContext } from "../method.ts";
import type { MinedPosition } from "./mined.ts";

/** "more": what a node tells beside them. */
export type TracedPart = "output" | TraceType | "more";
export type TraceType = "trace" | "stateDiff" | "vmTrace";

/** Each as JSON; "more" as members with a comma before them. */
export type Parts = Readonly<Partial<Record<TracedPart, AnswerJson>>>;

type KeptParts = Readonly<Partial<Record<TracedPart, Buffer>>>;

/** Of one part as text, in bytes: one that is larger would take the room of many blocks. */
const WORTH_KEEPING = 1 << 23;

/** undefined unless all of them are there. */
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
 * A trace and a vmTrace that were asked for one by one: what the top call used is as the steps tell it, which
 * a node that told only of calls did not know.
 */
export function inAgreement(parts: KeptParts): Parts {
  const { trace, vmTrace } = parts;
  const [, used] = LAST_USED.exec(vmTrace?.subarray(-LONGEST_END).toString() ?? "") ?? [];
  if (!trace || used === undefined) return parts;
  const traces = JSON.parse(trace.toString()) as readonly Trace[];
  return { ...parts, trace: JSON.stringify(withGasLeft(traces, Number(used))) };
}

const LONGEST_END = 100;
/** How the vmTrace of a top frame ends that did not fail. */
const LAST_USED = /"used":(\d+)\}\}\]\}$/;

/** Nobody waits for it: what cannot be kept is asked for again. */
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
