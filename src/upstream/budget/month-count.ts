// How much of an upstream all processes together used in this calendar month. It is kept over restarts.

import { type CalendarPeriod, DAY_MS, periodAt } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import { Mutex } from "../../lib/mutex.ts";
import { Outbox } from "../../lib/outbox.ts";
import type { State, Texts, Updated } from "../../state/state.ts";

export type MonthCountOptions = {
  /** The key of the state's entry. */
  readonly key: string;
  /** How much may be used in a month. */
  readonly limit: number;
};

export type MonthCountParts = {
  readonly clock: Pick<Clock, "now" | "wallTime" | "after">;
  readonly state: Pick<State, "get" | "update">;
};

type Tally = {
  readonly month: CalendarPeriod;
  /** The state's number when it was read or written last. */
  kept: number;
  /** What this process has used since. */
  unwritten: number;
};

const emptyTally = (month: CalendarPeriod): Tally => ({ month, kept: 0, unwritten: 0 });

/** How often use is written. A crash loses what was used since. */
const WRITTEN_EVERY_MS = 1000;
/** Two, so that a clock that is set wrong and then right again finds what was counted before. */
const MONTHS_KEPT = 2;
/** The state may be away for half of this time, and each use is still counted once. */
const KEPT_MS = 62 * DAY_MS;

/** What one write adds, by tally of this process. */
type Parcels = readonly { readonly tally: Tally; readonly units: number }[];

export class MonthCount {
  /** The month that was counted in last is the last one. */
  #tallies: readonly Tally[];
  #cancelWrite: (() => void) | undefined;
  /** One write at a time: else the same use would be added twice. */
  readonly #writing = new Mutex();
  #isClosed = false;
  /** The state's texts when they were read or written last. */
  #known: Texts | undefined;
  readonly #outbox: Outbox<Parcels, Updated>;
  readonly #options: MonthCountOptions;
  readonly #parts: MonthCountParts;

  constructor(options: MonthCountOptions, parts: MonthCountParts) {
    this.#options = options;
    this.#parts = parts;
    this.#outbox = new Outbox(
      { keptMs: KEPT_MS },
      {
        clock: parts.clock,
        send: (parcels, id) =>
          parts.state.update([options.key], ([text]) => [textWith(parcels, text)], {
            id,
            ...(this.#known && { known: this.#known }),
          }),
        onDone: (parcels, { texts }) => {
          for (const { tally, units } of parcels) tally.unwritten -= units;
          this.#take(texts);
        },
      },
    );
    this.#tallies = [emptyTally(periodAt("month", parts.clock.wallTime()))];
  }

  /** Reads what is kept. While the state is away, it begins without, and reads it later. */
  start(): Promise<void> {
    return this.#writing.run(() => this.#writeOrTryAgain());
  }

  get used(): number {
    const { kept, unwritten } = this.#running();
    return kept + unwritten;
  }

  get left(): number {
    return Math.max(0, this.#options.limit - this.used);
  }

  add(cost: number): void {
    const running = this.#running();
    running.unwritten += cost;
    if (this.#tallies.at(-1) !== running) {
      const others = this.#tallies.filter((tally) => tally !== running);
      this.#tallies = [...others.slice(1 - MONTHS_KEPT), running];
    }
    if (!this.#cancelWrite && !this.#isClosed) this.#writeLater();
  }

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelWrite?.();
    await this.#writing.idle();
    if (this.#tallies.some(({ unwritten }) => unwritten > 0)) await this.#write();
  }

  /** The tally of the running month; it is added to `#tallies` with the first `add`. */
  #running(): Tally {
    const wallMs = this.#parts.clock.wallTime();
    const last = this.#tallies.at(-1);
    if (last && wallMs >= last.month.beginsAtMs && wallMs < last.month.endsAtMs) return last;
    const month = periodAt("month", wallMs);
    return this.#tallies.find((tally) => tally.month.label === month.label) ?? emptyTally(month);
  }

  #writeLater(): void {
    this.#cancelWrite = this.#parts.clock.after(WRITTEN_EVERY_MS, () => {
      this.#cancelWrite = undefined;
      void this.#writing.run(() => this.#writeOrTryAgain());
    });
  }

  /** What cannot be written stays unwritten; `close` throws when it still cannot be written. */
  async #writeOrTryAgain(): Promise<void> {
    try {
      await this.#write();
    } catch {
      if (!this.#cancelWrite && !this.#isClosed) this.#writeLater();
    }
  }

  /** Adds our use to the state's numbers, or only reads them. */
  async #write(): Promise<void> {
    const { state } = this.#parts;
    await this.#outbox.send(() => {
      const used = this.#tallies.filter(({ unwritten }) => unwritten > 0);
      const parcels = used.map((tally) => ({ tally, units: tally.unwritten }));
      return parcels.length > 0 ? parcels : undefined;
    });
    if (!this.#known) this.#take([await state.get(this.#options.key)]);
  }

  #take(texts: Texts): void {
    this.#known = texts;
    const { months } = decode(texts[0]);
    for (const tally of this.#tallies) tally.kept = months.get(tally.month.label) ?? 0;
  }
}

/** What the state has: the use in each month. */
type Counts = {
  readonly months: Map<string, number>;
  /** With this a gateway of the version before finds its own writes. */
  readonly writers: string;
};

const WRITERS = "writers";

/** The month that was added to last is the last one. */
function textWith(parcels: Parcels, text: string | undefined): string {
  const { months, writers } = decode(text);
  for (const { tally, units } of parcels) {
    const { label } = tally.month;
    const sum = (months.get(label) ?? 0) + units;
    months.delete(label);
    months.set(label, sum);
  }
  return JSON.stringify([[WRITERS, writers], ...[...months].slice(-MONTHS_KEPT)]);
}

function decode(text: string | undefined): Counts {
  const entries = text === undefined ? [] : (JSON.parse(text) as [string, number | string][]);
  const writers = entries.find(([label]) => label === WRITERS)?.[1] ?? "";
  const months = entries.filter((entry): entry is [string, number] => entry[0] !== WRITERS);
  return { months: new Map(months), writers: String(writers) };
}
