// One entry of a `vmTrace`'s `ops`, as OpenEthereum writes it once the operation is over.
import type { CodeBook } from "./code-book.ts";
import { memoryWritten, type PendingOperation } from "./pending-operation.ts";
import { type Step, stackItem } from "./struct-logs.ts";

/** What is known of an operation only once it is over. */
export type Executed = {
  /** Of what it entered, where there are no steps to tell of. */
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

/** undefined when the next step does not tell what it did, or contradicts it. */
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
