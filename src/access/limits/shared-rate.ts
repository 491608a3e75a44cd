// A rate that several processes share.

import type { RateLimit } from "../../jsonrpc/rpc-error.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Bounds, TokenBucket } from "../../lib/token-bucket.ts";
import type { Allowance, AllowanceState } from "./allowance.ts";
import { Reservation, type ReservationParts } from "./reservation.ts";

/** What is held goes back when the key was quiet for so long. */
const IDLE_MS = 2000;

export class SharedRate implements Allowance {
  #bounds: RateBounds;
  readonly #reservation: Reservation;
  readonly #clock: ReservationParts["clock"];

  constructor(options: { name: string; bounds: RateBounds }, parts: ReservationParts) {
    const { name, bounds } = options;
    this.#bounds = bounds;
    this.#reservation = new Reservation({ key: `limits ${name} rate`, bounds }, parts);
    this.#clock = parts.clock;
  }

  resize(bounds: RateBounds): void {
    this.#bounds = bounds;
    this.#reservation.resize(bounds);
  }

  lacks(units: number): boolean {
    return this.#reservation.lacks(Math.min(units, this.#bounds.size));
  }

  take(units: number, nowMs: number): void {
    this.#reservation.take(Math.min(units, this.#bounds.size), nowMs);
  }

  shortage(units: number, nowMs: number): RateLimit | "coming" | undefined {
    const found = this.#reservation.find(Math.min(units, this.#bounds.size), nowMs);
    if (found === "none") return this.told(nowMs, units);
    return found === "coming" ? found : undefined;
  }

  told(nowMs: number, units: number): RateLimit {
    return rateShort(this.#bounds, units, this.#reservation.left(nowMs));
  }

  get coming(): Promise<void> {
    return this.#reservation.coming;
  }

  tend(nowMs: number): void {
    this.#reservation.tend(nowMs, IDLE_MS);
  }

  close(): Promise<void> {
    return this.#reservation.close();
  }

  get state(): AllowanceState {
    const left = this.#reservation.left(this.#clock.now());
    return { limit: this.#bounds.perSecond, remaining: Math.floor(left) };
  }
}

// What a 429 tells of a rate.

/** `size` is the burst. */
export type RateBounds = Bounds;

function rateShort({ size, perSecond }: RateBounds, units: number, left: number): RateLimit {
  const missing = Math.min(units, size) - left;
  return {
    limit: perSecond,
    remaining: Math.max(0, Math.floor(left)),
    retryAfter: Math.max(1, Math.ceil(missing / perSecond)),
    rule: "rate",
  };
}

// A rate that one process has for itself.

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
