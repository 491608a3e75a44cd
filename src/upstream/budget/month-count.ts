// How much was used of an upstream in this calendar month, by all processes; it survives them.
import type { Clock } from "../../lib/clock.ts";
import type { State } from "../../state/state.ts";
import { type CalendarMonth, monthAt } from "./calendar-month.ts";

export type MonthCountOptions = {
  /** Under which it is kept. */
  readonly key: string;
  /** What may be used in a month. */
  readonly limit: number;
};

export type MonthCountParts = {
  readonly clock: Pick<Clock, "wallTime" | "after">;
  readonly state: Pick<State, "get" | "replace">;
};

type Tally = {
  readonly month: CalendarMonth;
  /** As the state had it when it was read or written last. */
  kept: number;
  /** By this process since then. */
  unwritten: number;
};

/** A crash loses no more than what was used in so long. */
const WRITTEN_EVERY_MS = 1000;
/** Two: a clock that is set wrong and then right again finds what was counted before. */
const MONTHS_KEPT = 2;

export class MonthCount {
  /** The month that is running comes last. */
  #tallies: readonly Tally[] = [];
  #running: Tally;
  #cancelWrite: (() => void) | undefined;
  /** One at a time, or the same use would be added twice. */
  #writing: Promise<void> = Promise.resolve();
  #isClosed = false;
  /** Until what is kept was read, nothing is known but our own use. */
  #isRead = false;
  readonly #options: MonthCountOptions;
  readonly #parts: MonthCountParts;

  constructor(options: MonthCountOptions, parts: MonthCountParts) {
    this.#options = options;
    this.#parts = parts;
    this.#running = this.#begin(monthAt(parts.clock.wallTime()));
  }

  /** Takes up what is kept; while the state is away it begins without, and takes it up later. */
  start(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeOrTryAgain());
    return this.#writing;
  }

  get used(): number {
    const { kept, unwritten } = this.#now();
    return kept + unwritten;
  }

  get left(): number {
    return Math.max(0, this.#options.limit - this.used);
  }

  add(cost: number): void {
    this.#now().unwritten += cost;
    if (!this.#cancelWrite && !this.#isClosed) this.#writeLater();
  }

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelWrite?.();
    await this.#writing;
    if (this.#tallies.some(({ unwritten }) => unwritten > 0)) await this.#write();
  }

  #now(): Tally {
    const wallMs = this.#parts.clock.wallTime();
    const { beginsAtMs, endsAtMs } = this.#running.month;
    if (wallMs < beginsAtMs || wallMs >= endsAtMs) this.#running = this.#begin(monthAt(wallMs));
    return this.#running;
  }

  #begin(month: CalendarMonth): Tally {
    const { label } = month;
    const known = this.#tallies.find((tally) => tally.month.label === label);
    const running = known ?? { month, kept: 0, unwritten: 0 };
    const others = this.#tallies.filter((tally) => tally !== known);
    this.#tallies = [...others.slice(1 - MONTHS_KEPT), running];
    return running;
  }

  #writeLater(): void {
    this.#cancelWrite = this.#parts.clock.after(WRITTEN_EVERY_MS, () => {
      this.#cancelWrite = undefined;
      this.#writing = this.#writing.then(() => this.#writeOrTryAgain());
    });
  }

  /** What cannot be written stays unwritten; `close` throws when it still cannot be. */
  async #writeOrTryAgain(): Promise<void> {
    try {
      await this.#write();
    } catch {
      if (!this.#cancelWrite && !this.#isClosed) this.#writeLater();
    }
  }

  /** Reads what is there and adds our use; another process may do the same, then again to what it left. */
  async #write(): Promise<void> {
    const { state } = this.#parts;
    const { key } = this.#options;
    for (;;) {
      const parcels = this.#tallies.map((tally) => ({ tally, units: tally.unwritten }));
      const isNothing = parcels.every(({ units }) => units === 0);
      if (isNothing && this.#isRead) return;
      const text = await state.get(key);
      const counts = decode(text);
      for (const { tally, units } of parcels) add(counts, tally.month.label, units);
      if (!isNothing && !(await state.replace(key, text, encode(counts)))) continue;
      this.#isRead = true;
      for (const { tally, units } of parcels) {
        tally.kept = counts.get(tally.month.label) ?? 0;
        tally.unwritten -= units;
      }
      return;
    }
  }
}

/** The month that was added to last stands last. */
function add(counts: Map<string, number>, label: string, units: number): void {
  const sum = (counts.get(label) ?? 0) + units;
  counts.delete(label);
  counts.set(label, sum);
}

const encode = (counts: ReadonlyMap<string, number>): string =>
  JSON.stringify([...counts].slice(-MONTHS_KEPT));

const decode = (text: string | undefined): Map<string, number> =>
  new Map(text === undefined ? [] : (JSON.parse(text) as [string, number][]));
