// One process's copy of the journal of pending transactions: hashes with rising numbers, none left out, the
// oldest forgotten. Many read it, and all who listen to nodes write it.
import type { JournalPart, State } from "../state/state.ts";

/** So many hashes are kept; a filter that fell behind them is lost. */
const KEPT = 32_768;

export class JournalCopy {
  /** The hashes from `#first` on. */
  #hashes: string[] = [];
  #first = 0;
  readonly #known = new Set<string>();
  readonly #journal: string;
  readonly #state: Pick<State, "append" | "readFrom">;

  constructor(
    { network }: { network: string },
    parts: { state: Pick<State, "append" | "readFrom"> },
  ) {
    this.#journal = `pending ${network}`;
    this.#state = parts.state;
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
    for (let end = Number.POSITIVE_INFINITY; this.end < end; ) {
      const part = await this.#state.readFrom(this.#journal, this.end);
      this.#take(part);
      end = part.end;
    }
  }

  /**
   * Writes hashes that it does not have; or reads instead what another one wrote since.
   *
   * @param least The journal ends here at least: lower numbers were told, or are left out.
   */
  async append(hashes: readonly string[], least: number): Promise<void> {
    const request = { at: this.end, items: hashes, kept: KEPT, least };
    const part = await this.#state.append(this.#journal, request);
    this.#take(part);
    if (this.end < part.end) await this.catchUp();
  }

  #take({ first, from, items }: JournalPart): void {
    if (from !== this.end) this.#beginAt(from);
    for (const hash of items) this.#known.add(hash);
    this.#hashes.push(...items);
    if (first <= this.#first) return;
    for (const hash of this.#hashes.splice(0, first - this.#first)) this.#known.delete(hash);
    this.#first = first;
  }

  /** Forgets all before: its numbers and what follows are not one row. */
  #beginAt(sequence: number): void {
    this.#hashes = [];
    this.#known.clear();
    this.#first = sequence;
  }
}
