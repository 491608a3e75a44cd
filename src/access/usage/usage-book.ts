// The usage of all keys: counted in memory, and added to the state's counters twice a second.

import type { Logger } from "pino";
import { DAY_MS, dayOf, daysIn } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import { Mutex } from "../../lib/mutex.ts";
import { Outbox } from "../../lib/outbox.ts";
import { repeat } from "../../lib/waiting.ts";
import type { Addition, State } from "../../state/state.ts";
import { DayUsage, KeyUsage, type KeyUsageParts, usageEntryKey } from "./key-usage.ts";
import { usageRows } from "./usage-report.ts";

/** A killed process loses at most the counts of this time. */
const WRITE_EVERY_MS = 500;
/** How many keys one operation adds counts for: other work gets a turn between two operations. */
const BATCH = 100;
/** The state may be unreachable for half of this time: each call is still counted once. */
const KEPT_MS = 62 * DAY_MS;

export type UsageBookOptions = {
  /** The id of this process, which is unique and stays the same after a restart; see `memberId`. */
  readonly member: string;
  /** How many days of usage the state keeps. */
  readonly keptDays: number;
};

export type UsageBookParts = {
  readonly state: Pick<State, "add" | "list" | "update">;
  readonly clock: Clock;
  readonly log: Pick<Logger, "warn" | "info" | "error">;
};

export class UsageBook {
  #options: UsageBookOptions;
  readonly #parts: UsageBookParts;
  readonly #keys = new Map<string, KeyUsage>();
  /** By the key of the entry: today's counts, and counts of earlier days that are not written yet. */
  readonly #days = new Map<string, DayUsage>();
  readonly #outbox: Outbox<readonly Addition[], void>;
  readonly #closing = new AbortController();
  readonly #writing = new Mutex();
  /** The write that begins after the running one. */
  #next: Promise<void> | undefined;
  #isFailing = false;
  #loop: Promise<unknown> = Promise.resolve();
  readonly #keyParts: KeyUsageParts;

