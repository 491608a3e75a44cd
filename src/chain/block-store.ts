// Writes the block store of one network. Every change is one transaction, so the store always has a head that the chain
// really had. `block-tables.ts` reads the store.

import { BlockEntries } from "./block-entries.ts";
import { type BlockRecord, isHuge } from "./block-record.ts";
import {
  append,
  BlockTables,
  compressed,
  isOfChain,
  type LogSegment,
  MADE_FOR,
  noteKey,
  packed,
  positionBytes,
  STORE_FORMAT,
  type StoredTracePosition,
  traceKey,
} from "./block-tables.ts";
import { BlocksBelow } from "./blocks-below.ts";
import { ColdBlocks } from "./cold-blocks.ts";
import { KeptSegments, type SegmentSelector, type UpstreamLogs } from "./kept-segments.ts";
import { HugeErasures, inTransactions, StoreEviction, type StoreSize } from "./store-eviction.ts";
import type { Position } from "./stored-block.ts";

/** The size of a trial write: as much as a small block. */
const PROBE_BYTES = 16_384;

/** Blocks removed and added in one step. */
export type ChainUpdate = {
  /** How many of the newest blocks are no longer canonical. */
  readonly removed: number;
  /** The blocks in their place, oldest first, linked to the blocks that stay and to each other. */
  readonly added: readonly BlockRecord[];
};

/** The name of the note that lists huge blocks whose writing has begun. */
const STAGED = "staged";
const NONE: ReadonlySet<BlockRecord> = new Set();

export type StoreOptions = StoreSize & {
  readonly path: string;
  /**
   * Whether a change blocks this thread until it is done. A thread may be terminated between two steps of its program; a
   * transaction that LMDB's own thread has begun would then wait for this thread, and hold the lock, for ever. Left out:
   * LMDB's thread begins and commits.
   */
  readonly isUninterrupted?: boolean;
};

/** Carries out a write, as `Writable.run`. */
export type RunWrite = <Value>(write: () => Promise<Value>) => Promise<Value>;

export class BlockStore {
  /** Reads the stored blocks. */
  readonly tables: BlockTables;
  readonly #run: RunWrite;
  readonly #isUninterrupted: boolean;
  #size: StoreSize;
  readonly #entries: BlockEntries;
  readonly #keptSegments: KeptSegments;
  readonly #eviction: StoreEviction;
  readonly #erasures: HugeErasures;
  readonly #cold: ColdBlocks;
  /** Writes the blocks that the backfill fills in below the tail. */
  readonly below: BlocksBelow;

