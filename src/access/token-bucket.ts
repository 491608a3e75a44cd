// A rate: so many compute units a second, with a burst.
import type { RateLimit } from "../jsonrpc/rpc-error.ts";

export class TokenBucket {
  /** Compute units, at most the burst. Below zero never. */
  #tokens: number;
  #filledAtMs: number;
  readonly #options: { perSecond: number; burst: number };

  constructor(options: { perSecond: number; burst: number }, nowMs: number) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#filledAtMs = nowMs;
  }

  /**
   * Takes `cost` compute units, or nothing when there are too few. A call dearer than the whole
   * burst takes all of a full bucket: it would never pass otherwise.
   *
   * @returns undefined when taken, else what a 429 tells.
   */
  take(cost: number, nowMs: number): RateLimit | undefined {
    const { perSecond, burst } = this.#options;
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#filledAtMs) / 1000) * perSecond);
    this.#filledAtMs = nowMs;
    const price = Math.min(cost, burst);
    if (price <= this.#tokens) {
      this.#tokens -= price;
      return undefined;
    }
    return {
      limit: perSecond,
      remaining: Math.floor(this.#tokens),
      retryAfter: Math.max(1, Math.ceil((price - this.#tokens) / perSecond)),
    };
  }
}