  constructor(options: UsageBookOptions, parts: UsageBookParts) {
    this.#options = options;
    this.#parts = parts;
    this.#outbox = new Outbox(
      { keptMs: KEPT_MS },
      {
        clock: parts.clock,
        send: (additions, id) => parts.state.add(additions, id),
        onDone: () => undefined,
      },
    );
    this.#keyParts = {
      clock: parts.clock,
      open: (day, name) => this.#open(day, name),
      read: (key, range) => this.#read(key, range),
    };
  }

  /** The usage of the key with this name; always the same object for the name. */
  of(name: string): KeyUsage {
    const known = this.#keys.get(name);
    if (known) return known;
    const usage = new KeyUsage(name, this.#keyParts);
    this.#keys.set(name, usage);
    return usage;
  }

  reconfigure({ keptDays }: Pick<UsageBookOptions, "keptDays">): void {
    this.#options = { ...this.#options, keptDays };
  }

  /** Starts the loops that write usage and remove old usage. */
  start(): void {
    const { signal } = this.#closing;
    const keptDays = (): number => this.#options.keptDays;
    const { clock } = this.#parts;
    this.#loop = Promise.all([
      repeat(WRITE_EVERY_MS, () => this.#writeOrTell(), { clock, signal }),
      keepRemovingOldUsage({ keptDays, signal }, this.#parts),
    ]);
  }

  /** Writes the rest. Counts that the state does not take now are lost, and this is logged. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
    await this.write().catch((error: unknown) =>
      this.#parts.log.error({ err: error }, "the last counts of usage could not be written"),
    );
  }

  /** Resolves when the state has all counts from before this call. @throws When the state cannot be reached. */
  write(): Promise<void> {
    this.#next ??= this.#writing.run(() => {
      this.#next = undefined;
      return this.#writeOnce();
    });
    return this.#next;
  }

  async *#read(
    ...[key, range]: Parameters<KeyUsageParts["read"]>
  ): ReturnType<KeyUsageParts["read"]> {
    await this.write();
    yield* usageRows(this.#parts.state, { ...range, key }, this.#parts);
  }

  async #writeOnce(): Promise<void> {
    const at = { nowMs: this.#parts.clock.now(), isLast: this.#closing.signal.aborted };
    const changed = [...this.#days.values()].filter((day) => !day.isEmpty);
    await this.#outbox.send(() => undefined); // repeats only an unanswered operation
    for (let from = 0; from < changed.length; from += BATCH) {
      const days = changed.slice(from, from + BATCH);
      await this.#outbox.send(() => {
        const additions = days.flatMap((day) => day.takeOut(at));
        return additions.length > 0 ? additions : undefined;
      });
      await this.#parts.clock.yield();
    }
    const today = dayOf(this.#parts.clock.wallTime());
    for (const [entryKey, day] of this.#days) {
      if (day.day === today || !day.isEmpty) continue;
      day.isOpen = false;
      this.#days.delete(entryKey);
    }
  }

  async #writeOrTell(): Promise<void> {
    const { log } = this.#parts;
    try {
      await this.write();
      if (this.#isFailing) log.info("usage is written again");
      this.#isFailing = false;
    } catch (error) {
      const reason = (error as Error).message;
      if (!this.#isFailing)
        log.warn(
          { reason },
          "usage cannot be written now: it is counted in memory, and written later",
        );
      this.#isFailing = true;
    }
  }

  #open(day: string, name: string): DayUsage {
    const of = { day, key: name, member: this.#options.member };
    const entryKey = usageEntryKey(of);
    const known = this.#days.get(entryKey);
    if (known) return known;
    const opened = new DayUsage(of);
    this.#days.set(entryKey, opened);
    return opened;
  }
}

type Parts = { readonly state: Pick<State, "list" | "update">; readonly clock: Clock };

/** How often old usage is looked for; the first time is this long after the start. */
const LOOK_EVERY_MS = 60_000;

/** How many days before today keep their hours: the last 48 hours begin two days before today at the earliest. */
const KEPT_DAYS_OF_HOURS = 2;

/** No gateway counted before this year. */
const FIRST_YEAR = 2025;

/** Removes old usage from the state, once a day and when `keptDays` falls, until the signal is aborted. */
export function keepRemovingOldUsage(
  { keptDays, signal }: { readonly keptDays: () => number; readonly signal: AbortSignal },
  parts: Parts,
): Promise<void> {
  const { clock } = parts;
  let removedBefore = "";
  const look = async (): Promise<void> => {
    const nowMs = clock.wallTime();
    const firstKept = dayOf(nowMs - (keptDays() - 1) * DAY_MS);
    if (firstKept === removedBefore) return;
    // This throws while the state cannot be reached; the next look tries again.
    await removeBefore(firstKept, { ...parts, signal, what: "usage " });
    const firstOfHours = dayOf(nowMs - KEPT_DAYS_OF_HOURS * DAY_MS);
    await removeBefore(firstOfHours, { ...parts, signal, what: "usage hours " });
    removedBefore = firstKept;
  };
  return repeat(LOOK_EVERY_MS, look, { clock, signal });
}

/** Removes entries of earlier days. Several members may do this at the same time. */
async function removeBefore(
  firstKept: string,
  { state, clock, signal, what }: Parts & { readonly signal: AbortSignal; readonly what: string },
): Promise<void> {
  for (const prefix of prefixesBefore(firstKept)) {
    for (const { key, text } of await state.list(`${what}${prefix}`)) {
      if (signal.aborted) return;
      await state.update([key], () => [undefined], { known: [text] });
    }
    await clock.yield();
  }
}

/** Prefixes that cover all earlier days, whole years and months first: nearly all of their lists are empty. */
export function prefixesBefore(day: string): string[] {
  const [year = "", month = ""] = day.split("-");
  const years = numbered(FIRST_YEAR, Number(year));
  const months = numbered(1, Number(month)).map(
    (each) => `${year}-${String(each).padStart(2, "0")}`,
  );
  const days = daysIn({ from: `${year}-${month}-01`, to: day }).slice(0, -1);
  return [...years.map((each) => `${each}-`), ...months.map((each) => `${each}-`), ...days];
}

const numbered = (from: number, before: number): number[] =>
  Array.from({ length: Math.max(0, before - from) }, (_, index) => from + index);
