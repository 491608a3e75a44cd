// One operation of a `vmTrace`: pending until the next step of its frame shows what it did, then one entry of `ops` as
// OpenEthereum writes it.
import { isCall, isCreate, isHalt, isJump, type Operation, operationNamed } from "./opcodes.ts";
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

/** It holds nothing of the step itself, which can be large, while a call's whole frame runs. */
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

/** Of the memory, whose offset and size are at this index of the stack. */
function slice(step: Step, at: number): string {
  const offset = stackCount(step, at) ?? 0;
  const size = stackCount(step, at + 1) ?? 0;
  // No block has had the gas for more, before the limits of EIP-170 and EIP-3860.
  return size > MAX_SLICE ? "0x" : (memorySlice(step.memory, offset, size) ?? "0x");
}

const MAX_SLICE = 2 ** 22;

/** What is written there after the operation; undefined when the node does not say. */
function memoryWritten(
  { memory }: Step,
  { offset, size }: { offset: number; size: number },
): string | undefined {
  return memorySize(memory) < offset + size ? undefined : memorySlice(memory, offset, size);
}

/**
 * How the operation ended after which its frame has no other. Most nodes do not say: geth writes an error only for
 * what it refuses to begin. "unbegun" are operations that OpenEthereum never writes down: those that it does not know, and those
 * for which the stack is too short or too full.
 */
type OperationEnding = "done" | "failed" | "unbegun";

function endingOf(
  step: Step,
  operation: Operation | undefined,
  frame: { readonly isStatic: boolean },
): OperationEnding {
  const { error, gas, cost } = step;
  if (!operation || isStackWrong(step, operation) || UNBEGUN.test(error)) return "unbegun";
  if (cost === Number.POSITIVE_INFINITY) return "unbegun";
  if (cost > gas) return "failed";
  // OpenEthereum looks for the destination only after it wrote the jump down.
  if (isJump(operation)) return error === "" || /jump/i.test(error) ? "done" : "failed";
  if (operation.name === "REVERT") return error === "" || /revert/i.test(error) ? "done" : "failed";
  if (error !== "") return "failed";
  if (operation.name === "SELFDESTRUCT") return frame.isStatic ? "failed" : "done";
  if (isHalt(operation)) return "done";
  // Nothing else is for free: the node knows its name, but not yet at this block.
  return cost === 0 ? "unbegun" : "failed";
}

/** In the words of geth, revm, Nethermind and Besu. */
const UNBEGUN =
  /stack ?(under|over)flow|stack limit|insufficient.?stack|too.?many.?stack|invalid.?op|opcode.?not.?found|not.?activated|undefined.?instruction|bad.?instruction|gas uint64 overflow/i;

const STACK_LIMIT = 1024;

const isStackWrong = ({ stack }: Step, { takes, gives }: Operation): boolean =>
  stack.length < takes || stack.length - takes + gives > STACK_LIMIT;

const DELEGATION = /^0xef0100[0-9a-f]{40}$/i; // EIP-7702

/**
 * Which code runs at an address: what was there before the transaction, what the transaction created there since,
 * and where an account lets another one's code run for it.
 */
export class CodeBook {
  readonly #codeBefore: (address: string) => string | undefined;
  readonly #created = new Map<string, string>();

  constructor(codeBefore: (address: string) => string | undefined) {
    this.#codeBefore = codeBefore;
  }

  /** undefined when it is not known. */
  codeAt(address: string): string | undefined {
    const code = this.#codeOf(address);
    return code && DELEGATION.test(code) ? this.#codeOf(`0x${code.slice(8)}`) : code;
  }

  /** `address` as a QUANTITY. What is undone later is never asked for, as nothing runs there. */
  deploy(address: string, code: string): void {
    this.#created.set(`0x${address.slice(2).padStart(40, "0")}`, code);
  }

  #codeOf(address: string): string | undefined {
    return this.#created.get(address) ?? this.#codeBefore(address);
  }
}

/** What is known of an operation only once it is over. */
export type Executed = {
  /** Of what it entered, where there are no steps. */
  readonly sub: { readonly code: string; readonly ops: readonly [] } | null;
  /** Of a call or create with all the gas that it passes on, but for the stipend. */
  readonly cost: number;
  /** null where the operation failed. */
  readonly ex: {
    readonly mem: { readonly data: string; readonly off: number } | null;
    readonly push: readonly string[];
    readonly store: { readonly key: string; readonly val: string } | null;
    /** Not used, but left. */
    readonly used: number;
  } | null;
};

