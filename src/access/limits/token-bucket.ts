// A rate that one process has for itself.
import type { RateLimit } from "../../jsonrpc/rpc-error.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Allowance, AllowanceState } from "./allowance.ts";
import { type RateBounds, rateShort } from "./rate-short.ts";

export class TokenBucket implements Allowance {
  /** Compute units, at most the burst. Below zero never. */
  #tokens: number;
  #filledAtMs: number;
  #bounds: RateBounds;
  readonly #clock: Pick<Clock, "now">;

  constructor(bounds: RateBounds, parts: { clock: Pick<Clock, "now"> }) {
    this.#bounds = bounds;
    this.#tokens = bounds.size;
    this.#filledAtMs = parts.clock.now();
    this.#clock = parts.clock;
  }

  resize(bounds: RateBounds): void {
    this.#fill(this.#clock.now());
    this.#bounds = bounds;
    this.#tokens = Math.min(this.#tokens, bounds.size);
  }

  /** A call dearer than the whole burst takes all of a full bucket: it would never pass otherwise. */
  lacks(units: number, nowMs: number): boolean {
    this.#fill(nowMs);
    return Math.min(units, this.#bounds.size) > this.#tokens;
  }

  take(units: number): void {
    this.#tokens -= Math.min(units, this.#bounds.size);
  }

  shortage(units: number, nowMs: number): RateLimit {
    return this.told(nowMs, units);
  }

  told(_nowMs: number, units: number): RateLimit {
    return rateShort(this.#bounds, units, this.#tokens);
  }

  get coming(): Promise<void> {
    return Promise.resolve();
  }

  tend(): void {
    // Nothing is reserved.
  }

  async close(): Promise<void> {
    // Nothing is reserved.
  }

  get state(): AllowanceState {
    this.#fill(this.#clock.now());
    return { limit: this.#bounds.perSecond, remaining: Math.floor(this.#tokens) };
  }

  #fill(nowMs: number): void {
    const { size, perSecond } = this.#bounds;
    const passedMs = Math.max(0, nowMs - this.#filledAtMs);
    this.#tokens = Math.min(size, this.#tokens + (passedMs / 1000) * perSecond);
    this.#filledAtMs = nowMs;
  }
}
