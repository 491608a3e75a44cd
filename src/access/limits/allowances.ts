// The limits of one key as the meter sees them: all of them must have enough for a call. A rate is one process's own or
// shared; a quota counts a day or a month.
import type { RateLimit } from "../../jsonrpc/rpc-error.ts";
import { type CalendarPeriod, type PeriodKind, periodAt } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Bounds, TokenBucket } from "../../lib/token-bucket.ts";
import { Reservation, type ReservationParts } from "./reservation.ts";

export type Allowance = {
  /** Whether there is not enough for the call, so that it has to wait or is refused. */
  lacks(computeUnits: number, nowMs: number): boolean;
  /** To be called only when it does not lack the units. */
  take(computeUnits: number, nowMs: number): void;
  /** For a call that lacks units: "coming" when a reservation is being made that may bring enough. */
  find(computeUnits: number, nowMs: number): Found;
  /** What a response with status 429 tells. */
  shortage(computeUnits: number, nowMs: number): RateLimit;
  /** Resolves when the reservation that is being made has ended, or takes too long. */
  readonly coming: Promise<void>;
  /** To be called once a second: gives back what nobody uses, and looks whether the state is there again. */
  tend(nowMs: number): void;
  /** Gives everything back. Never rejects. */
  close(): Promise<void>;
  readonly state: AllowanceState;
};

type Found = "enough" | "coming" | "none";

type AllowanceState = {
  readonly limit: number;
  readonly remaining: number;
  /** For a quota: when it begins anew, in milliseconds since 1970. */
  readonly endsAtMs?: number;
};

/** A rate that one process has for itself. */
export class OwnRate implements Allowance {
  readonly #bucket: TokenBucket;
  readonly #clock: Pick<Clock, "now">;
  readonly coming = Promise.resolve();

  constructor(bounds: Bounds, parts: { clock: Pick<Clock, "now"> }) {
    this.#bucket = new TokenBucket(bounds, parts.clock.now());
    this.#clock = parts.clock;
  }

  resize(bounds: Bounds): void {
    this.#bucket.resize(bounds, this.#clock.now());
  }

  lacks(units: number, nowMs: number): boolean {
    return !this.#bucket.has(units, nowMs);
  }

  take(units: number, nowMs: number): void {
    this.#bucket.take(units, nowMs);
  }

  find(): Found {
    return "none";
  }

  shortage(units: number, nowMs: number): RateLimit {
    return rateShort(this.#bucket.bounds, units, this.#bucket.left(nowMs));
  }

  tend(): void {
    // Does nothing, since nothing is reserved.
  }

  close(): Promise<void> {
    return this.coming;
  }

  get state(): AllowanceState {
    const left = this.#bucket.left(this.#clock.now());
    return { limit: this.#bucket.bounds.perSecond, remaining: Math.floor(left) };
  }
}

const rateShort = ({ size, perSecond }: Bounds, units: number, left: number): RateLimit => ({
  limit: perSecond,
  remaining: Math.max(0, Math.floor(left)),
  retryAfter: Math.max(1, Math.ceil((Math.min(units, size) - left) / perSecond)),
  rule: "rate",
});

/** What is held goes back after this time without a call: near the end of a quota others need it. */
const IDLE_MS = { rate: 2000, day: 5000, month: 5000 };

type SharedLimitOptions = {
  readonly name: string;
  readonly kind: "rate" | PeriodKind;
  readonly bounds: Bounds;
};

/** A limit that several processes share: a rate, or a quota, which begins anew with each UTC day or month. */
export class SharedLimit implements Allowance {
  #bounds: Bounds;
  /** For a quota. */
  #period: CalendarPeriod | undefined;
  /** By the clock that never goes backwards, so that calls need not ask for the wall time. */
  #endsAtMs = Number.POSITIVE_INFINITY;
  #reservation: Reservation;
  readonly #options: SharedLimitOptions;
  readonly #parts: ReservationParts;

  constructor(options: SharedLimitOptions, parts: ReservationParts) {
    this.#options = options;
    this.#parts = parts;
    this.#bounds = options.bounds;
    this.#lookAtTheTime();
    this.#reservation = this.#newReservation();
  }

  resize(bounds: Bounds): void {
    this.#bounds = bounds;
    this.#reservation.resize(bounds);
  }

  lacks(units: number, nowMs: number): boolean {
    return nowMs >= this.#endsAtMs || this.#reservation.lacks(this.#priceOf(units));
  }

  take(units: number, nowMs: number): void {
    this.#reservation.take(this.#priceOf(units), nowMs);
  }

  find(units: number, nowMs: number): Found {
    if (nowMs >= this.#endsAtMs) {
      this.#beginAnew();
      if (!this.lacks(units, nowMs)) return "enough";
    }
    return this.#reservation.find(this.#priceOf(units), nowMs);
  }

  shortage(units: number, nowMs: number): RateLimit {
    const { kind } = this.#options;
    const left = this.#reservation.left(nowMs);
    if (kind === "rate") return rateShort(this.#bounds, units, left);
    const retryAfter = Math.max(1, Math.ceil((this.#endsAtMs - nowMs) / 1000));
    const { size: limit } = this.#bounds;
    return { limit, remaining: Math.max(0, Math.floor(left)), retryAfter, rule: kind };
  }

  get coming(): Promise<void> {
    return this.#reservation.coming;
  }

  /** Looks at the wall time again: it may have been set meanwhile. */
  tend(nowMs: number): void {
    this.#beginAnew();
    this.#reservation.tend(nowMs, IDLE_MS[this.#options.kind]);
  }

  close(): Promise<void> {
    return this.#reservation.close();
  }

  get state(): AllowanceState {
    const { size, perSecond } = this.#bounds;
    const left = this.#reservation.left(this.#parts.clock.now());
    const endsAtMs = this.#period?.endsAtMs;
    return {
      limit: perSecond || size,
      remaining: Math.max(0, Math.floor(left)),
      ...(endsAtMs !== undefined && { endsAtMs }),
    };
  }

  /** A call that costs more than the burst of a rate takes the whole burst; see `TokenBucket`. */
  #priceOf(units: number): number {
    const { size, perSecond } = this.#bounds;
    return perSecond > 0 ? Math.min(units, size) : units;
  }

  /** Begins with the period that is running. */
  #beginAnew(): void {
    const before = this.#period?.label;
    this.#lookAtTheTime();
    if (this.#period?.label === before) return;
    void this.#reservation.close(); // never rejects
    this.#reservation = this.#newReservation();
  }

  #lookAtTheTime(): void {
    const { kind } = this.#options;
    if (kind === "rate") return;
    const { clock } = this.#parts;
    const wallMs = clock.wallTime();
    this.#period = periodAt(kind, wallMs);
    this.#endsAtMs = clock.now() + (this.#period.endsAtMs - wallMs);
  }

  #newReservation(): Reservation {
    const key = `limits ${this.#options.name} ${this.#period?.label ?? "rate"}`;
    return new Reservation({ key, bounds: this.#bounds }, this.#parts);
  }
}
