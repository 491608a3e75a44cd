// What was done with one key: counted here with every call, told to its holder.

import { DAY_MS, type DayRange, dayOf, type ReadRange, readRange } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Counts } from "./counts.ts";
import type { DayUsage } from "./day-usage.ts";
import type { UsageRow } from "./usage-report.ts";

export type CountedCall = {
  readonly network: string;
  /** Of a bounded set: the caller of a call may invent names. */
  readonly method: string;
  /** What was charged. */
  readonly computeUnits: number;
  /** Of the answer, before compression. */
  readonly bytes: number;
  readonly requestBytes: number;
  /** refused: turned away by the key's scope or limits. */
  readonly outcome: "ok" | "error" | "refused";
  readonly saved: Saving | undefined;
  /** How often nodes were asked for it. */
  readonly upstreamCalls: number;
};

/** Why no node was asked for a call: stored, shared with an equal call in flight, or computed here. */
export type Saving = "store" | "merging" | "here";

const COUNTED_AS = {
  store: "savedByStore",
  merging: "savedByMerging",
  here: "savedHere",
} as const satisfies Record<Saving, keyof Counts>;

/** As methods that are on no list. */
const BESIDE_CALLS = "other";

/** Of one question by a key's holder. */
const MOST_DAYS = 92;

export class KeyUsage {
  readonly #name: string;
  readonly #parts: KeyUsageParts;
  #today: DayUsage | undefined;
  #todayBeganAtMs = 0;

  constructor(name: string, parts: KeyUsageParts) {
    this.#name = name;
    this.#parts = parts;
  }

  record(call: CountedCall): void {
    const counts = this.#dayNow().countsOf(call.network, call.method);
    const { computeUnits, outcome, saved } = call;
    counts.bytes += call.bytes;
    counts.requestBytes += call.requestBytes;
    counts.computeUnits += computeUnits;
    counts.upstreamCalls += call.upstreamCalls;
    if (outcome === "refused") {
      counts.refused += 1;
      return;
    }
    counts.calls += 1;
    if (outcome === "error") counts.errors += 1;
    if (saved === undefined) return;
    counts[COUNTED_AS[saved]] += 1;
    counts.savedComputeUnits += computeUnits;
  }

  /** What was charged beside calls: for the bytes of large requests. */
  recordUnits(network: string, computeUnits: number): void {
    this.#dayNow().countsOf(network, BESIDE_CALLS).computeUnits += computeUnits;
  }

  /** The days of a question, the current month where it names none. */
  range(wanted: {
    readonly from?: string | undefined;
    readonly to?: string | undefined;
  }): ReadRange {
    const wallTimeMs = this.#parts.clock.wallTime();
    return readRange(wanted, { wallTimeMs, mostDays: MOST_DAYS });
  }

  /** What was done with this key and no other, until now. @throws stateUnavailable. */
  read(range: DayRange): Promise<readonly UsageRow[]> {
    return this.#parts.read(this.#name, range);
  }

  #dayNow(): DayUsage {
    const sinceMidnightMs = this.#parts.clock.wallTime() - this.#todayBeganAtMs;
    if (this.#today?.isOpen && sinceMidnightMs >= 0 && sinceMidnightMs < DAY_MS) return this.#today;
    const nowMs = this.#parts.clock.wallTime();
    this.#todayBeganAtMs = nowMs - (nowMs % DAY_MS);
    this.#today = this.#parts.open(dayOf(nowMs), this.#name);
    return this.#today;
  }
}

export type KeyUsageParts = {
  readonly clock: Pick<Clock, "wallTime">;
  readonly open: (day: string, name: string) => DayUsage;
  readonly read: (name: string, range: DayRange) => Promise<readonly UsageRow[]>;
};
