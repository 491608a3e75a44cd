// The limits of one key, as the meter sees them: several that must all have enough. A rate is one process's own or shared,
// a quota counts a day or a month.
import type { RateLimit } from "../../jsonrpc/rpc-error.ts";
import { type CalendarPeriod, type PeriodKind, periodAt } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Bounds, TokenBucket } from "../../lib/token-bucket.ts";
import { Reservation, type ReservationParts } from "./reservation.ts";

export type Allowance = {
  /** Whether the call has to wait or to be refused. */
  lacks(computeUnits: number, nowMs: number): boolean;
  /** Only when it does not lack them. */
  take(computeUnits: number, nowMs: number): void;
  /** For a call that it lacks: "coming" when a reservation is under way that may bring enough. */
  find(computeUnits: number, nowMs: number): Found;
  /** What a 429 says. */
  shortage(computeUnits: number, nowMs: number): RateLimit;
  /** Resolves when the reservation has ended that was under way, or takes too long. */
  readonly coming: Promise<void>;
  /** Once a second: gives back what nobody uses, looks whether the state is there again. */
  tend(nowMs: number): void;
  /** Gives everything back. Never rejects. */
  close(): Promise<void>;
  readonly state: AllowanceState;
};

type Found = "enough" | "coming" | "none";

type AllowanceState = {
  readonly limit: number;
  readonly remaining: number;
  /** Of a quota: when it begins anew, in milliseconds since 1970. */
  readonly endsAtMs?: number;
};

/** What is held goes back when the key was quiet for so long. */
const RATE_IDLE_MS = 2000;

/** A rate that several processes share. */
export class SharedRate implements Allowance {
  #bounds: Bounds;
  readonly #reservation: Reservation;
  readonly #clock: ReservationParts["clock"];

  constructor(options: { name: string; bounds: Bounds }, parts: ReservationParts) {
    const { name, bounds } = options;
    this.#bounds = bounds;
    this.#reservation = new Reservation({ key: `limits ${name} rate`, bounds }, parts);
    this.#clock = parts.clock;
  }

  resize(bounds: Bounds): void {
    this.#bounds = bounds;
    this.#reservation.resize(bounds);
  }

  lacks(units: number): boolean {
    return this.#reservation.lacks(Math.min(units, this.#bounds.size));
  }

  take(units: number, nowMs: number): void {
    this.#reservation.take(Math.min(units, this.#bounds.size), nowMs);
  }

  find(units: number, nowMs: number): Found {
    return this.#reservation.find(Math.min(units, this.#bounds.size), nowMs);
  }

  shortage(units: number, nowMs: number): RateLimit {
    return rateShort(this.#bounds, units, this.#reservation.left(nowMs));
  }

  get coming(): Promise<void> {
    return this.#reservation.coming;
  }

  tend(nowMs: number): void {
    this.#reservation.tend(nowMs, RATE_IDLE_MS);
  }

  close(): Promise<void> {
    return this.#reservation.close();
  }

  get state(): AllowanceState {
    const left = this.#reservation.left(this.#clock.now());
    return { limit: this.#bounds.perSecond, remaining: Math.floor(left) };
  }
}

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
    // Nothing is reserved.
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

/** What is held goes back when the key was quiet for so long: at the end of a quota others miss it. */
const QUOTA_IDLE_MS = 5000;

type QuotaOptions = {
  readonly name: string;
  readonly kind: PeriodKind;
  readonly limit: number;
};

/** So many compute units in a UTC day or month, for all processes together. */
export class Quota implements Allowance {
  #limit: number;
  #period: CalendarPeriod;
  /** By the clock that never goes backwards: calls do not ask for the wall time. */
  #endsAtMs: number;
  #reservation: Reservation;
  readonly #options: QuotaOptions;
  readonly #parts: ReservationParts;

  constructor(options: QuotaOptions, parts: ReservationParts) {
    this.#options = options;
    this.#parts = parts;
    this.#limit = options.limit;
    const wallMs = parts.clock.wallTime();
    this.#period = periodAt(options.kind, wallMs);
    this.#endsAtMs = this.#endsAt(wallMs);
    this.#reservation = this.#newReservation();
  }

  resize(limit: number): void {
    this.#limit = limit;
    this.#reservation.resize({ size: limit, perSecond: 0 });
  }

  lacks(units: number, nowMs: number): boolean {
    if (nowMs >= this.#endsAtMs) this.#lookAtTheTime();
    return this.#reservation.lacks(units);
  }

  take(units: number, nowMs: number): void {
    this.#reservation.take(units, nowMs);
  }

  find(units: number, nowMs: number): Found {
    return this.#reservation.find(units, nowMs);
  }

  shortage(_units: number, nowMs: number): RateLimit {
    return {
      limit: this.#limit,
      remaining: this.#remaining(nowMs),
      retryAfter: Math.max(1, Math.ceil((this.#endsAtMs - nowMs) / 1000)),
      rule: this.#options.kind,
    };
  }

  get coming(): Promise<void> {
    return this.#reservation.coming;
  }

  /** The wall time is looked at again: it may have been set meanwhile. */
  tend(nowMs: number): void {
    this.#lookAtTheTime();
    this.#reservation.tend(nowMs, QUOTA_IDLE_MS);
  }

  close(): Promise<void> {
    return this.#reservation.close();
  }

  get state(): AllowanceState {
    const remaining = this.#remaining(this.#parts.clock.now());
    return { limit: this.#limit, remaining, endsAtMs: this.#period.endsAtMs };
  }

  #remaining(nowMs: number): number {
    return Math.max(0, Math.floor(this.#reservation.left(nowMs)));
  }

  #lookAtTheTime(): void {
    const wallMs = this.#parts.clock.wallTime();
    const period = periodAt(this.#options.kind, wallMs);
    const isAnother = period.label !== this.#period.label;
    this.#period = period;
    this.#endsAtMs = this.#endsAt(wallMs);
    if (!isAnother) return;
    void this.#reservation.close(); // never rejects
    this.#reservation = this.#newReservation();
  }

  #endsAt(wallMs: number): number {
    return this.#parts.clock.now() + (this.#period.endsAtMs - wallMs);
  }

  #newReservation(): Reservation {
    const key = `limits ${this.#options.name} ${this.#period.label}`;
    return new Reservation({ key, bounds: { size: this.#limit, perSecond: 0 } }, this.#parts);
  }
}
