// The price of calls, and the limits of each key: its rate, its day, its month, and its concurrent calls.

import type { KeySettings } from "../../config/key-settings.ts";
import type { RateLimit } from "../../jsonrpc/rpc-error.ts";
import { isLongOver, type PeriodKind } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import { type MemoryHolder, memoryHolder } from "../../lib/memory-budget.ts";
import { BestMatch } from "../../lib/pattern.ts";
import type { Bounds } from "../../lib/token-bucket.ts";
import { PeriodicTimer } from "../../lib/waiting.ts";
import type { State } from "../../state/state.ts";
import { Allowance } from "./allowances.ts";
import { Members } from "./members.ts";
import { RESERVATION_TIMEOUT_MS, type ReservationParts } from "./reservation.ts";

/** The configured limits of one key. */
export type LimitSettings = Pick<
  KeySettings,
  "rate" | "computeUnits" | "concurrentCalls" | "weight"
>;

/** The state of a key's limits; limits that the key does not have are left out. */
type LimitsSnapshot = {
  /** In compute units per second. */
  readonly rate?: { readonly limit: number; readonly burst: number; readonly remaining: number };
  readonly day?: QuotaSnapshot;
  readonly month?: QuotaSnapshot;
  readonly concurrent?: { readonly limit: number; readonly running: number };
};

type QuotaSnapshot = {
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  /** When the quota begins anew, in milliseconds since 1970. */
  readonly endsAtMs: number;
};

export type MeterOptions = {
  readonly name: string;
  /** No other process shares the limits, so the rate needs no state. */
  readonly isAlone: boolean;
  readonly settings: LimitSettings;
};

/** Per process, for a key without this setting: any process may run whole batches. */
const USUAL_CONCURRENT_CALLS = 2_000;

export class Meter {
  #settings: LimitSettings;
  #running = 0;
  #rate: Allowance | undefined;
  #day: Allowance | undefined;
  #month: Allowance | undefined;
  /** The limits that the key has. The longest period is first: of several shortages, the caller is told the first. */
  #all: readonly Allowance[] = [];
  /** Counts the bytes that wait in memory for the key's calls. */
  readonly memory: MemoryHolder;
  readonly #options: MeterOptions;
  readonly #parts: ReservationParts;

  constructor(options: MeterOptions, parts: ReservationParts) {
    this.#options = options;
    this.#parts = parts;
    this.memory = memoryHolder(options.name);
    this.#settings = options.settings;
    this.configure(options.settings);
  }

