// How much a key may still do: its rate, its day, its month, and its calls at the same time.
import type { RateLimit } from "../../jsonrpc/rpc-error.ts";
import { type MemoryHolder, memoryHolder } from "../../lib/memory-budget.ts";
import { Allowances, type AllowancesOptions } from "./allowances.ts";
import type { LimitSettings } from "./limit-settings.ts";
import { type LimitsSnapshot, snapshotOf } from "./limits-snapshot.ts";
import type { ReservationParts } from "./reservation.ts";

export type { LimitSettings } from "./limit-settings.ts";

export type MeterOptions = AllowancesOptions & { readonly settings: LimitSettings };

/** Where a key says nothing: of each process, so that whole batches run in any of them. */
const USUAL_CONCURRENT_CALLS = 2_000;
/** Longer no call waits for reservations. */
const TIMEOUT_MS = 1000;

export class Meter {
  #settings: LimitSettings;
  #running = 0;
  /** What waits in memory for its calls. */
  readonly memory: MemoryHolder;
  readonly #allowances: Allowances;
  readonly #parts: ReservationParts;

  constructor(options: MeterOptions, parts: ReservationParts) {
    this.#allowances = new Allowances(options, parts);
    this.#parts = parts;
    this.memory = memoryHolder(options.name);
    this.#settings = options.settings;
    this.configure(options.settings);
  }

  /** Takes on other limits. What was taken stays taken. */
  configure(settings: LimitSettings): void {
    this.#settings = settings;
    this.memory.weight = this.weight;
    this.#allowances.configure(settings);
  }

  /**
   * Takes the compute units from all limits, or from none.
   *
   * @returns undefined when taken, else what a 429 tells. A promise only while a reservation is under way.
   */
  charge(units: number, nowMs: number): RateLimit | undefined | Promise<RateLimit | undefined> {
    for (const allowance of this.#allowances.all) {
      if (allowance.lacks(units, nowMs)) return this.#orWait(units, nowMs);
    }
    for (const allowance of this.#allowances.all) allowance.take(units, nowMs);
    return undefined;
  }

  /** A call begins: it counts until `end`. What a 429 tells when too many run; then it does not count. */
  begin(): RateLimit | undefined {
    if (this.#running >= this.#mostAtOnce) {
      const { concurrentCalls: limit = USUAL_CONCURRENT_CALLS } = this.#settings;
      return { limit, remaining: 0, retryAfter: 1, rule: "concurrent" };
    }
    this.#running += 1;
    return undefined;
  }

  end(): void {
    this.#running -= 1;
  }

  /** How often its calls have their turn where those of several keys wait. */
  get weight(): number {
    return this.#settings.weight ?? 1;
  }

  /** What is left of each limit, by what this process knows. */
  snapshot(): LimitsSnapshot {
    return snapshotOf(this.#settings, this.#allowances, this.#running);
  }

  /** Once a second. */
  tend(nowMs: number): void {
    for (const allowance of this.#allowances.all) allowance.tend(nowMs);
  }

  async close(): Promise<void> {
    await Promise.all(this.#allowances.all.map((allowance) => allowance.close()));
  }

  #orWait(units: number, nowMs: number): RateLimit | undefined | Promise<RateLimit | undefined> {
    const outcome = this.#tryToTake(units, nowMs);
    return outcome instanceof Promise ? this.#wait(units, outcome) : outcome;
  }

  /** @returns A promise of what may bring more. */
  #tryToTake(units: number, nowMs: number): RateLimit | undefined | Promise<void> {
    let coming: Promise<void> | undefined;
    for (const allowance of this.#allowances.all) {
      if (!allowance.lacks(units, nowMs)) continue;
      const shortage = allowance.shortage(units, nowMs);
      if (shortage === "coming") coming = allowance.coming;
      else if (shortage) return shortage;
    }
    if (coming) return coming;
    for (const allowance of this.#allowances.all) allowance.take(units, nowMs);
    return undefined;
  }

  async #wait(units: number, first: Promise<void>): Promise<RateLimit | undefined> {
    const { clock } = this.#parts;
    const untilMs = clock.now() + TIMEOUT_MS;
    for (let coming = first; ; ) {
      await coming;
      const nowMs = clock.now();
      const outcome = this.#tryToTake(units, nowMs);
      if (!(outcome instanceof Promise)) return outcome;
      const lacking = this.#allowances.all.find((each) => each.lacks(units, nowMs));
      if (lacking && nowMs >= untilMs) return lacking.told(nowMs, units);
      coming = outcome;
    }
  }

  /** One process must not give away what is meant for all. */
  get #mostAtOnce(): number {
    const { concurrentCalls } = this.#settings;
    if (concurrentCalls === undefined) return USUAL_CONCURRENT_CALLS;
    return Math.ceil(concurrentCalls / Math.max(1, this.#parts.members()));
  }
}
