// Token buckets. A rate is a bucket that refills each second; a quota is a bucket that does not refill. A `TokenBucket`
// belongs to one process. Processes share an entry of the state, `Taken`, from which the pure functions below take.

export type Bounds = {
  /** The most tokens that the bucket holds: the burst of a rate, the whole of a quota. */
  readonly size: number;
  /** The tokens that the bucket regains each second; 0 for a quota. */
  readonly perSecond: number;
};

/** The largest rounding error of a sum of fractions, in tokens. */
const ROUNDING = 1e-6;

export class TokenBucket {
  /** The tokens at `#atMs`; a negative number is a debt. */
  #tokens: number;
  #atMs: number;
  #bounds: Bounds;

  /** @param tokens The tokens at the beginning; by default the bucket is full. */
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

  /** The milliseconds until `has` is true, rounded up; Infinity when `has` never will be true. */
  waitMs(tokens: number, nowMs: number): number {
    const missing = this.#priceOf(tokens) - this.left(nowMs) - ROUNDING;
    return missing <= 0 ? 0 : Math.ceil((missing / this.#bounds.perSecond) * 1000);
  }

  /** Takes the tokens if the bucket has them. @returns Whether the bucket had them. */
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

/** The units of a limit that processes have taken, as an entry of the state. */
export type Taken = { readonly units: number; readonly atMs: number };

/** A request of one process for units of a shared limit. */
export type TakeRequest = {
  readonly bounds: Bounds;
  /** The units that the process took earlier and did not spend. */
  readonly returned: number;
  /** The units that the process spent without asking, while it could not reach the state. */
  readonly owed: number;
  /** The smallest useful number of units; 0 for a process that asks ahead of demand. */
  readonly least: number;
  readonly wanted: number;
  /** The part of the remaining units that this process may get, 0 to 1; the other processes get the rest. */
  readonly share: number;
};

export const NOTHING_TAKEN: Taken = { units: 0, atMs: 0 };

/** In milliseconds. If a clock was set back by less, an entry keeps its time; if by more, it takes the clock's time. */
export const SET_BACK_MS = 1000;

/** The units that are still taken at a later time; at an earlier time all units of the entry. */
export function takenAt(taken: Taken, { size, perSecond }: Bounds, atMs: number): number {
  if (perSecond === 0) return taken.units;
  const back = (Math.max(0, atMs - taken.atMs) / 1000) * perSecond;
  // After a reload made the burst smaller, the bucket is empty at worst, not in debt.
  return Math.min(size, Math.max(0, taken.units - back));
}

/**
 * Books the returned and the owed units, and grants units of the rest. The function forgives the part of a debt that
 * exceeds the remaining units of a rate, not of a quota.
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

/** The units that one process gets at once, of the `left` ones. */
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