  /** Sets other limits. Units that were taken of a limit stay taken while the limit is configured. */
  configure(settings: LimitSettings): void {
    const { rate, computeUnits } = settings;
    this.#settings = settings;
    this.memory.weight = this.weight;
    const { burstComputeUnits: size = 0, computeUnitsPerSecond: perSecond = 0 } = rate ?? {};
    this.#rate = rate && this.#limitOf("rate", { size, perSecond }, this.#rate);
    this.#day = this.#quotaOf("day", computeUnits.perDay, this.#day);
    this.#month = this.#quotaOf("month", computeUnits.perMonth, this.#month);
    const before = this.#all;
    this.#all = [this.#month, this.#day, this.#rate].filter((each) => each !== undefined);
    for (const each of before) if (!this.#all.includes(each)) void each.close();
  }

  /**
   * Takes the compute units from all limits, or from none.
   * @returns undefined when the units were taken, else the details for a 429; a promise only while a reservation is
   * under way.
   */
  charge(units: number, nowMs: number): RateLimit | undefined | Promise<RateLimit | undefined> {
    for (const allowance of this.#all) {
      if (allowance.lacks(units, nowMs)) return this.#orWait(units, nowMs);
    }
    for (const allowance of this.#all) allowance.take(units, nowMs);
    return undefined;
  }

  /**
   * Begins a call, which counts until `end`.
   * @returns The details for a 429 when too many calls run; then this call does not count.
   */
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

  /** The share of turns that the key's calls get when calls of several keys wait. */
  get weight(): number {
    return this.#settings.weight ?? 1;
  }

  /** The rest of each limit, as far as this process knows. */
  snapshot(): LimitsSnapshot {
    const { rate, concurrentCalls: limit } = this.#settings;
    return {
      ...(rate && this.#rate && { rate: { ...this.#rate.state, burst: rate.burstComputeUnits } }),
      ...(this.#day && { day: snapshotOf(this.#day) }),
      ...(this.#month && { month: snapshotOf(this.#month) }),
      ...(limit !== undefined && { concurrent: { limit, running: this.#running } }),
    };
  }

  /** To be called once a second. */
  maintain(nowMs: number): void {
    for (const allowance of this.#all) allowance.maintain(nowMs);
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((allowance) => allowance.close()));
  }

  #orWait(units: number, nowMs: number): RateLimit | undefined | Promise<RateLimit | undefined> {
    const outcome = this.#tryToTake(units, nowMs);
    return outcome instanceof Promise ? this.#wait(units, outcome) : outcome;
  }

  /** @returns A promise when a reservation that is under way may bring enough; else as `charge`. */
  #tryToTake(units: number, nowMs: number): RateLimit | undefined | Promise<void> {
    let coming: Promise<void> | undefined;
    for (const allowance of this.#all) {
      if (!allowance.lacks(units, nowMs)) continue;
      const found = allowance.find(units, nowMs);
      if (found === "coming") coming = allowance.coming;
      else if (found === "none") return allowance.shortage(units, nowMs);
    }
    if (coming) return coming;
    for (const allowance of this.#all) allowance.take(units, nowMs);
    return undefined;
  }

  async #wait(units: number, first: Promise<void>): Promise<RateLimit | undefined> {
    const { clock } = this.#parts;
    const untilMs = clock.now() + RESERVATION_TIMEOUT_MS;
    for (let coming = first; ; ) {
      await coming;
      const nowMs = clock.now();
      const outcome = this.#tryToTake(units, nowMs);
      if (!(outcome instanceof Promise)) return outcome;
      const lacking = this.#all.find((each) => each.lacks(units, nowMs));
      if (lacking && nowMs >= untilMs) return lacking.shortage(units, nowMs);
      coming = outcome;
    }
  }

  /** This process's part of the concurrent calls, which all processes together may run. */
  get #mostAtOnce(): number {
    const { concurrentCalls } = this.#settings;
    if (concurrentCalls === undefined) return USUAL_CONCURRENT_CALLS;
    return Math.ceil(concurrentCalls / Math.max(1, this.#parts.members()));
  }

  #quotaOf(
    kind: PeriodKind,
    size: number | undefined,
    known: Allowance | undefined,
  ): Allowance | undefined {
    return size === undefined ? undefined : this.#limitOf(kind, { size, perSecond: 0 }, known);
  }

  #limitOf(kind: "rate" | PeriodKind, bounds: Bounds, known: Allowance | undefined): Allowance {
    known?.resize(bounds);
    return known ?? new Allowance({ ...this.#options, kind, bounds }, this.#parts);
  }
}

function snapshotOf({ state }: Allowance): QuotaSnapshot {
  const { limit, remaining, endsAtMs = 0 } = state;
  return { limit, used: limit - remaining, remaining, endsAtMs };
}

/** Prices in compute units, by method name or pattern. */
type CostSettings = Readonly<Record<string, number>>;

type Priced = { readonly name: string; readonly cost: number };

/** In compute units: a call of an unknown method is not free. */
const UNKNOWN_METHOD_COST = 1;

/** The prices of calls in compute units: the configured price, else the cost in the method's declaration. */
export class Costs {
  /** undefined: no prices are configured. */
  #prices: BestMatch<number> | undefined;

  constructor(settings: CostSettings) {
    this.configure(settings);
  }

  configure(settings: CostSettings): void {
    this.#prices = Object.keys(settings).length > 0 ? new BestMatch(settings) : undefined;
  }

  /** @param method undefined: the network has no such method. */
  of(method: Priced | undefined): number {
    return method ? (this.#prices?.of(method.name) ?? method.cost) : UNKNOWN_METHOD_COST;
  }
}

/** The configured names that no served method has: they are misspelt, or not needed. Patterns are not checked. */
export const unservedNames = (
  settings: CostSettings,
  isServed: (name: string) => boolean,
): string[] => Object.keys(settings).filter((name) => !name.includes("*") && !isServed(name));

type MetersOptions = {
  /** The id of this process among all that share the state, on this machine and others; see `memberId`. */
  readonly memberId: string;
  /** No other process shares the limits, so rates need no state. */
  readonly isAlone: boolean;
};

export type MetersParts = {
  readonly state: Pick<State, "take" | "update" | "list">;
  readonly clock: Pick<Clock, "now" | "wallTime" | "after">;
};

const MAINTAINED_EVERY_MS = 1000;
const SWEPT_EVERY_MS = 3_600_000;

/** The meters of all keys by name, and the timer that maintains their limits. */
export class Meters {
  readonly #meters = new Map<string, Meter>();
  readonly #members: Members | undefined;
  readonly #timer: PeriodicTimer;
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  readonly #options: MetersOptions;
  readonly #parts: MetersParts;

  constructor(options: MetersOptions, parts: MetersParts) {
    this.#options = options;
    this.#parts = parts;
    this.#members = options.isAlone ? undefined : new Members({ id: options.memberId }, parts);
    const round = (): boolean => this.#maintain();
    this.#timer = new PeriodicTimer({
      clock: parts.clock,
      everyMs: () => MAINTAINED_EVERY_MS,
      round,
    });
  }

  /** The meter of the key with this name. Other limits do not replace it, so that taken units stay taken. */
  of(name: string, settings: LimitSettings): Meter {
    const known = this.#meters.get(name);
    known?.configure(settings);
    if (known) return known;
    const { isAlone } = this.#options;
    const members = (): number => this.#members?.count ?? 1;
    const meter = new Meter({ name, settings, isAlone }, { ...this.#parts, members });
    this.#meters.set(name, meter);
    return meter;
  }

  /** Starts the timer. Resolves when this process has counted the members, or could not reach the state. */
  async start(): Promise<void> {
    this.#timer.begin();
    await this.#members?.beat();
  }

  /** Gives back the units that this process holds. */
  async close(): Promise<void> {
    this.#timer.stop();
    await Promise.all([...this.#meters.values()].map((meter) => meter.close()));
    await this.#members?.close();
  }

  #maintain(): boolean {
    const nowMs = this.#parts.clock.now();
    void this.#members?.beat(); // never rejects
    for (const meter of this.#meters.values()) meter.maintain(nowMs);
    if (nowMs - this.#sweptAtMs < SWEPT_EVERY_MS) return true;
    this.#sweptAtMs = nowMs;
    // The next sweep finds entries that could not be removed.
    this.#sweep().catch(() => undefined);
    return true;
  }

  /** Removes the entries of days and months that are long over. */
  async #sweep(): Promise<void> {
    const { state, clock } = this.#parts;
    for (const { key, text } of await state.list("limits ")) {
      const label = key.slice(key.lastIndexOf(" ") + 1);
      if (label !== "rate" && isLongOver(label, clock.wallTime()))
        await state.update([key], () => [undefined], { known: [text] });
    }
  }
}
