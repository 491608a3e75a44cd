// One operation of a `vmTrace`. An operation is pending until the next step of its frame shows its effects; then it
// becomes one entry of `ops`, as OpenEthereum writes it.
import { isCall, isCreate, isHalt, isJump, type Operation, operationNamed } from "./opcodes.ts";
import { memorySize, memorySlice, type Step, stackCount, stackItem } from "./struct-logs.ts";

/** The frame that a call or create begins. */
type Entry =
  | {
      readonly kind: "call";
      /** The address whose code runs. */
      readonly address: string;
      readonly isStatic: boolean;
      /** Whether the call surely began if all gas that the call passed on was used. */
      readonly isEnteredWhenSpent: boolean;
    }
  | { readonly kind: "create"; readonly init: string };

/** An operation without its step, which can be large: a call stays pending while the steps of its frame arrive. */
export type PendingOperation = {
  readonly pc: number;
  readonly gas: number;
  readonly cost: number;
  readonly name: string;
  /** How many stack entries the operation adds; undefined for an unknown one, whose next step cannot be read. */
  readonly gives: number | undefined;
  readonly area: { readonly offset: number; readonly size: number } | null;
  readonly store: { readonly key: string; readonly val: string } | null;
  readonly entry: Entry | undefined;
  /** The bytes that a RETURN in the frame of a create returns; "0x" for any other operation. */
  readonly returned: string;
  /** How the operation ended if it is the last one of its frame. */
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
  // No transaction has the gas for an operation whose offset or size is too large for a number.
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
    // Only its depth can forbid a call without value. A forbidden call with value returns more: its stipend, too.
    isEnteredWhenSpent: step.depth <= MAX_DEPTH || stackItem(step, 0) !== "0x0",
  };
}

const MAX_DEPTH = 1024;

/** A part of the memory. @param at The stack entry that has its offset; the next entry has its size. */
function slice(step: Step, at: number): string {
  const offset = stackCount(step, at) ?? 0;
  const size = stackCount(step, at + 1) ?? 0;
  // Before the limits of EIP-170 and EIP-3860, no block had the gas for more.
  return size > MAX_SLICE ? "0x" : (memorySlice(step.memory, offset, size) ?? "0x");
}

const MAX_SLICE = 2 ** 22;

/**
 * How the last operation of a frame ended. Most nodes do not tell it: geth writes an error only for an operation that it
 * refuses to begin. OpenEthereum never writes "unbegun" operations: those that it does not know, and those for which the
 * stack is too short or too full.
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
  // OpenEthereum writes the jump before it checks the destination.
  if (isJump(operation)) return error === "" || /jump/i.test(error) ? "done" : "failed";
  if (operation.name === "REVERT") return error === "" || /revert/i.test(error) ? "done" : "failed";
  if (error !== "") return "failed";
  if (operation.name === "SELFDESTRUCT") return frame.isStatic ? "failed" : "done";
  if (isHalt(operation)) return "done";
  // No other operation is free: the node knows its name, but the fork that adds it is later than this block.
  return cost === 0 ? "unbegun" : "failed";
}

/** The words of geth, revm, Nethermind and Besu for operations that did not begin. */
const UNBEGUN =
  /stack ?(under|over)flow|stack limit|insufficient.?stack|too.?many.?stack|invalid.?op|opcode.?not.?found|not.?activated|undefined.?instruction|bad.?instruction|gas uint64 overflow/i;

const STACK_LIMIT = 1024;

const isStackWrong = ({ stack }: Step, { takes, gives }: Operation): boolean =>
  stack.length < takes || stack.length - takes + gives > STACK_LIMIT;

const DELEGATION = /^0xef0100[0-9a-f]{40}$/i; // EIP-7702

/**
 * Tells which code runs at an address: the code from before the transaction, the code that the transaction created there
 * since, or the code of another account that the account delegates to.
 */
export class AccountCodes {
  readonly #codeBefore: (address: string) => string | undefined;
  readonly #created = new Map<string, string>();

  constructor(codeBefore: (address: string) => string | undefined) {
    this.#codeBefore = codeBefore;
  }

  /** The code; undefined when it is not known. */
  codeAt(address: string): string | undefined {
    const code = this.#codeOf(address);
    return code && DELEGATION.test(code) ? this.#codeOf(`0x${code.slice(8)}`) : code;
  }

