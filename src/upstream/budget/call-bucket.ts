// Spaces calls: so many a second, and some at once. The rate may change while it runs.

/** What sums of fractions may be off by. */
const ROUNDING = 1e-6;

export class CallBucket {
  /** At most the burst. Below zero after a call dearer than that, or one that did not wait: a debt. */
  #tokens = 0;
  #filledAtMs: number;
  /** Undefined: as many as one likes. */
  #perSecond: number | undefined;
  /** The dearest call so far, but no dearer than the burst of the rate that it began with. */
  #dearest = 0;
  readonly #fullBurst: number;
  readonly #burstSeconds: number;

  /** @param options.burstSeconds The burst is what the rate gives in so long. */
  constructor(
    options: { readonly perSecond: number | undefined; readonly burstSeconds: number },
    nowMs: number,
  ) {
    this.#perSecond = options.perSecond;
    this.#burstSeconds = options.burstSeconds;
    this.#fullBurst = (options.perSecond ?? 0) * options.burstSeconds;
    this.#tokens = this.#fullBurst;
    this.#filledAtMs = nowMs;
  }

  /** A change of the rate. What is there, and what is owed, stays; it is empty after no limit. */
  limitTo(perSecond: number | undefined, nowMs: number): void {
    this.#fill(nowMs);
    this.#perSecond = perSecond;
  }

  /**
   * How long until a call of this cost may go, in whole milliseconds. One that is dearer than the
   * whole burst waits for a full bucket: it would never go otherwise.
   */
  waitMs(cost: number, nowMs: number): number {
    if (this.#perSecond === undefined) return 0;
    this.#dearest = Math.max(this.#dearest, Math.min(cost, this.#fullBurst));
    this.#fill(nowMs);
    const missing = Math.min(cost, this.#burst(this.#perSecond)) - this.#tokens - ROUNDING;
    return missing <= 0 ? 0 : Math.ceil((missing / this.#perSecond) * 1000);
  }

  take(cost: number, nowMs: number): void {
    if (this.#perSecond === undefined) return;
    this.#fill(nowMs);
    // Those that did not wait leave a debt of a second at most: it would never be paid while they go on.
    this.#tokens = Math.max(
      this.#tokens - cost,
      Math.min(this.#tokens, -Math.max(cost, this.#perSecond)),
    );
  }

  #fill(nowMs: number): void {
    const perSecond = this.#perSecond ?? 0;
    const gained = ((nowMs - this.#filledAtMs) / 1000) * perSecond;
    this.#tokens = Math.min(this.#burst(perSecond), this.#tokens + gained);
    this.#filledAtMs = nowMs;
  }

  /** Less when the rate was lowered, but calls that fitted into it still do, and make no debts. */
  #burst(perSecond: number): number {
    return Math.max(perSecond * this.#burstSeconds, this.#dearest);
  }
}
