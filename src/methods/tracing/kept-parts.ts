// Traces of final blocks do not change, so they are kept with the block.
import { type AnswerJson, PackedJson } from "../../jsonrpc/raw-json.ts";
import type { Trace } from "../../traces/call-tree.ts";
import { withGasLeft } from "../../traces/gas.ts";
import type { CallContext } from "../method.ts";
import type { MinedPosition } from "./mined.ts";

/** "more": further members that a node gives. */
export type TracedPart = "output" | TraceType | "more";
export type TraceType = "trace" | "stateDiff" | "vmTrace";

/** Each part as JSON; "more" as members with a comma before them. */
export type Parts = Readonly<Partial<Record<TracedPart, AnswerJson>>>;

type KeptParts = Readonly<Partial<Record<TracedPart, Buffer>>>;

/** A part of more bytes is not kept, since it would take the room of many blocks. */
const WORTH_KEEPING = 1 << 23;

/** undefined unless all of them are kept. */
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
 * Makes a trace and a vmTrace agree that were asked for separately. The gas of the top call is taken from the steps,
 * since a node that gave only calls did not know it.
 */
export function inAgreement(parts: KeptParts): Parts {
  const { trace, vmTrace } = parts;
  const [, used] = LAST_USED.exec(vmTrace?.subarray(-LONGEST_END).toString() ?? "") ?? [];
  if (!trace || used === undefined) return parts;
  const traces = JSON.parse(trace.toString()) as readonly Trace[];
  return { ...parts, trace: JSON.stringify(withGasLeft(traces, Number(used))) };
}

const LONGEST_END = 100;
/** The end of the vmTrace of a top frame that did not fail. */
const LAST_USED = /"used":(\d+)\}\}\]\}$/;

/** Nobody waits for it: parts that cannot be kept are asked for again. */
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