  /** Notes new code. A creation that is reverted later does no harm: no code runs there. @param address A QUANTITY. */
  deploy(address: string, code: string): void {
    this.#created.set(`0x${address.slice(2).padStart(40, "0")}`, code);
  }

  #codeOf(address: string): string | undefined {
    return this.#created.get(address) ?? this.#codeBefore(address);
  }
}

/** The parts of an operation that are known only when it has ended. */
export type Executed = {
  /** The frame that the operation began, if that frame has no steps. */
  readonly sub: { readonly code: string; readonly ops: readonly [] } | null;
  /** The cost of a call or create includes the gas that it passes on, without the stipend. */
  readonly cost: number;
  /** null when the operation failed. */
  readonly ex: {
    readonly mem: { readonly data: string; readonly off: number } | null;
    readonly push: readonly string[];
    readonly store: { readonly key: string; readonly val: string } | null;
    /** The gas that is left, in spite of the name. */
    readonly used: number;
  } | null;
};

/** A frame with steps. */
export type SubFrame = {
  /** The gas at its first step. */
  readonly gas: number;
  readonly ending: PendingOperation["endsAs"];
  /** The code of the new contract, for the frame of a create. */
  readonly returned: string;
};

type Surroundings = {
  /** The next step of the same frame; left out when there is none. */
  readonly next?: Step;
  /** The frame that the operation began, if that frame has steps. */
  readonly sub: SubFrame | undefined;
  readonly codes: AccountCodes;
};

/** The executed operation; undefined when the next step does not show its effects, or contradicts them. */
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

/** The bytes that the operation wrote into the memory; undefined when the node does not tell them. */
function writtenBy(
  { area }: PendingOperation,
  { memory }: Step,
): { data: string; off: number } | null | undefined {
  if (!area) return null;
  const { offset, size } = area;
  const isTold = memorySize(memory) >= offset + size;
  const data = isTold ? memorySlice(memory, offset, size) : undefined;
  return data === undefined ? undefined : { data, off: offset };
}

/**
 * The trace of a frame without steps. OpenEthereum begins one also for accounts without code and precompiled contracts,
 * but not when depth or balance forbid the call: such a call returns all gas that it passed on.
 */
function withoutSteps(
  { entry, gas, cost }: PendingOperation,
  { next, isSuccess, codes }: { next: Step; isSuccess: boolean; codes: AccountCodes },
): Executed["sub"] {
  if (!entry) return null;
  // The cost of a call includes the gas that it passes on; the cost of a create, as geth counts it, does not.
  const isEntered = entry.kind === "call" ? entry.isEnteredWhenSpent : isCountedIn({ gas, cost });
  const isAllSpent = next.gas === gas - cost && isEntered;
  const isSpent = next.gas < gas - cost || isAllSpent;
  if (!isSuccess && !isSpent) return null;
  if (entry.kind === "create") return { code: entry.init, ops: [] };
  return { code: isSuccess ? "0x" : (codes.codeAt(entry.address) ?? "0x"), ops: [] };
}

/** In OpenEthereum and anvil the cost of a create includes the gas that it passes on, in geth it does not. */
function costOf(
  { entry, gas, cost }: PendingOperation,
  { next, sub }: { next?: Step; sub: SubFrame | undefined },
): number {
  if (entry?.kind !== "create") return cost;
  if (sub) return gas - cost < sub.gas ? cost : cost + sub.gas;
  // A create at an address that is taken does not begin either, and keeps the gas that it passed on.
  if (next?.gas === gas - cost && isCountedIn({ gas, cost })) return cost;
  // A create that did not begin returned all gas but its own cost.
  const own = next ? Math.min(cost, gas - next.gas) : cost;
  return own + allButOne64th(gas - own);
}

/**
 * Whether the cost of a create includes the gas that it passes on (anvil). Then the gas left is a 64th of the gas after
 * the create's own cost, which is at least 32,000 gas.
 */
const isCountedIn = ({ gas, cost }: Pick<PendingOperation, "gas" | "cost">): boolean =>
  gas - 64 * (gas - cost) >= CREATION;

const CREATION = 32_000;

/** EIP-150. Before it, all gas was passed on. */
const allButOne64th = (gas: number): number => gas - Math.floor(gas / 64);
