// A rate that several processes share.
import type { RateLimit } from "../../jsonrpc/rpc-error.ts";
import type { Allowance, AllowanceState } from "./allowance.ts";
import { type RateBounds, rateShort } from "./rate-short.ts";
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
