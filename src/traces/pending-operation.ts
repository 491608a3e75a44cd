// An operation of which the next step of its frame has still to tell what it did. It holds nothing of
// the step itself, which can be large, while a call's whole frame runs.
import { endingOf, type OperationEnding } from "./last-operation.ts";
import { isCall, isCreate, type Operation, operationNamed } from "./opcodes.ts";
import { memorySize, memorySlice, type Step, stackCount, stackItem } from "./struct-logs.ts";

/** What a call or create begins. */
type Entry =
  | {
      readonly kind: "call";
      /** Whose code runs. */
      readonly address: string;
      readonly isStatic: boolean;
      /** Whether it was surely entered when nothing of the gas that it passes on came back. */
      readonly isEnteredWhenSpent: boolean;
    }
  | { readonly kind: "create"; readonly init: string };

export type PendingOperation = {
  readonly pc: number;
  readonly gas: number;
  readonly cost: number;
  readonly name: string;
  /** undefined when there is none of this name: then no next step can be made sense of. */
  readonly gives: number | undefined;
  readonly area: { readonly offset: number; readonly size: number } | null;
  readonly store: { readonly key: string; readonly val: string } | null;
  readonly entry: Entry | undefined;
  /** What a RETURN gives out of a create's frame. */
  readonly returned: string;
  /** Should there be no next step. */
  readonly endsAs: OperationEnding;
};

type FrameKind = { readonly isStatic: boolean; readonly isCreate: boolean };

export function pendingOperation(step: Step, frame: FrameKind): PendingOperation {
  const operation = operationNamed(step.op);
  const { pc, gas, cost } = step;
  const endsAs = endingOf(step, operation, frame);
  return {
    ...{ pc, gas, cost, name: operation?.name ?? step.op, gives: operation?.gives },
    area: operation ? areaOf(step, operation) : null,
    store: operation?.name === "SSTORE" ? storeOf(step) : null,
    entry: operation && entryOf(step, operation, endsAs),
    returned:
      operation?.name === "RETURN" && frame.isCreate && endsAs === "done" ? slice(step, 0) : "0x",
    endsAs,
  };
}

function areaOf(step: Step, { written }: Operation): PendingOperation["area"] {
  if (!written) return null;
  const offset = stackCount(step, written.offset);
  const size = sizes[written.size] ?? stackCount(step, Number(written.size));
  // Where they are no numbers there is no gas for them either.
  return offset === undefined || !size ? null : { offset, size };
}

const sizes: Readonly<Record<string, number>> = { word: 32, byte: 1 };

function storeOf(step: Step): PendingOperation["store"] {
  const key = stackItem(step, 0);
  const val = stackItem(step, 1);
  return key === undefined || val === undefined ? null : { key, val };
}

function entryOf(step: Step, operation: Operation, endsAs: OperationEnding): Entry | undefined {
  if (endsAs === "unbegun" || step.cost > step.gas) return undefined;
  if (isCreate(operation)) return { kind: "create", init: slice(step, 1) };
  const target = isCall(operation) ? stackItem(step, 1) : undefined;
  if (target === undefined) return undefined;
  return {
    kind: "call",
    address: `0x${target.slice(2).padStart(40, "0").slice(-40)}`,
    isStatic: operation.name === "STATICCALL",
    // Without value, which would give gas too, only the depth can forbid it.
    isEnteredWhenSpent: step.depth <= MAX_DEPTH || stackItem(step, 0) !== "0x0",
  };
}

const MAX_DEPTH = 1024;

/** Of the memory, where offset and size are at this place on the stack. */
function slice(step: Step, at: number): string {
  const offset = stackCount(step, at) ?? 0;
  const size = stackCount(step, at + 1) ?? 0;
  // No block has had the gas for more, before the limits of EIP-170 and EIP-3860.
  return size > MAX_SLICE ? "0x" : (memorySlice(step.memory, offset, size) ?? "0x");
}

const MAX_SLICE = 2 ** 22;

/** What is written there after the operation; undefined when the node does not tell. */
export function memoryWritten(
  { memory }: Step,
  { offset, size }: { offset: number; size: number },
): string | undefined {
  return memorySize(memory) < offset + size ? undefined : memorySlice(memory, offset, size);
}
