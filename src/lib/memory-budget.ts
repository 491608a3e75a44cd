// The bytes that wait in this process, counted by what they wait for. While they are many, less is begun:
// large work is refused first, so that what is cheap to keep is kept to the end.

/**
 * `bodies` of requests; `arriving`: answers of nodes as they come; `building`: answers that are put
 * together, or wait for their turn in a batch; `unsent`: answers that their callers have not taken.
 */
export const memoryKinds = ["bodies", "arriving", "building", "unsent"] as const;
export type MemoryKind = (typeof memoryKinds)[number];

/** What was turned away: requests before their bodies were read, calls, and answers on their way from nodes. */
export type MemoryRefusal = "requests" | "calls" | "answers";

export type MemoryBudgetParts = {
  /** Called for each refusal. */
  readonly onRefused: (what: MemoryRefusal) => void;
};

/** The share of the budget above which a call of so many compute units is not begun. */
const SHARES: readonly { readonly below: number; readonly share: number }[] = [
  { below: 4, share: 1 }, // computed here, or one small thing of the store
  { below: 10, share: 1 / 2 },
  { below: Number.POSITIVE_INFINITY, share: 1 / 4 }, // logs, receipts of blocks, traces
];
/** Who asks for many things at once can ask for them one by one. */
const IN_BATCH = 1 / 2;
/** Above it answers of nodes that turn out to be large are not read on. */
const LARGE_ANSWER = 1 / 8;
/** Above it a batch has one call under way. */
const UNHURRIED = 1 / 16;

export class MemoryBudget {
  #bytes: number;
  #waiting = 0;
  readonly #byKind: Record<MemoryKind, number> = { bodies: 0, arriving: 0, building: 0, unsent: 0 };
  readonly #onRefused: (what: MemoryRefusal) => void;

  /** @param options.bytes What may wait in all. */
  constructor({ bytes }: { readonly bytes: number }, parts: MemoryBudgetParts) {
    this.#bytes = bytes;
    this.#onRefused = parts.onRefused;
  }

  resize({ bytes }: { readonly bytes: number }): void {
    this.#bytes = bytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get waiting(): number {
    return this.#waiting;
  }

  waitingAs(kind: MemoryKind): number {
    return this.#byKind[kind];
  }

  hold(kind: MemoryKind, bytes: number): void {
    this.#waiting += bytes;
    this.#byKind[kind] += bytes;
  }

  release(kind: MemoryKind, bytes: number): void {
    this.#waiting -= bytes;
    this.#byKind[kind] -= bytes;
  }

  /** Whether anything may be begun. Counts the refusal. */
  admitsRequest(): boolean {
    return this.#admits(1, "requests");
  }

  /** Whether a call may be begun. Counts the refusal. */
  admitsCall(computeUnits: number, isInBatch: boolean): boolean {
    if (this.isCalm) return true;
    const share = SHARES.find(({ below }) => computeUnits < below)?.share ?? 0;
    return this.#admits(isInBatch ? share * IN_BATCH : share, "calls");
  }

  /** Whether a large answer of a node is read on. Counts the refusal. */
  admitsLargeAnswer(): boolean {
    return this.#admits(LARGE_ANSWER, "answers");
  }

  /** Nobody need be careful. */
  get isCalm(): boolean {
    return this.#waiting <= this.#bytes * UNHURRIED;
  }

  #admits(share: number, what: MemoryRefusal): boolean {
    if (this.#waiting <= this.#bytes * share) return true;
    this.#onRefused(what);
    return false;
  }
}

const MOST = 2 ** 30;
const OF_THE_MACHINE = 1 / 4;

/**
 * What may wait where nothing is configured, in bytes.
 *
 * @param memory.constrained What the process may use of the machine's memory; 0 or absurdly large: all.
 */
export function defaultBudget(memory: {
  readonly total: number;
  readonly constrained: number;
}): number {
  const { total, constrained } = memory;
  const usable = constrained > 0 ? Math.min(total, constrained) : total;
  return Math.min(MOST, Math.floor(usable * OF_THE_MACHINE));
}
