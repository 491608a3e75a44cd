// Struct logs for tests of the vmTrace writer, and its output for them.
import {
  type VmTraceOptions,
  type VmTraceOutcome,
  VmTraceWriter,
} from "../../src/traces/vm-trace.ts";

export const A = `0x${"a".repeat(40)}`;
export const B = `0x${"b".repeat(40)}`;

type Rest = Readonly<Record<string, unknown>>;

/** A struct log as geth writes it; by default a cheap operation in the top frame. */
export const log = (op: string, stack: readonly unknown[] = [], rest: Rest = {}) => ({
  ...{ pc: 0, op, gas: 100, gasCost: 3, depth: 1, stack, memory: [], ...rest },
});

/** The same, one frame deeper. */
export const below = (op: string, stack: readonly unknown[] = [], rest: Rest = {}) =>
  log(op, stack, { depth: 2, gas: 60, ...rest });

export type WrittenTrace = {
  readonly outcome: VmTraceOutcome;
  readonly text: string;
  readonly pieces: readonly string[];
};

export type TraceSurroundings = Partial<VmTraceOptions> & {
  /** Code by address; all other accounts have none. */
  readonly codes?: Readonly<Record<string, string | undefined>>;
};

/** Writes the vmTrace of a call to A; by default A has long code. */
export function tell(logs: readonly unknown[], surroundings: TraceSurroundings = {}): WrittenTrace {
  const { codes, ...options } = surroundings;
  const known: TraceSurroundings["codes"] = { [A]: `0x${"5b".repeat(50)}`, ...codes };
  const pieces: string[] = [];
  const writer = new VmTraceWriter(
    { top: { to: A }, maxSteps: 10_000, maxBytes: 1_000_000, ...options },
    {
      codeOf: (address) => (address in known ? known[address] : "0x"),
      write: (json) => pieces.push(json),
    },
  );
  for (const structLog of logs) writer.add(structLog);
  const outcome = writer.finish();
  return { outcome, text: pieces.join(""), pieces };
}

/** The operations of a trace that must be written. */
export function opsOf(logs: readonly unknown[], surroundings?: TraceSurroundings) {
  const { outcome, text } = tell(logs, surroundings);
  if (outcome.kind !== "written") throw new Error(JSON.stringify(outcome));
  return JSON.parse(text).ops;
}
