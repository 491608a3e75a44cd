// How much a key may still do: its rate, its day, its month, and its calls at the same time.

import type { RateLimit } from "../../jsonrpc/rpc-error.ts";
import type { PeriodKind } from "../../lib/calendar.ts";
import { type MemoryHolder, memoryHolder } from "../../lib/memory-budget.ts";
import type { Allowance, AllowanceState } from "./allowance.ts";
import { Quota } from "./quota.ts";
import type { ReservationParts } from "./reservation.ts";
import { OwnRate, type RateBounds, SharedRate } from "./shared-rate.ts";

// What may be configured of one key's limits.

export type LimitSettings = {
  readonly rate?:
    | { readonly computeUnitsPerSecond: number; readonly burstComputeUnits: number }
    | undefined;
  readonly computeUnits: {
    readonly perDay?: number | undefined;
    readonly perMonth?: number | undefined;
  };
  readonly concurrentCalls?: number | undefined;
  /** Of its turns at the nodes. */
  readonly weight?: number | undefined;
};

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

// What is left of a key's limits, for those who ask.

/** Only the limits that the key has. */
type LimitsSnapshot = {
  /** In compute units a second. */
  readonly rate?: { readonly limit: number; readonly burst: number; readonly remaining: number };
  readonly day?: QuotaSnapshot;
  readonly month?: QuotaSnapshot;
  readonly concurrent?: { readonly limit: number; readonly running: number };
};

type QuotaSnapshot = {
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  /** When it begins anew, in milliseconds since 1970. */
  readonly endsAtMs: number;
};

type WithState = { readonly state: AllowanceState };

type Settings = {
  readonly rate?: { readonly burstComputeUnits: number } | undefined;
  readonly concurrentCalls?: number | undefined;
};

function snapshotOf(
  { rate, concurrentCalls: most }: Settings,
  limits: Readonly<Record<"rate" | "day" | "month", WithState | undefined>>,
  running: number,
): LimitsSnapshot {
  const rateState = limits.rate?.state;
  return {
    ...(rate && rateState && { rate: { ...rateState, burst: rate.burstComputeUnits } }),
    ...(limits.day && { day: quotaOf(limits.day.state) }),
    ...(limits.month && { month: quotaOf(limits.month.state) }),
    ...(most !== undefined && { concurrent: { limit: most, running } }),
  };
}

const quotaOf = ({ limit, remaining, endsAtMs = 0 }: AllowanceState): QuotaSnapshot => ({
  limit,
  used: limit - remaining,
  remaining,
  endsAtMs,
});

// The limits that one key has: made when they are configured, and kept while they are.

type AllowancesOptions = {
  readonly name: string;
  /** No other process shares the limits: then the rate needs no state. */
  readonly isAlone: boolean;
};

class Allowances {
  rate: SharedRate | OwnRate | undefined;
  day: Quota | undefined;
  month: Quota | undefined;
  /** Those that there are; the one that lasts longest is told first. */
  all: readonly Allowance[] = [];
  readonly #options: AllowancesOptions;
  readonly #parts: ReservationParts;

  constructor(options: AllowancesOptions, parts: ReservationParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** What was taken stays taken. */
  configure({ rate, computeUnits }: LimitSettings): void {
    this.rate = rate && this.#rateOf(boundsOf(rate));
    this.day = this.#quotaOf("day", computeUnits.perDay, this.day);
    this.month = this.#quotaOf("month", computeUnits.perMonth, this.month);
    const before = this.all;
    this.all = [this.month, this.day, this.rate].filter((each) => each !== undefined);
    for (const each of before) if (!this.all.includes(each)) void each.close();
  }

  #rateOf(bounds: RateBounds): SharedRate | OwnRate {
    const known = this.rate;
    known?.resize(bounds);
    if (known) return known;
    const { name, isAlone } = this.#options;
    if (isAlone) return new OwnRate(bounds, this.#parts);
    return new SharedRate({ name, bounds }, this.#parts);
  }

  #quotaOf(kind: PeriodKind, limit: number | undefined, known?: Quota): Quota | undefined {
    if (limit === undefined) return undefined;
    known?.resize(limit);
    const { name } = this.#options;
    return known ?? new Quota({ name, kind, limit }, this.#parts);
  }
}

const boundsOf = (rate: NonNullable<LimitSettings["rate"]>): RateBounds => ({
  size: rate.burstComputeUnits,
  perSecond: rate.computeUnitsPerSecond,
});
