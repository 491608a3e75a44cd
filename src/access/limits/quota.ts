// So many compute units in a UTC day or month, for all processes together.

import type { RateLimit } from "../../jsonrpc/rpc-error.ts";
import { type CalendarPeriod, type PeriodKind, periodAt } from "../../lib/calendar.ts";
import type { Allowance, AllowanceState } from "./allowance.ts";
import { Reservation, type ReservationParts } from "./reservation.ts";

/** What is held goes back when the key was quiet for so long: at the end of a quota others miss it. */
const IDLE_MS = 5000;

export type QuotaOptions = {
  readonly name: string;
  readonly kind: PeriodKind;
  readonly limit: number;
};

export class Quota implements Allowance {
  /** Changes when the configuration does. */
  #limit: number;
  #window: CalendarPeriod;
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
    this.#window = periodAt(options.kind, wallMs);
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

  shortage(units: number, nowMs: number): RateLimit | "coming" | undefined {
    const found = this.#reservation.find(units, nowMs);
    if (found === "none") return this.told(nowMs);
    return found === "coming" ? found : undefined;
  }

  told(nowMs: number): RateLimit {
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
    this.#reservation.tend(nowMs, IDLE_MS);
  }

  close(): Promise<void> {
    return this.#reservation.close();
  }

  get state(): AllowanceState {
    const remaining = this.#remaining(this.#parts.clock.now());
    return { limit: this.#limit, remaining, endsAtMs: this.#window.endsAtMs };
  }

  #remaining(nowMs: number): number {
    return Math.max(0, Math.floor(this.#reservation.left(nowMs)));
  }

  #lookAtTheTime(): void {
    const wallMs = this.#parts.clock.wallTime();
    const window = periodAt(this.#options.kind, wallMs);
    const isAnother = window.label !== this.#window.label;
    this.#window = window;
    this.#endsAtMs = this.#endsAt(wallMs);
    if (!isAnother) return;
    void this.#reservation.close(); // never rejects
    this.#reservation = this.#newReservation();
  }

  #endsAt(wallMs: number): number {
    return this.#parts.clock.now() + (this.#window.endsAtMs - wallMs);
  }

  #newReservation(): Reservation {
    const key = `limits ${this.#options.name} ${this.#window.label}`;
    return new Reservation({ key, bounds: { size: this.#limit, perSecond: 0 } }, this.#parts);
  }
}
