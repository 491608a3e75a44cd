// The record of one filter in the state, which other processes change, too. A change that cannot be written while the
// state is away is pending: this process writes the change later.

import type { Clock } from "../lib/clock.ts";
import { Mutex } from "../lib/mutex.ts";
import type { State, Texts, Updated } from "../state/state.ts";
import {
  type Criteria,
  decodeFilter,
  encodeFilter,
  type FilterRecord,
  type StoredFilter,
  withCriteria,
} from "./filter-record.ts";

export type KeptRecordOptions = {
  readonly key: string;
  readonly text: string;
  /** The criteria of a filter of logs; they never change. */
  readonly criteria?: Criteria | undefined;
};

export type KeptRecordParts = {
  readonly state: Pick<State, "get" | "update">;
  readonly clock: Pick<Clock, "sleep">;
};

export type Changed = Partial<Record<keyof FilterRecord, unknown>>;

/** The pause between attempts to write a pending change, in milliseconds. */
const FLUSHED_AGAIN_AFTER_MS = 250;

export class KeptRecord {
  /** The record as read or written last. Each change makes another object. */
  record: FilterRecord;
  /** The text of the record in the state. */
  #text: string;
  /**
   * A change that this process still has to write. The change is valid while the state has one of `texts`: the last known
   * text, and those of failed writes, which may have happened.
   */
  #pending: { readonly texts: readonly string[]; readonly changed: Changed } | undefined;
  #isFlushing = false;
  #isClosed = false;
  readonly #turns = new Mutex();
  readonly #key: string;
  readonly #criteria: Criteria | undefined;
  readonly #parts: KeptRecordParts;

  constructor({ key, text, criteria }: KeptRecordOptions, parts: KeptRecordParts) {
    this.#key = key;
    this.#criteria = criteria;
    this.#text = text;
    this.record = withCriteria(decodeFilter(text), criteria);
    this.#parts = parts;
  }

  /** Runs one task after the other. A task that fails does not stop the others. */
  inTurn<Value>(task: () => Promise<Value>): Promise<Value> {
    return this.#turns.run(task);
  }

  /** Ends the attempts to write a pending change. Resolves when no change is left to write, or the state is away. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#turns.idle();
  }

  get hasPendingWrite(): boolean {
    return this.#pending !== undefined;
  }

  /** Reads the record again, since another process may have changed it. @returns false when the record is gone. */
  async refresh(): Promise<boolean> {
    return this.#adopt(await this.#parts.state.get(this.#key));
  }

  /** Writes the change. @returns false when another process changed the record first. */
  async write(changed: Changed): Promise<boolean> {
    const record = this.#with(changed);
    const before = this.#text;
    const text = encodeFilter(record);
    const { isChanged } = await this.#update((there) => (there === before ? text : undefined));
    if (!isChanged) return false;
    this.record = record;
    this.#text = text;
    return true;
  }

  /** @param otherwise The change that is written later when the write fails: then the client gets an error, and no items. */
  async writeOrDefer(changed: Changed, otherwise: Changed): Promise<boolean> {
    try {
      return await this.write(changed);
    } catch (error) {
      this.#writeLater([encodeFilter(this.#with(changed))], otherwise);
      throw error;
    }
  }

  /** Writes the change in the background, and repeats the write until it succeeds. */
  writeLater(changed: Changed): void {
    this.#writeLater([this.#text], changed);
  }

  /** Writes the pending change. @throws While the state is away. */
  async flush(): Promise<void> {
    const pending = this.#pending;
    if (!pending) return;
    const { texts } = await this.#update((there) =>
      pending.texts.includes(there)
        ? encodeFilter({ ...decodeFilter(there), ...pending.changed } as StoredFilter)
        : undefined,
    );
    this.#pending = undefined;
    this.#adopt(texts[0]);
  }

  #writeLater(texts: readonly string[], changed: Changed): void {
    this.#pending = { texts: [...texts, ...(this.#pending?.texts ?? [])], changed };
    if (!this.#isFlushing) void this.#flushUntilWritten();
  }

  /** Does not wait for the next poll to write the owed change: the client may poll at another process next. */
  async #flushUntilWritten(): Promise<void> {
    this.#isFlushing = true;
    for (let isFirst = true; this.#pending && (isFirst || !this.#isClosed); isFirst = false) {
      if (!isFirst) await this.#parts.clock.sleep(FLUSHED_AGAIN_AFTER_MS);
      await this.inTurn(() => this.flush()).catch(() => undefined); // the state is away
    }
    this.#isFlushing = false;
  }

  #update(next: (there: string) => string | undefined): Promise<Updated> {
    const nextTexts = ([there]: Texts): Texts | undefined => {
      const text = there === undefined ? undefined : next(there);
      return text === undefined ? undefined : [text];
    };
    return this.#parts.state.update([this.#key], nextTexts, { known: [this.#text] });
  }

  #adopt(text: string | undefined): boolean {
    if (text === undefined || text === this.#text) return text !== undefined;
    this.#text = text;
    this.record = withCriteria(decodeFilter(text), this.#criteria);
    return true;
  }

  #with(changed: Changed): FilterRecord {
    return { ...this.record, ...changed } as FilterRecord;
  }
}
