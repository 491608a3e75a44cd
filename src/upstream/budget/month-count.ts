// How much was used of an upstream in this calendar month, by all processes; it survives them.
import { randomBytes } from "node:crypto";
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
/** So many processes find out from the state whether it has their last write; more than share one node's budget. */
const WRITERS_KEPT = 64;
/** A write whose answer was lost arrives after so many later ones at most. */
const UNANSWERED_KEPT = 8;

/** What one write adds, to the tallies of this process. */
type Parcels = readonly { readonly tally: Tally; readonly units: number }[];

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
  /** Its writes are numbered, and the state has the number of the last one that it took. */
  readonly #writer = randomBytes(4).toString("hex");
  #lastWrite = 0;
  /** By number: nobody said whether the state took them. */
  readonly #unanswered = new Map<number, Parcels>();
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
    const hasNothing = (): boolean => this.#tallies.every(({ unwritten }) => unwritten === 0);
    while (!hasNothing() || !this.#isRead) {
      const text = await state.get(key);
      const counts = decode(text);
      this.#settle(counts.writes.get(this.#writer));
      for (const tally of this.#tallies) tally.kept = counts.months.get(tally.month.label) ?? 0;
      const parcels = this.#tallies.map((tally) => ({ tally, units: tally.unwritten }));
      for (const { tally, units } of parcels) add(counts.months, tally.month.label, units);
      const isWritten = hasNothing() || (await this.#replace({ text, counts, parcels }));
      if (!isWritten) continue;
      this.#isRead = true;
      for (const { tally, units } of parcels) {
        tally.kept = counts.months.get(tally.month.label) ?? 0;
        tally.unwritten -= units;
      }
    }
  }

  /** @returns Whether the state took it. @throws When nobody said so. */
  async #replace({
    text,
    counts,
    parcels,
  }: {
    text: string | undefined;
    counts: Counts;
    parcels: Parcels;
  }): Promise<boolean> {
    this.#lastWrite += 1;
    const number = this.#lastWrite;
    counts.writes.delete(this.#writer);
    counts.writes.set(this.#writer, number);
    this.#unanswered.set(number, parcels);
    const isTaken = await this.#parts.state.replace(this.#options.key, text, encode(counts));
    // Each write expects what the one before left: of those that were not answered, none comes any more.
    if (isTaken) this.#unanswered.clear();
    else this.#unanswered.delete(number);
    return isTaken;
  }

  /** What the state has of ours is not added again. @param number Of the last write that it took. */
  #settle(number: number | undefined): void {
    const arrived = number === undefined ? undefined : this.#unanswered.get(number);
    for (const { tally, units } of arrived ?? []) tally.unwritten -= units;
    if (arrived) this.#unanswered.clear();
    for (const old of [...this.#unanswered.keys()].slice(0, -UNANSWERED_KEPT))
      this.#unanswered.delete(old);
  }
}

/** The month that was added to last stands last. */
function add(counts: Map<string, number>, label: string, units: number): void {
  const sum = (counts.get(label) ?? 0) + units;
  counts.delete(label);
  counts.set(label, sum);
}

/** What the state has: the use of each month, and the number of each writer's last write. */
type Counts = { readonly months: Map<string, number>; readonly writes: Map<string, number> };

/** The writers come first: a gateway of an earlier version takes them for a month that is long over. */
const WRITERS = "writers";

function encode({ months, writes }: Counts): string {
  const writers = [...writes].slice(-WRITERS_KEPT).flat().join(" ");
  return JSON.stringify([[WRITERS, writers], ...[...months].slice(-MONTHS_KEPT)]);
}

function decode(text: string | undefined): Counts {
  const entries = text === undefined ? [] : (JSON.parse(text) as [string, number | string][]);
  const months = new Map<string, number>();
  const writes = new Map<string, number>();
  for (const [label, value] of entries) {
    if (typeof value === "number") months.set(label, value);
    const words = label === WRITERS ? String(value).split(" ") : [];
    for (let at = 0; at + 1 < words.length; at += 2)
      writes.set(words[at] ?? "", Number(words[at + 1]));
  }
  return { months, writes };
}
