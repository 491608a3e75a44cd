// Fills the window backwards from the oldest stored block, in the background.
import type { Logger } from "pino";
import { NotWritable } from "../disk/writable.ts";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { BlockSource } from "./block-source.ts";
import type { FollowedUpstream } from "./follower.ts";
import type { IngestedBlock, StoreWriting } from "./writing.ts";

export type BackfillParts = {
  readonly store: Pick<StoreWriting, "tables" | "size" | "below">;
  readonly source: Pick<BlockSource, "fetch">;
  readonly nodes: () => readonly FollowedUpstream[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "windowFilled">;
};

/** How many blocks are fetched at the same time: few, since callers wait for the same nodes. */
const AT_ONCE = 4;
/**
 * At most this many blocks are fetched ahead and not written, if they have fewer than `AHEAD_BYTES`, else `AT_ONCE`: so
 * one slow block does not keep the others waiting.
 */
const AHEAD = 16;
const AHEAD_BYTES = 16 * 2 ** 20;
/**
 * How many blocks one transaction writes: each transaction flushes to disk, and rewrites the pages that lead to its
 * changes. It writes fewer blocks when they have this many bytes, or came no faster than in this time, in milliseconds.
 */
const WRITTEN_AT_ONCE = 16;
const WRITTEN_BYTES = 8 * 2 ** 20;
const WRITTEN_AFTER_MS = 500;
/** How long the backfill rests after each group of blocks, as a share of the time that the group took. */
const REST = 1 / 32;
/** The tail moves after this many blocks: an entry of the log index costs the same for one block as for many. */
const INDEXED_AT_ONCE = 128;
/**
 * The tail moves the first time after this many blocks. They are few, since after a reorg below the tail the store starts
 * over, and filters cannot report the removed blocks.
 */
const FIRST_INDEXED = 4;
/** Where blocks come slowly, the tail moves after this time at the latest, in milliseconds. */
const INDEXED_AFTER_MS = 2_000;
/** The backfill stops when the store uses this share of its disk budget: the newest blocks need room. */
const FULL = 0.9;
const LOG_EVERY_MS = 10_000;
/** The first pause after a block that no node gave, in milliseconds; each further pause is twice as long, up to the last. */
const RETRY_AFTER_MS = 2_000;
const RETRY_AFTER_MOST_MS = 60_000;
/** At most so many heights in a row are taken for heights without a block. The parent hash of the next block shows it. */
const MOST_WITHOUT_BLOCK = 16;

export class Backfill {
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #wake: () => void = () => undefined;
  /** Whether the log says that the window is filled. The window of a young chain is filled from the start. */
  #isFilled = false;
  /** The lowest block number that can be filled in: the block below it is larger than `limits.block` allows. */
  #floor = 0;
  readonly #network: string;
  readonly #parts: BackfillParts;

  constructor({ network }: { readonly network: string }, parts: BackfillParts) {
    this.#network = network;
    this.#parts = parts;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Tries again to add blocks that were too large: `limits.block` may have changed. */
  reconsider(): void {
    this.#floor = 0;
    this.#wake();
  }

  /** Looks for missing blocks again, after a chain update. */
  look(): void {
    this.#wake();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { log } = this.#parts;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const { promise: woken, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      try {
        await this.#fill();
      } catch (error) {
        // `Writable` logs that the store cannot be written; the next chain update starts the backfill again.
        if (!signal.aborted && !(error instanceof NotWritable))
          log.error({ err: error }, "the window could not be filled, and the gateway tries again");
      }
      if (!signal.aborted) await woken;
    }
  }

  /** How many blocks are missing below the tail; 0 or less when none is, and 0 without a chain or without room. */
  #missing(): number {
    const { store } = this.#parts;
    const { size, tables } = store;
    const { head, tail } = tables;
    if (!head || tail === undefined || tables.bytes > size.bytes * FULL) return 0;
    return tail - Math.max(this.#floor, head.number - size.windowBlocks + 1);
  }

  async #fill(): Promise<void> {
    const { clock, log, store } = this.#parts;
    const startedAt = clock.now();
    let loggedAt = startedAt;
    let filled = 0;
    let retryAfterMs = RETRY_AFTER_MS;
    for (let missing = this.#missing(); missing > 0; missing = this.#missing()) {
      const added = await this.#addSome(missing);
      if (this.#closing.signal.aborted) return;
      if (added === 0) {
        await clock.sleep(retryAfterMs, this.#closing.signal).catch(() => undefined);
        retryAfterMs = Math.min(RETRY_AFTER_MOST_MS, 2 * retryAfterMs);
      } else retryAfterMs = RETRY_AFTER_MS;
      filled += added;
      const now = clock.now();
      const progress = this.#progress(filled, now - startedAt);
      this.#measure(progress);
      if (now - loggedAt < LOG_EVERY_MS) continue;
      loggedAt = now;
      log.info(progress, "filling the window");
    }
    const { head, tail } = store.tables;
    if (!head || (filled === 0 && this.#isFilled)) return;
    this.#isFilled = true;
    const seconds = Math.round((clock.now() - startedAt) / 1000);
    log.info({ blocks: filled, from: tail, to: head?.number, seconds }, "the window is filled");
  }

  #progress(filled: number, ms: number) {
    const blocksPerSecond = Math.round((filled / ms) * 10_000) / 10;
    const left = this.#missing();
    const secondsLeft = Math.round(left / blocksPerSecond);
    return { blocks: filled, blocksPerSecond, left, secondsLeft };
  }

  #measure({ blocksPerSecond, left }: { blocksPerSecond: number; left: number }): void {
    const { head, tail = 0 } = this.#parts.store.tables;
    const secondsLeft = left / blocksPerSecond || 0;
    const blocks = head ? head.number - tail + 1 : 0;
    this.#parts.metrics.windowFilled(this.#network, { blocks, blocksPerSecond, secondsLeft });
  }

  /** Fetches and adds some blocks. @returns By how many blocks the tail moved. */
  async #addSome(missing: number): Promise<number> {
    const { store, clock } = this.#parts;
    const { tables } = store;
    const { tail } = tables;
    if (tail === undefined) return 0;
    const startedAt = clock.now();
    const count = Math.min(missing, this.#atOnce());
    const hash = tables.hashAt(tail) ?? "";
    const options = { count, parentHash: tables.outline(hash)?.parentHash };
    const fetching = new FetchedInOrder(options, (index) => this.#fetch(tail - 1 - index));
    let added = Promise.resolve(true);
    try {
      for (;;) {
        const takenAt = clock.now();
        if (this.#closing.signal.aborted || takenAt - startedAt > INDEXED_AFTER_MS) fetching.end();
        const records = await fetching.take(
          (taken) =>
            taken.length === WRITTEN_AT_ONCE ||
            bytesOf(taken) >= WRITTEN_BYTES ||
            clock.now() - takenAt >= WRITTEN_AFTER_MS,
        );
        if (!(await added) || records.length === 0) break;
        added = store.below.add(records); // the next blocks are fetched meanwhile
        added.catch(() => undefined); // `added` is awaited later
        // Callers wait for the same nodes and the same disk, so the backfill rests for a while.
        const pauseMs = (clock.now() - takenAt) * REST;
        await clock.sleep(pauseMs, this.#closing.signal).catch(() => undefined);
      }
    } finally {
      fetching.end();
      await added.catch(() => undefined);
    }
    return store.below.finish();
  }

  /** How many blocks to add before the tail moves: as many as are stored, within limits, so that it moves soon. */
  #atOnce(): number {
    const { head, tail = 0 } = this.#parts.store.tables;
    const there = head ? head.number - tail : 0;
    return Math.min(INDEXED_AT_ONCE, Math.max(FIRST_INDEXED, there));
  }

  /** @returns "none" when no node gives the block: perhaps the height has none. */
  async #fetch(number: number): Promise<Fetched> {
    const { source, nodes, clock } = this.#parts;
    await clock.yield();
    const found = await source.fetch({ number }, nodes(), this.#closing.signal);
    if (found.kind === "too large") this.#floor = Math.max(this.#floor, number + 1);
    if (found.kind === "found") return found.record;
    return found.kind === "unknown" || found.kind === "failed" ? "none" : undefined;
  }
}

/** A block; "none" where no node gives one; undefined where the block cannot be taken in. */
type Fetched = IngestedBlock | "none" | undefined;

const bytesOf = (blocks: readonly IngestedBlock[]): number =>
  blocks.reduce((sum, { outline }) => sum + outline.transactionBytes + outline.receiptBytes, 0);

type FetchOne = (index: number) => Promise<Fetched>;

/** Fetches blocks ahead, a few at the same time, and hands them out in order, up to the first that is missing. */
class FetchedInOrder {
  readonly #ahead: Promise<Fetched>[] = [];
  /** How many of the last heights that were taken had no block. */
  #without = 0;
  /** The parent hash of the block that was taken last. */
  #parentHash: string | undefined;
  readonly #fetchOne: FetchOne;
  #count: number;
  #next = 0;
  /** How many fetches run, and how many bytes of fetched blocks were not handed out. */
  #open = 0;
  #bytes = 0;

  constructor(
    { count, parentHash }: { readonly count: number; readonly parentHash: string | undefined },
    fetchOne: FetchOne,
  ) {
    this.#count = count;
    this.#parentHash = parentHash;
    this.#fetchOne = fetchOne;
  }

  /** @returns No blocks only when there are no more. */
  async take(areEnough: (blocks: readonly IngestedBlock[]) => boolean): Promise<IngestedBlock[]> {
    const blocks: IngestedBlock[] = [];
    do {
      this.#fetchAhead();
      const block = await this.#ahead.shift();
      if (block === "none" && this.#without < MOST_WITHOUT_BLOCK) {
        this.#without += 1;
        continue;
      }
      // A height without a block is one that the parent hash of the block above it leaves out.
      const isHidden =
        this.#without > 0 && block && block !== "none" && block.hash !== this.#parentHash;
      if (block === undefined || block === "none" || isHidden) {
        this.end();
        this.#ahead.length = 0; // these blocks come after the gap
        break;
      }
      this.#without = 0;
      this.#parentHash = block.outline.parentHash;
      this.#bytes -= bytesOf([block]);
      blocks.push(block);
    } while (!areEnough(blocks));
    return blocks;
  }

  /** Starts no more fetches. Blocks that are being fetched are still handed out. */
  end(): void {
    this.#count = Math.min(this.#count, this.#next);
  }

  #fetchAhead(): void {
    while (this.#open < AT_ONCE && this.#next < this.#count && this.#hasRoom) {
      const block = this.#fetch(this.#next);
      block.catch(() => undefined); // `take` reports the failure, but perhaps no caller takes this block
      this.#ahead.push(block);
      this.#next += 1;
    }
  }

  get #hasRoom(): boolean {
    const most = this.#bytes < AHEAD_BYTES ? AHEAD : AT_ONCE;
    return this.#ahead.length < most;
  }

  async #fetch(index: number): Promise<Fetched> {
    this.#open += 1;
    try {
      const block = await this.#fetchOne(index);
      if (block && block !== "none") this.#bytes += bytesOf([block]);
      return block;
    } finally {
      this.#open -= 1;
      queueMicrotask(() => this.#fetchAhead());
    }
  }
}
