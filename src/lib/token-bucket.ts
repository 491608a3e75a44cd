// The token bucket: it holds so many tokens at most, and so many come back each second. Rates are buckets; a
// quota is one that nothing comes back to. `TokenBucket` is one process's own; what processes share is one
// entry of the state, `Taken`, which pure functions take from.

export type Bounds = {
  /** What can be taken of the untouched limit: the burst of a rate, the whole of a quota. */
  readonly size: number;
  /** What comes back each second; 0 for a quota. */
  readonly perSecond: number;
};

/** What sums of fractions may be off by, in tokens. */
const ROUNDING = 1e-6;

export class TokenBucket {
  /** At `#atMs`. Below zero: a debt. */
  #tokens: number;
  #atMs: number;
  #bounds: Bounds;

  /** @param tokens Left out: the bucket is full. */
  constructor(bounds: Bounds, nowMs: number, tokens = bounds.size) {
    this.#bounds = bounds;
    this.#tokens = tokens;
    this.#atMs = nowMs;
  }

  get bounds(): Bounds {
    return this.#bounds;
  }

  /** What is there, and what is owed, stays; what the smaller bucket does not hold is lost. */
  resize(bounds: Bounds, nowMs: number): void {
    this.#tokens = Math.min(bounds.size, this.left(nowMs));
    this.#atMs = nowMs;
    this.#bounds = bounds;
  }

  left(nowMs: number): number {
    const { size, perSecond } = this.#bounds;
    const passedMs = Math.max(0, nowMs - this.#atMs);
    return Math.min(size, this.#tokens + (passedMs / 1000) * perSecond);
  }

  has(tokens: number, nowMs: number): boolean {
    return this.#priceOf(tokens) <= this.left(nowMs) + ROUNDING;
  }

  /** How long until `has` is true, in whole milliseconds; Infinity when it will never be. */
  waitMs(tokens: number, nowMs: number): number {
    const missing = this.#priceOf(tokens) - this.left(nowMs) - ROUNDING;
    return missing <= 0 ? 0 : Math.ceil((missing / this.#bounds.perSecond) * 1000);
  }

  /** Takes them when it has them. @returns Whether it had. */
  take(tokens: number, nowMs: number): boolean {
    const isThere = this.has(tokens, nowMs);
    if (isThere) this.spend(this.#priceOf(tokens), nowMs);
    return isThere;
  }

  /** Takes them, whether it has them or not. @param most What is owed afterwards at most, in tokens. */
  spend(tokens: number, nowMs: number, most = Number.POSITIVE_INFINITY): void {
    const left = this.left(nowMs);
    this.#tokens = Math.max(left - tokens, Math.min(left, -most));
    this.#atMs = nowMs;
  }

  /** What is dearer than a full bucket of a rate takes all of it: it would never pass otherwise. */
  #priceOf(tokens: number): number {
    const { size, perSecond } = this.#bounds;
    return perSecond > 0 ? Math.min(tokens, size) : tokens;
  }
}

/** How much of a limit is taken, as one entry of the state has it. */
export type Taken = { readonly units: number; readonly atMs: number };

/** What one process asks of a limit in one step, in the limit's units. */
export type TakeRequest = {
  readonly bounds: Bounds;
  /** What it took earlier and did not spend. */
  readonly returned: number;
  /** What it spent without asking, while the state was away. */
  readonly owed: number;
  /** Below this a grant would be of no use; 0 for one that asks ahead. */
  readonly least: number;
  readonly wanted: number;
  /** So much of what is left it may get, 0 to 1, so that others find something too. */
  readonly share: number;
};

export const NOTHING_TAKEN: Taken = { units: 0, atMs: 0 };

/** A clock that was set back by less goes on from where it was; by more, it counts anew from there. */
export const SET_BACK_MS = 1000;

/** What is still taken later. A time before that of the entry is taken for that of the entry. */
export function takenAt(taken: Taken, { size, perSecond }: Bounds, atMs: number): number {
  if (perSecond === 0) return taken.units;
  const back = (Math.max(0, atMs - taken.atMs) / 1000) * perSecond;
  // A burst that was made smaller meanwhile is empty at worst, not in debt.
  return Math.min(size, Math.max(0, taken.units - back));
}

/**
 * Gives back what is returned, books what is owed, and grants what it may. A rate forgives what is owed
 * and would not fit into its burst; a quota does not.
 */
export function takeFrom(
  before: Taken,
  request: TakeRequest,
  nowMs: number,
): { readonly taken: Taken; readonly granted: number } {
  const { bounds, returned, owed } = request;
  const aheadMs = before.atMs - nowMs;
  const atMs = aheadMs > 0 && aheadMs < SET_BACK_MS ? before.atMs : nowMs;
  const units = Math.max(0, takenAt(before, bounds, atMs) - returned);
  const left = bounds.size - units;
  const booked = bounds.perSecond > 0 ? Math.min(owed, Math.max(0, left)) : owed;
  const granted = grantOf(left - booked, request);
  return { taken: { units: units + booked + granted, atMs }, granted };
}

/** What one process is given at once when so much is left. */
export function grantOf(
  left: number,
  { least, wanted, share }: Pick<TakeRequest, "least" | "wanted" | "share">,
): number {
  if (left <= 0 || left < least) return 0;
  return Math.max(least, Math.min(wanted, Math.floor(left * share)));
}

export const textOfTaken = ({ units, atMs }: Taken): string => `${units} ${atMs}`;

/** An entry that nobody can read counts as none. */
export function readTaken(text: string | undefined): Taken {
  const [units = Number.NaN, atMs = Number.NaN] = (text ?? "").split(" ", 2).map(Number);
  return Number.isFinite(units) && Number.isFinite(atMs) ? { units, atMs } : NOTHING_TAKEN;
}
