// The token bucket: it holds a number of tokens at most, and some come back each second. A rate is a bucket; a quota is a
// bucket to which nothing comes back. `TokenBucket` belongs to one process. Processes share an entry of the state,
// `Taken`, from which the pure functions below take.

export type Bounds = {
  /** The most that can be taken at once: the burst of a rate, the whole of a quota. */
  readonly size: number;
  /** The tokens that come back each second; 0 for a quota. */
  readonly perSecond: number;
};

/** How far a sum of fractions may be off, in tokens. */
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

  /** Sets other bounds. The tokens and the debt stay; tokens that a smaller bucket cannot hold are lost. */
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

  /** The milliseconds until `has` is true, rounded up; Infinity when it never will be. */
  waitMs(tokens: number, nowMs: number): number {
    const missing = this.#priceOf(tokens) - this.left(nowMs) - ROUNDING;
    return missing <= 0 ? 0 : Math.ceil((missing / this.#bounds.perSecond) * 1000);
  }

  /** Takes the tokens if the bucket has them. @returns Whether it had. */
  take(tokens: number, nowMs: number): boolean {
    const isThere = this.has(tokens, nowMs);
    if (isThere) this.spend(this.#priceOf(tokens), nowMs);
    return isThere;
  }

  /** Takes the tokens even if the bucket does not have them. @param most The largest debt afterwards, in tokens. */
  spend(tokens: number, nowMs: number, most = Number.POSITIVE_INFINITY): void {
    const left = this.left(nowMs);
    this.#tokens = Math.max(left - tokens, Math.min(left, -most));
    this.#atMs = nowMs;
  }

  /** A price above the size of a rate takes the full bucket; otherwise it could never be paid. */
  #priceOf(tokens: number): number {
    const { size, perSecond } = this.#bounds;
    return perSecond > 0 ? Math.min(tokens, size) : tokens;
  }
}

/** How much of a limit is taken, as an entry of the state. */
export type Taken = { readonly units: number; readonly atMs: number };

/** What one process wants of a limit, in the limit's units. */
export type TakeRequest = {
  readonly bounds: Bounds;
  /** What the process took earlier and did not spend. */
  readonly returned: number;
  /** What the process spent without asking, while the state could not be reached. */
  readonly owed: number;
  /** A smaller grant is useless; 0 for a process that asks ahead of demand. */
  readonly least: number;
  readonly wanted: number;
  /** The part of what is left that this process may get, 0 to 1; the rest is for others. */
  readonly share: number;
};

export const NOTHING_TAKEN: Taken = { units: 0, atMs: 0 };

/** In milliseconds. A clock that was set back by less keeps the entry's time; by more, counting begins at the new time. */
export const SET_BACK_MS = 1000;

/** How much is still taken at a later time; at an earlier time as much as the entry says. */
export function takenAt(taken: Taken, { size, perSecond }: Bounds, atMs: number): number {
  if (perSecond === 0) return taken.units;
  const back = (Math.max(0, atMs - taken.atMs) / 1000) * perSecond;
  // After the burst was made smaller, the bucket is empty at worst, not in debt.
  return Math.min(size, Math.max(0, taken.units - back));
}

/**
 * Takes back what is returned, books what is owed, and grants what is left. A debt that exceeds the burst of a rate is
 * forgiven; that of a quota is not.
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

/** How much of what is left one process is granted at once. */
export function grantOf(
  left: number,
  { least, wanted, share }: Pick<TakeRequest, "least" | "wanted" | "share">,
): number {
  if (left <= 0 || left < least) return 0;
  return Math.max(least, Math.min(wanted, Math.floor(left * share)));
}

export const textOfTaken = ({ units, atMs }: Taken): string => `${units} ${atMs}`;

/** An entry that cannot be read counts as nothing taken. */
export function readTaken(text: string | undefined): Taken {
  const [units = Number.NaN, atMs = Number.NaN] = (text ?? "").split(" ", 2).map(Number);
  return Number.isFinite(units) && Number.isFinite(atMs) ? { units, atMs } : NOTHING_TAKEN;
}
