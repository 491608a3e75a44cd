// The record of one filter as the state has it. Other processes change it, too. A change that could not be written
// while the state was away is owed, and written later.

import type { Clock } from "../lib/clock.ts";
import { Mutex } from "../lib/mutex.ts";
import type { State, Texts, Updated } from "../state/state.ts";
import { decodeFilter, encodeFilter, type FilterRecord } from "./filter-record.ts";

export type KeptRecordParts = {
  readonly state: Pick<State, "get" | "update">;
  readonly clock: Pick<Clock, "sleep">;
};

export type Changed = Partial<Record<keyof FilterRecord, unknown>>;

/** How soon an owed change is tried again, in milliseconds. */
const OWED_AGAIN_AFTER_MS = 250;

export class KeptRecord {
  /** As it was read or written last. Each change makes another object. */
  record: FilterRecord;
  /** The text of the record in the state. */
  #text: string;
  /**
   * A change that the state does not have yet, because it could not be reached. The change is made if the state still
   * has one of these texts: a write that failed may have happened.
   */
  #owed: { readonly texts: readonly string[]; readonly changed: Changed } | undefined;
  #isPaying = false;
  #isClosed = false;
  readonly #turns = new Mutex();
  readonly #key: string;
  readonly #parts: KeptRecordParts;

  constructor(options: { key: string; text: string }, parts: KeptRecordParts) {
    this.#key = options.key;
    this.#text = options.text;
    this.record = decodeFilter(options.text);
    this.#parts = parts;
  }

  /** Runs one task after the other. A task that fails does not stop the others. */
  inTurn<Value>(task: () => Promise<Value>): Promise<Value> {
    return this.#turns.run(task);
  }

  /** Resolves when nothing is left to write, or the state is away. */
  async atRest(): Promise<void> {
    await this.#turns.idle();
  }

  /** As `atRest`, but what cannot be written is not tried again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#turns.idle();
  }

  get isOwed(): boolean {
    return this.#owed !== undefined;
  }

  /** Reads the record again, since another process may have changed it. @returns false when it is gone. */
  async refresh(): Promise<boolean> {
    return this.#adopt(await this.#parts.state.get(this.#key));
  }

  /** @returns false when another process was faster. */
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

  /** @param otherwise What is owed instead when the write failed: the client is told nothing then. */
  async writeOrOwe(changed: Changed, otherwise: Changed): Promise<boolean> {
    try {
      return await this.write(changed);
    } catch (error) {
      this.#owe([encodeFilter(this.#with(changed))], otherwise);
      throw error;
    }
  }

  /** Writes the change, again and again until that succeeds; nobody waits for it. */
  owe(changed: Changed): void {
    this.#owe([this.#text], changed);
  }

  /** Writes what is owed. @throws While the state is away. */
  async pay(): Promise<void> {
    const owed = this.#owed;
    if (!owed) return;
    const { texts } = await this.#update((there) =>
      owed.texts.includes(there)
        ? encodeFilter({ ...decodeFilter(there), ...owed.changed } as FilterRecord)
        : undefined,
    );
    this.#owed = undefined;
    this.#adopt(texts[0]);
  }

  #owe(texts: readonly string[], changed: Changed): void {
    this.#owed = { texts: [...texts, ...(this.#owed?.texts ?? [])], changed };
    if (!this.#isPaying) void this.#payAgainAndAgain();
  }

  /** Takes turns with the polls: another process may poll next, and must not wait for a poll here. */
  async #payAgainAndAgain(): Promise<void> {
    this.#isPaying = true;
    for (let isFirst = true; this.#owed && (isFirst || !this.#isClosed); isFirst = false) {
      if (!isFirst) await this.#parts.clock.sleep(OWED_AGAIN_AFTER_MS);
      await this.inTurn(() => this.pay()).catch(() => undefined); // the state is away
    }
    this.#isPaying = false;
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
    this.record = decodeFilter(text);
    return true;
  }

  #with(changed: Changed): FilterRecord {
    return { ...this.record, ...changed } as FilterRecord;
  }
}