/** A frame that has steps. */
export type SubFrame = {
  /** What it had at its first step. */
  readonly gas: number;
  readonly ending: PendingOperation["endsAs"];
  /** What a create's frame leaves as the code of its contract. */
  readonly returned: string;
};

type Surroundings = {
  /** The next step of the same frame, unless there is none. */
  readonly next?: Step;
  /** What the operation entered, unless it has no steps. */
  readonly sub: SubFrame | undefined;
  readonly codes: CodeBook;
};

/** undefined when the next step does not show what it did, or contradicts it. */
export function executed(
  pending: PendingOperation,
  { next, sub, codes }: Surroundings,
): Executed | undefined {
  const { store, entry } = pending;
  if (!next) {
    const used = pending.gas - pending.cost;
    const ex = pending.endsAs === "done" ? { mem: null, push: [], store, used } : null;
    return { sub: null, cost: costOf(pending, { sub }), ex };
  }
  const push = pushedBy(pending, next);
  const mem = writtenBy(pending, next);
  if (!push || mem === undefined) return undefined;
  const isSuccess = entry !== undefined && push[0] !== "0x0";
  if (isSuccess && sub && sub.ending !== "done") return undefined;
  if (isSuccess && entry.kind === "create") codes.deploy(push[0] ?? "", sub?.returned ?? "0x");
  const unstepped = sub ? null : withoutSteps(pending, { next, isSuccess, codes });
  const ex = { mem, push, store, used: next.gas };
  return { sub: unstepped, cost: costOf(pending, { next, sub }), ex };
}

function pushedBy({ gives }: PendingOperation, next: Step): readonly string[] | undefined {
  if (gives === undefined) return undefined;
  const push = Array.from({ length: gives }, (_, index) => stackItem(next, gives - 1 - index));
  return push.every((item) => item !== undefined) ? push : undefined;
}

function writtenBy(
  { area }: PendingOperation,
  next: Step,
): { data: string; off: number } | null | undefined {
  if (!area) return null;
  const data = memoryWritten(next, area);
  return data === undefined ? undefined : { data, off: area.offset };
}

/**
 * OpenEthereum begins a trace for all that it enters, accounts without code and precompiles too, but
 * not where depth or balance forbid it: these give back all that was passed on.
 */
function withoutSteps(
  { entry, gas, cost }: PendingOperation,
  { next, isSuccess, codes }: { next: Step; isSuccess: boolean; codes: CodeBook },
): Executed["sub"] {
  if (!entry) return null;
  // A call's cost has in it what is passed on; a create's, as geth counts, has not.
  const isEntered = entry.kind === "call" ? entry.isEnteredWhenSpent : isCountedIn({ gas, cost });
  const isAllSpent = next.gas === gas - cost && isEntered;
  const isSpent = next.gas < gas - cost || isAllSpent;
  if (!isSuccess && !isSpent) return null;
  if (entry.kind === "create") return { code: entry.init, ops: [] };
  return { code: isSuccess ? "0x" : (codes.codeAt(entry.address) ?? "0x"), ops: [] };
}

/** geth leaves out of a create's cost what it passes on, anvil does not; OpenEthereum counts it. */
function costOf(
  { entry, gas, cost }: PendingOperation,
  { next, sub }: { next?: Step; sub: SubFrame | undefined },
): number {
  if (entry?.kind !== "create") return cost;
  if (sub) return gas - cost < sub.gas ? cost : cost + sub.gas;
  // One whose place is taken is not entered either, and keeps what was passed on.
  if (next?.gas === gas - cost && isCountedIn({ gas, cost })) return cost;
  // Not entered, it gave back all but its own cost.
  const own = next ? Math.min(cost, gas - next.gas) : cost;
  return own + allButOne64th(gas - own);
}

/**
 * Whether what is passed on is in the cost of a create (anvil): then a 64th is left of what a create's own
 * cost leaves, which is never less than 32,000.
 */
const isCountedIn = ({ gas, cost }: Pick<PendingOperation, "gas" | "cost">): boolean =>
  gas - 64 * (gas - cost) >= CREATION;

const CREATION = 32_000;

/** EIP-150; before it all was passed on. */
const allButOne64th = (gas: number): number => gas - Math.floor(gas / 64);
