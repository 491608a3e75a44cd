// Spaces calls: so many a second, and some at once. The rate may change while it runs.
import { type Bounds, TokenBucket } from "../../lib/token-bucket.ts";

export class CallBucket {
  /** In debt after a call dearer than the burst, or one that did not wait. */
  readonly #bucket: TokenBucket;
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
    this.#bucket = new TokenBucket(this.#bounds, nowMs);
  }

  /** A change of the rate. What is there, and what is owed, stays; it is empty after no limit. */
  limitTo(perSecond: number | undefined, nowMs: number): void {
    this.#perSecond = perSecond;
    this.#bucket.resize(this.#bounds, nowMs);
  }

  /**
   * How long until a call of this cost may go, in whole milliseconds. One that is dearer than the
   * whole burst waits for a full bucket: it would never go otherwise.
   */
  waitMs(cost: number, nowMs: number): number {
    if (this.#perSecond === undefined) return 0;
    const dearest = Math.max(this.#dearest, Math.min(cost, this.#fullBurst));
    if (dearest !== this.#dearest) {
      this.#dearest = dearest;
      this.#bucket.resize(this.#bounds, nowMs);
    }
    return this.#bucket.waitMs(cost, nowMs);
  }

  take(cost: number, nowMs: number): void {
    if (this.#perSecond === undefined) return;
    // Calls that did not wait leave a debt of a second at most: it would never be paid while they go on.
    this.#bucket.spend(cost, nowMs, Math.max(cost, this.#perSecond));
  }

  /** Less when the rate was lowered, but calls that fitted into it still do, and make no debts. */
  get #bounds(): Bounds {
    const perSecond = this.#perSecond ?? 0;
    return { size: Math.max(perSecond * this.#burstSeconds, this.#dearest), perSecond };
  }
}
