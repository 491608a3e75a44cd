// Counts the units that all processes together used of an upstream in this calendar month. The count survives restarts.

import { type CalendarPeriod, DAY_MS, periodAt } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import { Mutex } from "../../lib/mutex.ts";
import { Outbox } from "../../lib/outbox.ts";
import { repeat } from "../../lib/waiting.ts";
import type { State, Texts, Updated } from "../../state/state.ts";

export type MonthCountOptions = {
  /** The key of the state's entry. */
  readonly key: string;
  /** The units that may be used in a month. */
  readonly limit: number;
};

export type MonthCountParts = {
  readonly clock: Pick<Clock, "now" | "wallTime" | "sleep">;
  readonly state: Pick<State, "get" | "update">;
};

/** The interval of writes. A crash loses the usage since the last write. */
const WRITTEN_EVERY_MS = 1000;
/** Two, so that a clock that is set wrong and then corrected finds its earlier count. */
const MONTHS_KEPT = 2;
/** The state may be unreachable for half of this time, and each use is still counted once. */
const KEPT_MS = 62 * DAY_MS;

/** Units by month, such as 2026-11. */
type Months = ReadonlyMap<string, number>;

export class MonthCount {
  /** The units that this process has used, and not yet written, by month. */
  readonly #unwritten = new Map<string, number>();
  /** The state's counts when last read or written. */
  #kept: Months = new Map();
  /** The month of the last count. */
  #month: CalendarPeriod;
  /** The state's texts when last read or written. */
  #known: Texts | undefined;
  /** Only one write at a time: two would add the same usage twice. */
  readonly #writing = new Mutex();
  readonly #closing = new AbortController();
  readonly #outbox: Outbox<Months, Updated>;
  readonly #options: MonthCountOptions;
  readonly #parts: MonthCountParts;

  constructor(options: MonthCountOptions, parts: MonthCountParts) {
    this.#options = options;
    this.#parts = parts;
    this.#month = periodAt("month", parts.clock.wallTime());
    this.#outbox = new Outbox(
      { keptMs: KEPT_MS },
      {
        clock: parts.clock,
        send: (added, id) =>
          parts.state.update([options.key], ([text]) => [textWith(added, text)], {
            id,
            ...(this.#known && { known: this.#known }),
          }),
        onDone: (added, { texts }) => {
          for (const [label, units] of added) this.#count(label, -units);
          this.#take(texts);
        },
      },
    );
  }

  /** Reads the kept count. If the state is unreachable, counting begins without it, and reads it later. */
  async start(): Promise<void> {
    const write = (): Promise<void> => this.#writing.run(() => this.#write());
    await write().catch(() => undefined);
    const { clock } = this.#parts;
    void repeat(WRITTEN_EVERY_MS, write, { clock, signal: this.#closing.signal });
  }

  get used(): number {
    const { label } = this.#running();
    return (this.#kept.get(label) ?? 0) + (this.#unwritten.get(label) ?? 0);
  }

  get left(): number {
    return Math.max(0, this.#options.limit - this.used);
  }

  add(cost: number): void {
    this.#month = this.#running();
    this.#count(this.#month.label, cost);
  }

  /** Writes the unwritten usage. @throws When that is impossible. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#writing.idle();
    if (this.#unwritten.size > 0) await this.#write();
  }

  #running(): CalendarPeriod {
    const wallMs = this.#parts.clock.wallTime();
    const { beginsAtMs, endsAtMs } = this.#month;
    return wallMs >= beginsAtMs && wallMs < endsAtMs ? this.#month : periodAt("month", wallMs);
  }

  #count(label: string, units: number): void {
    const sum = (this.#unwritten.get(label) ?? 0) + units;
    if (sum > 0) this.#unwritten.set(label, sum);
    else this.#unwritten.delete(label);
  }

  /** Adds this process's usage to the state's counts, or only reads them. */
  async #write(): Promise<void> {
    const { state } = this.#parts;
    await this.#outbox.send(() =>
      this.#unwritten.size > 0 ? new Map(this.#unwritten) : undefined,
    );
    if (!this.#known) this.#take([await state.get(this.#options.key)]);
  }

  #take(texts: Texts): void {
    this.#known = texts;
    this.#kept = decode(texts[0]).months;
  }
}

/** The content of the state's text. */
type Counts = {
  readonly months: Map<string, number>;
  /** Kept unchanged: a gateway of the previous version recognises its own writes by this text. */
  readonly writers: string;
};

const WRITERS = "writers";

/** The text with the units added; a month with added units moves to the end, so that old months are dropped first. */
function textWith(added: Months, text: string | undefined): string {
  const { months, writers } = decode(text);
  for (const [label, units] of added) {
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
