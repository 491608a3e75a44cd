// The journal of pending transactions as it is kept in the state: hashes with rising numbers, none left
// out, the oldest forgotten. Many read it, each with a copy; one writes it (journal-lease.ts).
import type { Change, Entry, State } from "../state/state.ts";

export type JournalState = Pick<State, "get" | "list" | "change">;

/** Keys are in the order of their numbers. */
const DIGITS = 12;
/** What is listed at once: numbers that differ in so many last digits. */
const PAGE_DIGITS = 2;

export class JournalCopy {
  /** The hashes from `#first` on. */
  #hashes: string[] = [];
  #first = 0;
  readonly #known = new Set<string>();
  readonly #prefix: string;
  readonly #firstKey: string;
  readonly #state: JournalState;

  constructor({ network }: { network: string }, parts: { state: JournalState }) {
    this.#prefix = `pending ${network} `;
    // No network is called so: their names have no underscores.
    this.#firstKey = `pending _first ${network}`;
    this.#state = parts.state;
  }

  get first(): number {
    return this.#first;
  }

  /** The number that comes next. */
  get end(): number {
    return this.#first + this.#hashes.length;
  }

  has(hash: string): boolean {
    return this.#known.has(hash);
  }

  /** @returns undefined when some of them are no longer kept. */
  since(sequence: number, most: number): readonly string[] | undefined {
    if (sequence < this.#first) return undefined;
    const start = sequence - this.#first;
    return this.#hashes.slice(start, start + most);
  }

  /** Reads what was written since. */
  async catchUp(): Promise<void> {
    const first = Number.parseInt((await this.#state.get(this.#firstKey)) ?? "0", 16);
    if (first > this.end) await this.readAnew();
    this.#forgetBefore(first);
    for (;;) {
      const { end } = this;
      if ((await this.#state.get(this.#keyOf(end))) === undefined) return;
      const page = this.#keyOf(end).slice(0, -PAGE_DIGITS);
      this.#take(await this.#state.list(page));
      if (this.end === end) return;
    }
  }

  /** @returns What takes away entries that are not of the row any more. */
  async readAnew(): Promise<Change[]> {
    const first = Number.parseInt((await this.#state.get(this.#firstKey)) ?? "0", 16);
    const entries = await this.#state.list(this.#prefix);
    const row = entries.filter((entry) => this.#sequenceOf(entry) >= first);
    const [oldest] = row;
    this.beginAt(oldest ? this.#sequenceOf(oldest) : Math.max(first, this.end));
    this.#take(row);
    const stale = entries.slice(0, entries.length - row.length);
    return stale.map(({ key, text }) => ({ key, expected: text, next: undefined }));
  }

  /** Forgets all before: its numbers and what follows are not one row. */
  beginAt(sequence: number): void {
    this.#hashes = [];
    this.#known.clear();
    this.#first = sequence;
  }

  // For the one who writes.

  /** What adds the hashes. */
  additionsOf(hashes: readonly string[]): Change[] {
    return hashes.map((hash, index) => ({
      key: this.#keyOf(this.end + index),
      expected: undefined,
      next: hash,
    }));
  }

  /** They are in the state now. */
  add(hashes: readonly string[]): void {
    for (const hash of hashes) this.#known.add(hash);
    this.#hashes.push(...hashes);
  }

  /** What takes the oldest away, and says from where on there are any. */
  async removalsOf(count: number): Promise<Change[]> {
    const removals = this.#hashes.slice(0, count).map((hash, index) => ({
      key: this.#keyOf(this.#first + index),
      expected: hash,
      next: undefined,
    }));
    return [...removals, await this.beginningAt(this.#first + removals.length)];
  }

  async beginningAt(sequence: number): Promise<Change> {
    const expected = await this.#state.get(this.#firstKey);
    return { key: this.#firstKey, expected, next: sequence.toString(16) };
  }

  /** They are no longer in the state. */
  forget(count: number): void {
    for (const hash of this.#hashes.splice(0, count)) this.#known.delete(hash);
    this.#first += count;
  }

  #forgetBefore(first: number): void {
    if (first > this.#first) this.forget(first - this.#first);
  }

  /** Those of them that come next; what another process writes or forgets meanwhile may be among them or not. */
  #take(entries: readonly Entry[]): void {
    for (const entry of entries) if (this.#sequenceOf(entry) === this.end) this.add([entry.text]);
  }

  #keyOf(sequence: number): string {
    return this.#prefix + sequence.toString(16).padStart(DIGITS, "0");
  }

  #sequenceOf({ key }: Entry): number {
    return Number.parseInt(key.slice(this.#prefix.length), 16);
  }
}
