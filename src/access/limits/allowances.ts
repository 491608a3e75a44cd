// The limits of one key as the meter sees them: every limit must have enough units for a call. A rate belongs to one
// process or is shared by several; a quota counts a day or a month, and is always in the state.
import type { RateLimit } from "../../jsonrpc/rpc-error.ts";
import { type CalendarPeriod, type PeriodKind, periodAt } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Bounds, TokenBucket } from "../../lib/token-bucket.ts";
import { Reservation, type ReservationParts } from "./reservation.ts";

type AllowanceState = {
  readonly limit: number;
  readonly remaining: number;
  /** When a quota begins anew, in milliseconds since 1970; left out for a rate. */
  readonly endsAtMs?: number;
};

/** The units that a process may spend of a limit: a reservation, or the whole of a limit that is not shared. */
type Held = Omit<Pick<Reservation, keyof Reservation>, "lacks"> & {
  lacks(units: number, nowMs: number): boolean;
};

/** A rate that no other process shares. */
function ownRate(bounds: Bounds, { clock }: { readonly clock: Pick<Clock, "now"> }): Held {
  const bucket = new TokenBucket(bounds, clock.now());
  return {
    coming: Promise.resolve(),
    resize: (next) => bucket.resize(next, clock.now()),
    left: (nowMs) => bucket.left(nowMs),
    lacks: (units, nowMs) => !bucket.has(units, nowMs),
    take: (units, nowMs) => void bucket.take(units, nowMs),
    find: () => "none",
    maintain: () => undefined,
    close: async () => undefined,
  };
}

const rateShort = ({ size, perSecond }: Bounds, units: number, left: number): RateLimit => ({
  limit: perSecond,
  remaining: Math.max(0, Math.floor(left)),
  retryAfter: Math.max(1, Math.ceil((Math.min(units, size) - left) / perSecond)),
  rule: "rate",
});

/** Held units go back after this time without a call: near the end of a quota, other processes need them. */
const IDLE_MS = { rate: 2000, day: 5000, month: 5000 };

type AllowanceOptions = {
  readonly name: string;
  /** No other process shares the limits, so the rate needs no state. */
  readonly isAlone: boolean;
  readonly kind: "rate" | PeriodKind;
  readonly bounds: Bounds;
};

/** One limit of a key: a rate, or a quota, which begins anew with each UTC day or month. */
export class Allowance {
  #bounds: Bounds;
  /** The running period of a quota; undefined for a rate. */
  #period: CalendarPeriod | undefined;
  /** The end of the period on the monotonic clock, so that calls need not read the wall time. */
  #endsAtMs = Number.POSITIVE_INFINITY;
  #held: Held;
  readonly #options: AllowanceOptions;
  readonly #parts: ReservationParts;

  constructor(options: AllowanceOptions, parts: ReservationParts) {
    this.#options = options;
    this.#parts = parts;
    this.#bounds = options.bounds;
    this.#lookAtTheTime();
    this.#held = this.#begin();
  }

  resize(bounds: Bounds): void {
    this.#bounds = bounds;
    this.#held.resize(bounds);
  }

  /** Whether the limit lacks units for a call, which then has to wait or is refused. */
  lacks(units: number, nowMs: number): boolean {
    return nowMs >= this.#endsAtMs || this.#held.lacks(this.#priceOf(units), nowMs);
  }

  /** Takes the units. To be called only when `lacks` is false for them. */
  take(units: number, nowMs: number): void {
    this.#held.take(this.#priceOf(units), nowMs);
  }

  /** Looks for units that a call lacks. @returns "coming" when a reservation is under way that may bring enough. */
  find(units: number, nowMs: number): ReturnType<Reservation["find"]> {
    if (nowMs >= this.#endsAtMs) {
      this.#beginAnew();
      if (!this.lacks(units, nowMs)) return "enough";
    }
    return this.#held.find(this.#priceOf(units), nowMs);
  }

  /** The details for a response with status 429. */
  shortage(units: number, nowMs: number): RateLimit {
    const { kind } = this.#options;
    const left = this.#held.left(nowMs);
    if (kind === "rate") return rateShort(this.#bounds, units, left);
    const retryAfter = Math.max(1, Math.ceil((this.#endsAtMs - nowMs) / 1000));
    const { size: limit } = this.#bounds;
    return { limit, remaining: Math.max(0, Math.floor(left)), retryAfter, rule: kind };
  }

  /** Resolves when the reservation that is under way has ended, or has timed out. */
  get coming(): Promise<void> {
    return this.#held.coming;
  }

  /**
   * To be called once a second: gives back unused units, tries the state again after an outage, and reads the wall time
   * again, which may have been set meanwhile.
   */
  maintain(nowMs: number): void {
    this.#beginAnew();
    this.#held.maintain(nowMs, IDLE_MS[this.#options.kind]);
  }

  /** Gives all held units back. Never rejects. */
  close(): Promise<void> {
    return this.#held.close();
  }

  get state(): AllowanceState {
    const { size, perSecond } = this.#bounds;
    const left = this.#held.left(this.#parts.clock.now());
    const endsAtMs = this.#period?.endsAtMs;
    return {
      limit: perSecond || size,
      remaining: Math.max(0, Math.floor(left)),
      ...(endsAtMs !== undefined && { endsAtMs }),
    };
  }

  /** A call that costs more than the burst of a rate takes the whole burst, as in `TokenBucket`. */
  #priceOf(units: number): number {
    const { size, perSecond } = this.#bounds;
    return perSecond > 0 ? Math.min(units, size) : units;
  }

  /** Begins a new count if another period is running now. */
  #beginAnew(): void {
    const before = this.#period?.label;
    this.#lookAtTheTime();
    if (this.#period?.label === before) return;
    void this.#held.close(); // never rejects
    this.#held = this.#begin();
  }

  #lookAtTheTime(): void {
    const { kind } = this.#options;
    if (kind === "rate") return;
    const { clock } = this.#parts;
    const wallMs = clock.wallTime();
    this.#period = periodAt(kind, wallMs);
    this.#endsAtMs = clock.now() + (this.#period.endsAtMs - wallMs);
  }

  #begin(): Held {
    const { name, kind, isAlone } = this.#options;
    if (kind === "rate" && isAlone) return ownRate(this.#bounds, this.#parts);
    const key = `limits ${name} ${this.#period?.label ?? "rate"}`;
    return new Reservation({ key, bounds: this.#bounds }, this.#parts);
  }
}
