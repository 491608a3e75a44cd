// Changes of traces, wherever they are in an answer.
import type { Entry, Json } from "./golden.ts";

const isTrace = (value: unknown): value is Entry =>
  typeof value === "object" && value !== null && "traceAddress" in value;

export function eachTrace(value: unknown, change: (trace: Entry) => Entry): unknown {
  if (isTrace(value)) return change(value);
  if (Array.isArray(value)) return value.map((member) => eachTrace(member, change));
  const { trace } = Object(value) as { trace?: unknown };
  return trace ? { ...(value as Json), trace: eachTrace(trace, change) } : value;
}

/** Changes the top calls only. */
export const eachTop = (value: unknown, change: (top: Entry) => Entry): unknown =>
  eachTrace(value, (trace) => (trace.traceAddress.length === 0 ? change(trace) : trace));

export const withoutRewards = (want: unknown): unknown =>
  (want as readonly Entry[]).filter(({ type }) => type !== "reward");

/** @param instead New values by present values. */
export function withGasUsed(trace: Entry, instead: Readonly<Record<string, string>>): Entry {
  const { result } = trace;
  const gasUsed = instead[String(result?.["gasUsed"])];
  return gasUsed === undefined ? trace : { ...trace, result: { ...result, gasUsed } };
}
