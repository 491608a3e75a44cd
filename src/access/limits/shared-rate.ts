// A rate that several processes share.
import type { RateLimit } from "../../jsonrpc/rpc-error.ts";
import type { Allowance, AllowanceState } from "./allowance.ts";
import { Lease, type LeaseParts } from "./lease.ts";
import { type RateBounds, rateShort } from "./rate-short.ts";

/** What is held goes back when the key was quiet for so long. */
const IDLE_MS = 2000;

export class SharedRate implements Allowance {
  #bounds: RateBounds;
  readonly #lease: Lease;
  readonly #clock: LeaseParts["clock"];

  constructor(options: { name: string; bounds: RateBounds }, parts: LeaseParts) {
    const { name, bounds } = options;
    this.#bounds = bounds;
    this.#lease = new Lease({ key: `limits ${name} rate`, bounds }, parts);
    this.#clock = parts.clock;
  }

  resize(bounds: RateBounds): void {
    this.#bounds = bounds;
    this.#lease.resize(bounds);
  }

  lacks(units: number): boolean {
    return this.#lease.lacks(Math.min(units, this.#bounds.size));
  }

  take(units: number, nowMs: number): void {
    this.#lease.take(Math.min(units, this.#bounds.size), nowMs);
  }

  shortage(units: number, nowMs: number): RateLimit | "coming" | undefined {
    const found = this.#lease.find(Math.min(units, this.#bounds.size), nowMs);
    if (found === "none") return this.told(nowMs, units);
    return found === "coming" ? found : undefined;
  }

  told(nowMs: number, units: number): RateLimit {
    return rateShort(this.#bounds, units, this.#lease.left(nowMs));
  }

  get coming(): Promise<void> {
    return this.#lease.coming;
  }

  tend(nowMs: number): void {
    this.#lease.tend(nowMs, IDLE_MS);
  }

  close(): Promise<void> {
    return this.#lease.close();
  }

  get state(): AllowanceState {
    const left = this.#lease.left(this.#clock.now());
    return { limit: this.#bounds.perSecond, remaining: Math.floor(left) };
  }
}
