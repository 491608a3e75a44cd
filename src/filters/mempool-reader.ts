// Reads the mempool journal: the hashes of pending transactions with consecutive numbers, of which the oldest are
// dropped. The writer listens to nodes and writes the journal (mempool-journal.ts); servers only read it.
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { Mutex } from "../lib/mutex.ts";
import type { JournalPart, State } from "../state/state.ts";

/** The part of the journal that filters for pending transactions use. */
export type MempoolFilters = {
  /** @param sequences The positions of the kept filters. */
  start(sequences: readonly number[]): Promise<void>;
  close(): Promise<void>;
  /** The position at which a new filter begins. @throws RpcError */
  begin(caller: { readonly signal: Signal }): Promise<number>;
  /** The first `most` hashes from this number on, as JSON; undefined when the journal has dropped some of them. */
  since(sequence: number, most: number): Promise<MempoolItems | undefined>;
};

export type MempoolItems = { readonly items: string[]; readonly at: { readonly sequence: number } };

/** The number of hashes that the journal keeps. A filter that is further behind is lost. */
const KEPT = 32_768;

/** One process's copy of the journal. */
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

  /** The number of the next hash. */
  get end(): number {
    return this.#first + this.#hashes.length;
  }

  has(hash: string): boolean {
    return this.#known.has(hash);
  }

  /** The first `most` hashes from this number on; undefined when the copy has dropped some of them. */
  since(sequence: number, most: number): MempoolItems | undefined {
    if (sequence < this.#first) return undefined;
    const start = sequence - this.#first;
    const hashes = this.#hashes.slice(start, start + most);
    return {
      items: hashes.map((hash) => `"${hash}"`),
      at: { sequence: sequence + hashes.length },
    };
  }

  /** Reads the hashes that were written since the last read. */
  async catchUp(): Promise<void> {
    for (let end = Number.POSITIVE_INFINITY; this.end < end; ) {
      const part = await this.#state.readFrom(this.#journal, this.end);
      this.#take(part);
      end = part.end;
    }
  }

  /**
   * Writes hashes that the journal does not have. When another process wrote meanwhile, reads that process's hashes
   * instead.
   * @param least The lowest end of the journal: clients got hashes with lower numbers, or the writer dropped the hashes.
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

  /** Drops all earlier hashes, since a gap separates their numbers from the next ones. */
  #beginAt(sequence: number): void {
    this.#hashes = [];
    this.#known.clear();
    this.#first = sequence;
  }
}

/** The process that listens to the nodes, as servers see it. */
export type MempoolWriter = {
  /** The position at which a new filter begins. @throws RpcError */
  beginPending(): Promise<number>;
  /** Called while filters exist, so that the writer listens to the nodes. */
  listenToPending(): void;
};

/** The pause between two messages to the writer that filters exist, in milliseconds. */
const TOLD_EVERY_MS = 30_000;

/** The journal for a process that does not listen to nodes. */
export class MempoolReader implements MempoolFilters {
  readonly #copy: JournalCopy;
  #toldAtMs = Number.NEGATIVE_INFINITY;
  readonly #reading = new Mutex();
  readonly #parts: { readonly writer: MempoolWriter; readonly clock: Pick<Clock, "now"> };

  constructor(
    options: { readonly network: string },
    parts: {
      readonly writer: MempoolWriter;
      readonly state: Pick<State, "append" | "readFrom">;
      readonly clock: Pick<Clock, "now">;
    },
  ) {
    this.#copy = new JournalCopy(options, parts);
    this.#parts = parts;
  }

  async start(): Promise<void> {}

  async close(): Promise<void> {
    await this.#reading.idle();
  }

  begin(): Promise<number> {
    return this.#parts.writer.beginPending();
  }

  async since(sequence: number, most: number): Promise<MempoolItems | undefined> {
    this.#tellWriter();
    await this.#reading.run(() => this.#copy.catchUp());
    return this.#copy.since(sequence, most);
  }

  #tellWriter(): void {
    const now = this.#parts.clock.now();
    if (now - this.#toldAtMs < TOLD_EVERY_MS) return;
    this.#toldAtMs = now;
    this.#parts.writer.listenToPending();
  }
}
