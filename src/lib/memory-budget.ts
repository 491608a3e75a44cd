// The bytes that wait in this process, counted by what they wait for. While they are many, less is begun:
// large work is refused first, so that what is cheap to keep is kept to the end.

/**
 * `bodies` of requests; `arriving`: answers of nodes as they come; `building`: answers that are put
 * together, or wait for their turn in a batch; `unsent`: answers that their callers have not taken.
 */
export const memoryKinds = ["bodies", "arriving", "building", "unsent"] as const;
export type MemoryKind = (typeof memoryKinds)[number];

/** What was turned away: requests before their bodies were read, calls and batches, and answers on their way from nodes. */
export type MemoryRefusal = "requests" | "calls" | "batches" | "answers";

export type MemoryBudgetParts = {
  /** Called for each refusal. */
  readonly onRefused: (what: MemoryRefusal) => void;
};

/** The share of the budget above which a call of so many compute units is not begun. */
const SHARES: readonly { readonly below: number; readonly share: number }[] = [
  { below: 4, share: 1 }, // computed here, or one small thing of the store
  { below: 10, share: 1 / 2 },
  { below: Number.POSITIVE_INFINITY, share: 3 / 16 }, // logs, receipts of blocks, traces
];
const shareOf = (computeUnits: number): number =>
  SHARES.find(({ below }) => computeUnits < below)?.share ?? 0;

/** Who asks for many things at once can ask for them one by one. */
const IN_BATCH = 1 / 3;
/** Above it answers of nodes that turn out to be large are not read on: more waits then than was to be begun. */
const LARGE_ANSWER = 3 / 32;
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

  /** Whether a call may be begun that stands alone. Counts the refusal. */
  admitsCall(computeUnits: number): boolean {
    return this.isCalm || this.#admits(shareOf(computeUnits), "calls");
  }

  /**
   * Whether a batch may be begun. Counts the refusal. The calls of one that was begun wait for their turn.
   *
   * @param computeUnits Of its dearest call: asked for only where it matters.
   */
  admitsBatch(computeUnits: () => number): boolean {
    return this.isCalm || this.#admits(shareOf(computeUnits()) * IN_BATCH, "batches");
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