  /** @throws When the folder cannot be read or written. */
  constructor(options: StoreOptions, parts: { run: RunWrite } = { run: (write) => write() }) {
    this.#run = parts.run;
    this.#isUninterrupted = options.isUninterrupted ?? false;
    const tables = new BlockTables(options);
    const entries = new BlockEntries(tables);
    this.#size = options;
    const size = (): StoreSize => this.#size;
    const keptSegments = new KeptSegments({ tables, size });
    this.tables = tables;
    this.#entries = entries;
    this.#keptSegments = keptSegments;
    const eviction = new StoreEviction({ tables, entries, keptSegments, size });
    this.#eviction = eviction;
    const write = this.#write;
    this.#erasures = new HugeErasures({ tables, entries, eviction, write });
    const cold = new ColdBlocks({ tables, entries, write, size });
    this.#cold = cold;
    this.below = new BlocksBelow({ tables, entries, cold, eviction, write, change: this.#change });
  }

  /** Makes the store ready for a chain: removes unfinished writes, or all data of another chain or an older format. */
  async prepareFor(chainId: number): Promise<{ wasCleared: boolean }> {
    const wanted = `${STORE_FORMAT} ${chainId}`;
    const found = this.tables.note(MADE_FOR);
    if (isOfChain(found, chainId)) {
      if (found !== wanted) await this.setNote(MADE_FOR, wanted);
      await this.#clearStaged();
      await this.#erasures.finish();
      await this.below.clearUnfinished();
      return { wasCleared: false };
    }
    await this.clear();
    await this.setNote(MADE_FOR, wanted);
    return { wasCleared: found !== undefined };
  }

  /** Removes the remains of huge blocks whose writing was cut off or failed. */
  async #clearStaged(): Promise<void> {
    const note = this.tables.note(STAGED);
    if (note === undefined) return;
    await this.#write(() => {
      for (const position of note.split(",")) {
        const [hash = "", number] = position.split(" ");
        if (!this.tables.outline(hash)) this.#entries.eraseStaged(hash, Number(number));
      }
      this.tables.notes.removeSync(noteKey(STAGED));
    });
  }

  /** Sets another size. The next changes remove the blocks that are too many. */
  resize(size: StoreSize): void {
    this.#size = size;
  }

  get size(): StoreSize {
    return this.#size;
  }

  async setNote(name: string, text: string): Promise<void> {
    const { notes } = this.tables;
    await this.#run(() => notes.put(noteKey(name), Buffer.from(text)));
  }

  /** Removes all blocks; the notes stay. */
  async clear(): Promise<void> {
    await this.#erasures.finish();
    await this.#write(() => this.tables.clear());
  }

  async close(): Promise<void> {
    await this.#erasures.close();
    await this.#cold.close();
    await this.tables.close();
  }

  // Writing: only the writer writes, one change after the other. A change that the disk refuses throws NotWritable, and
  // leaves the store as it was.

  /** Writes something, to find out whether the store can be written. */
  async probe(): Promise<void> {
    await this.tables.notes.put(noteKey("probe"), Buffer.alloc(PROBE_BYTES));
  }

  /** Makes the whole change, or nothing of it. */
  readonly #write = <Value>(change: () => Value): Promise<Value> => {
    const { root } = this.tables;
    return this.#run(async () =>
      this.#isUninterrupted ? root.transactionSync(change) : root.transaction(change),
    );
  };

  /** As `#write`, but first waits for the background work (erasing, compressing), which goes on after the change. */
  readonly #change = async <Value>(change: () => Value): Promise<Value> => {
    await this.#erasures.finish();
    await this.#cold.finish();
    const value = await this.#write(change);
    this.#erasures.begin();
    this.#cold.begin();
    return value;
  };

  /** Applies a chain update in one transaction, and removes the blocks that leave the window. */
  async apply({ removed, added }: ChainUpdate): Promise<void> {
    const { head } = this.tables;
    const top = (head?.number ?? -1) - removed;
    const newest = added.at(-1);
    const stays = top < 0 ? undefined : this.tables.hashAt(top);
    if (!newest && stays === undefined) throw new Error(`there is no block ${top} to fall back to`);
    await this.#clearStaged();
    await this.#erasures.finish();
    // Readers do not find a staged block that is above the head.
    const staged = await this.#stage(removed === 0 ? added.filter(isHuge) : []);
    await this.#change(() => {
      for (let number = top + removed; number > top; number -= 1) this.#entries.drop(number);
      this.#putCanonical(added, staged);
      if (staged.size > 0) this.tables.notes.removeSync(noteKey(STAGED));
      const next = newest ? positionOf(newest) : { number: top, hash: stays ?? "" };
      this.tables.putHead(next);
      const first = added[0]?.outline.number ?? top;
      this.#eviction.evictBelowWindow(next.number, Math.min(this.tables.tail ?? first, first));
    });
  }

  /** Removes all blocks, and starts over with this one. */
  async startAt(record: BlockRecord): Promise<void> {
    await this.#change(() => {
      this.tables.clear();
      this.#putCanonical([record]);
      this.tables.putHead(positionOf(record));
      this.tables.putTail(record.outline.number);
    });
  }

  /** Keeps a block older than the window, while the budget allows. @param isCanonical A caller named it by its number. */
  async keep(record: BlockRecord, isCanonical: boolean): Promise<void> {
    const { kept } = this.tables;
    await this.#change(() => {
      if (isCanonical && this.tables.hashAt(record.outline.number) === undefined)
        this.#entries.makeCanonical(record);
      if (this.#entries.hasAllOf(record)) return;
      const isNew = this.tables.outline(record.hash) === undefined;
      this.#entries.putParts(record, packed);
      if (isNew) append(kept, positionBytes(positionOf(record)));
      this.#eviction.evictToBudget();
    });
  }

  /** Keeps the JSON of a trace with its block, if the store has the block. */
  async keepTrace(hash: string, position: StoredTracePosition, json: Buffer): Promise<void> {
    const { traces } = this.tables;
    await this.#change(() => {
      if (!this.tables.outline(hash)) return;
      traces.putSync(traceKey(hash, position), compressed(json));
      this.#eviction.evictToBudget();
    });
  }

  /** Keeps logs of final blocks older than the window, while the budget allows. */
  async keepSegment(segment: LogSegment, logs: UpstreamLogs): Promise<void> {
    await this.#change(() => {
      this.#keptSegments.put(segment, logs);
      this.#eviction.evictToBudget();
    });
  }

  /** Writes the bulk of huge blocks in transactions of their own, so that other work runs in between. */
  async #stage(records: readonly BlockRecord[]): Promise<ReadonlySet<BlockRecord>> {
    const write = this.#write;
    const staged = records.map(({ hash, outline }) => `${hash} ${outline.number}`);
    if (staged.length > 0) await this.setNote(STAGED, staged.join(","));
    for (const record of records) await inTransactions(this.#entries.stage(record), { write });
    return new Set(records);
  }

  /** Removes the kept logs that `forgotten` selects. @returns How many segments were removed. */
  forgetSegments(forgotten: SegmentSelector): Promise<number> {
    return this.#write(() => this.#keptSegments.remove(forgotten));
  }

  #putCanonical(records: readonly BlockRecord[], staged: ReadonlySet<BlockRecord> = NONE): void {
    const whole = records.filter((record) => !staged.has(record));
    for (const record of records) {
      if (staged.has(record)) this.#entries.finish(record);
      else {
        this.#entries.putParts(record);
        this.#entries.makeCanonical(record);
      }
    }
    this.#entries.indexLogs(whole);
  }
}

const positionOf = ({ outline, hash }: BlockRecord): Position => ({
  number: outline.number,
  hash,
});
