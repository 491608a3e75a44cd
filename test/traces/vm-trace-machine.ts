// A machine without arithmetic: it pops the items that each operation takes, and believes the vmTrace for the rest. It
// reports where its stack or memory differs from that of ethereumjs.
import { bytesToHex } from "@ethereumjs/util";
import { VmTraceWriter } from "../../src/traces/vm-trace.ts";
import type { StructLog, Traced, TracedFrame } from "./struct-log-recorder.ts";

export type VmTrace = { code: string; ops: readonly VmOperation[] };
type VmOperation = {
  pc: number;
  cost: number;
  ex: {
    mem: { off: number; data: string } | null;
    push: readonly string[];
    store: { key: string; val: string } | null;
    used: number;
  } | null;
  sub: VmTrace | null;
};

/** The struct logs of any node. */
type Steps = Pick<Traced, "transaction" | "codes"> & { readonly structLogs: readonly unknown[] };

export function vmTraceOf({ transaction, structLogs, codes }: Steps): VmTrace {
  const pieces: string[] = [];
  const { to, data } = transaction;
  const top = to ? { to: to.toString() } : { init: bytesToHex(data) };
  const writer = new VmTraceWriter(
    { top, maxSteps: 1e7, maxBytes: 1e9 },
    { codeOf: (address) => codes.get(address), write: (json) => pieces.push(json) },
  );
  for (const log of structLogs) writer.add(log);
  const outcome = writer.finish();
  if (outcome.kind !== "written") throw new Error(JSON.stringify(outcome));
  return JSON.parse(pieces.join("")) as VmTrace;
}

/** The frames in the order of their beginning. */
export const framesOf = (trace: VmTrace): VmTrace[] => [
  trace,
  ...trace.ops.flatMap(({ sub }) => (sub ? framesOf(sub) : [])),
];

const storesOf = (trace: VmTrace): NonNullable<VmOperation["ex"]>["store"][] =>
  trace.ops.flatMap(({ ex, sub }) => [
    ...(sub ? storesOf(sub) : []),
    ...(ex?.store ? [ex.store] : []),
  ]);

/** OpenEthereum does not write an operation that is unknown, or whose stack or numbers are invalid. */
export const begunIn = ({ steps, code }: TracedFrame): StructLog[] =>
  steps.filter(
    ({ op, error, pc, gasCost }) =>
      op !== "INVALID" &&
      !error?.startsWith("stack ") &&
      Number.isSafeInteger(gasCost) &&
      2 * pc + 2 < code.length, // excludes the STOP behind the end
  );

/** The differences between the trace and the execution, at most one for each frame. */
export function differences(trace: VmTrace, { frames, stores }: Traced): string[] {
  const written = framesOf(trace);
  if (written.length !== frames.length) return [`${written.length} frames`];
  const wrong = frames.map((frame, index) => difference(written[index] as VmTrace, frame));
  const isStored = JSON.stringify(storesOf(trace)) === JSON.stringify(stores);
  return [...wrong, isStored ? undefined : "store"].filter((text) => text !== undefined);
}

/** The first difference in a frame. */
function difference(trace: VmTrace, frame: TracedFrame): string | undefined {
  const begun = begunIn(frame);
  if (trace.code !== frame.code) return "code";
  if (trace.ops.length !== begun.length) return `${trace.ops.length} operations`;
  const machine = new Machine(trace.code);
  for (const [index, operation] of trace.ops.entries()) {
    const step = begun[index] as StructLog;
    const next = frame.steps[index + 1];
    const wrong =
      costWrong(operation, step) ??
      (next ? undefined : endingWrong(operation, step, frame)) ??
      machine.run(operation, next);
    if (wrong) return `${wrong} of ${step.op} at ${operation.pc}`;
  }
  return undefined;
}

function costWrong({ pc, cost }: VmOperation, { op, ...step }: StructLog): string | undefined {
  const left = step.gas - step.gasCost;
  const passed = op.startsWith("CREATE") && left > 0 ? left - Math.floor(left / 64) : 0;
  if (pc !== step.pc) return "pc";
  return cost === step.gasCost + passed ? undefined : "cost";
}

/** The last operation must fail exactly when its frame failed, except operations that were complete before that. */
function endingWrong(
  { ex }: VmOperation,
  { op, gas, gasCost }: StructLog,
  { exception }: TracedFrame,
): string | undefined {
  const isOver = ["REVERT", "JUMP", "JUMPI", "RETURN"].includes(op) && gas >= gasCost;
  if ((ex === null) !== (exception !== undefined && !isOver)) return "ending";
  return ex && ex.used !== gas - gasCost ? "used" : undefined;
}

class Machine {
  readonly #code: string;
  readonly #stack: string[] = [];
  #memory = "";

  constructor(code: string) {
    this.#code = code.slice(2);
  }

  run({ pc, ex }: VmOperation, next: StructLog | undefined): string | undefined {
    if (!ex) return next && "failure";
    const takes = takenBy(Number.parseInt(this.#code.slice(2 * pc, 2 * pc + 2), 16));
    this.#stack.splice(this.#stack.length - takes, takes, ...ex.push);
    if (ex.mem) this.#write(ex.mem.off, ex.mem.data.slice(2));
    if (!next) return undefined;
    if (ex.used !== next.gas) return "used";
    if (this.#stack.join() !== next.stack.join()) return "push";
    const memory = next.memory.join("");
    return this.#memory.padEnd(memory.length, "0") === memory ? undefined : "mem";
  }

  #write(offset: number, digits: string): void {
    const before = this.#memory.slice(0, 2 * offset).padEnd(2 * offset, "0");
    this.#memory = before + digits + this.#memory.slice(before.length + digits.length);
  }
}

/** The number of items that an opcode pops. */
function takenBy(opcode: number): number {
  if (opcode >= 0x60 && opcode < 0x80) return 0;
  if (opcode >= 0x80 && opcode < 0x90) return opcode - 0x7f; // includes the items that a DUP leaves in place
  if (opcode >= 0x90 && opcode < 0xa0) return opcode - 0x8e;
  if (opcode >= 0xa0 && opcode < 0xa5) return opcode - 0x9e;
  const count = rows[opcode >> 4]?.[opcode & 15];
  if (count === undefined) throw new Error(`0x${opcode.toString(16)} is no operation`);
  return Number(count);
}

const rows: Readonly<Record<number, string>> = {
  0: "022222223322",
  1: "222221222122221",
  2: "2",
  3: "0100010303014031",
  4: "100000000100",
  5: "1122121200001230",
  15: "377264....6..2.1",
};
