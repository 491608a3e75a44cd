// A rate that one process has for itself.
import type { RateLimit } from "../../jsonrpc/rpc-error.ts";
import type { Clock } from "../../lib/clock.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { Allowance, AllowanceState } from "./allowance.ts";
import { type RateBounds, rateShort } from "./rate-short.ts";

export class OwnRate implements Allowance {
  readonly #bucket: TokenBucket;
  readonly #clock: Pick<Clock, "now">;

  constructor(bounds: RateBounds, parts: { clock: Pick<Clock, "now"> }) {
    this.#bucket = new TokenBucket(bounds, parts.clock.now());
    this.#clock = parts.clock;
  }

  resize(bounds: RateBounds): void {
    this.#bucket.resize(bounds, this.#clock.now());
  }

  lacks(units: number, nowMs: number): boolean {
    return !this.#bucket.has(units, nowMs);
  }

  take(units: number, nowMs: number): void {
    this.#bucket.take(units, nowMs);
  }

  shortage(units: number, nowMs: number): RateLimit {
    return this.told(nowMs, units);
  }

  told(nowMs: number, units: number): RateLimit {
    return rateShort(this.#bucket.bounds, units, this.#bucket.left(nowMs));
  }

  get coming(): Promise<void> {
    return Promise.resolve();
  }

  tend(): void {
    // Nothing is leased.
  }

  async close(): Promise<void> {
    // Nothing is leased.
  }

  get state(): AllowanceState {
    const left = this.#bucket.left(this.#clock.now());
    return { limit: this.#bucket.bounds.perSecond, remaining: Math.floor(left) };
  }
}
