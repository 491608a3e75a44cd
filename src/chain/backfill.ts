// Fills the window backwards from the oldest stored block, in the background.
import type { Logger } from "pino";
import { NotWritable } from "../disk/writable.ts";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { BlockSource } from "./block-source.ts";
import type { FollowedNode } from "./follower.ts";
import type { StoreWriting, TakenBlock } from "./writing.ts";

export type BackfillParts = {
  readonly store: Pick<StoreWriting, "tables" | "size" | "below">;
  readonly source: Pick<BlockSource, "fetch">;
  readonly nodes: () => readonly FollowedNode[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "windowFilled">;
};

export type BackfillOptions = {
  readonly network: string;
};

/** How many blocks are fetched at the same time: few, since callers wait for the same nodes. */
const AT_ONCE = 4;
/**
 * How many blocks are fetched and not written at most, while they have fewer than so many bytes: one that is being taken by a
 * thread that has much to do does not keep the others waiting.
 */
const AHEAD = 16;
const AHEAD_BYTES = 16 * 2 ** 20;
/**
 * How many blocks are written in one transaction: each is flushed to disk, and writes anew the pages that lead to what it
 * changed. Fewer where these have this many bytes, or came no faster than in this time, in milliseconds.
 */
const WRITTEN_AT_ONCE = 16;
const WRITTEN_BYTES = 8 * 2 ** 20;
const WRITTEN_AFTER_MS = 500;
/** How long the backfill rests after some blocks, as a share of what they took. */
const REST = 1 / 32;
/** After how many blocks the tail moves. An entry of the log index costs the same for one block as for many. */
const INDEXED_AT_ONCE = 128;
/**
 * After how many blocks the tail moves the first time. It is few, since a reorganisation below the tail begins the
 * store anew, and nobody can tell then what was removed.
 */
const FIRST_INDEXED = 4;
/** Where blocks come slowly, the tail moves after this time at the latest, in milliseconds. */
const INDEXED_AFTER_MS = 2_000;
/** No more of the window is filled when this share of the disk budget is used: the newest blocks need room. */
const FULL = 0.9;
const LOG_EVERY_MS = 10_000;
const RETRY_AFTER_MS = 2_000;

export class Backfill {
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #wake: () => void = () => undefined;
  /** Whether the metric says that the window is filled. A young chain's window is filled from the start. */
  #isFilled = false;
  /** The lowest block number that can be filled in: the block below it is larger than `limits.block` allows. */
  #floor = 0;
  readonly #options: BackfillOptions;
  readonly #parts: BackfillParts;

  constructor(options: BackfillOptions, parts: BackfillParts) {
    this.#options = options;
    this.#parts = parts;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** To be called when `limits.block` has changed: blocks that were too large may be accepted now. */
  reconsider(): void {
    this.#floor = 0;
    this.#wake();
  }

  /** To be called after a chain update: there may be something to fill. */
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
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      try {
        await this.#fill();
      } catch (error) {
        // `Writable` logs that the store cannot be written; the next chain update starts the backfill again.
        if (!signal.aborted && !(error instanceof NotWritable))
          log.error({ err: error }, "filling the window failed, trying again");
      }
      if (!signal.aborted) await woken;
    }
  }

  /** How many blocks are missing below the tail. It is 0 as well while there is no chain, or no room. */
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
    for (let missing = this.#missing(); missing > 0; missing = this.#missing()) {
      const added = await this.#addSome(missing);
      if (this.#closing.signal.aborted) return;
      if (added === 0)
        await clock.sleep(RETRY_AFTER_MS, this.#closing.signal).catch(() => undefined);
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
    const { network } = this.#options;
    this.#parts.metrics.windowFilled(network, { blocks, blocksPerSecond, secondsLeft });
  }

  /** @returns How many blocks were added. */
  async #addSome(missing: number): Promise<number> {
    const { store, clock } = this.#parts;
    const { tail } = store.tables;
    if (tail === undefined) return 0;
    const startedAt = clock.now();
    const count = Math.min(missing, this.#atOnce());
    const fetching = new FetchedInOrder(count, {
      fetch: (index) => this.#fetch(tail - 1 - index),
      bytesOf: (block) => bytesOf([block]),
    });
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
        added = store.below.add(records); // the next ones are taken meanwhile
        added.catch(() => undefined); // it is awaited later
        // Callers wait for the same nodes and the same disk, so no more is taken for a while.
        const pauseMs = (clock.now() - takenAt) * REST;
        await clock.sleep(pauseMs, this.#closing.signal).catch(() => undefined);
      }
    } finally {
      fetching.end();
      await added.catch(() => undefined);
    }
    return store.below.finish();
  }

  /** The number of blocks that are there already, up to the limit, so that the first ones count soon. */
  #atOnce(): number {
    const { head, tail = 0 } = this.#parts.store.tables;
    const there = head ? head.number - tail : 0;
    return Math.min(INDEXED_AT_ONCE, Math.max(FIRST_INDEXED, there));
  }

  async #fetch(number: number): Promise<TakenBlock | undefined> {
    const { source, nodes, clock } = this.#parts;
    await clock.yield();
    const found = await source.fetch({ number }, nodes(), this.#closing.signal);
    if (found.kind === "too large") this.#floor = Math.max(this.#floor, number + 1);
    return found.kind === "found" ? found.record : undefined;
  }
}

const bytesOf = (blocks: readonly TakenBlock[]): number =>
  blocks.reduce((sum, { outline }) => sum + outline.transactionBytes + outline.receiptBytes, 0);

type Fetching<Item> = {
  readonly fetch: (index: number) => Promise<Item | undefined>;
  readonly bytesOf: (item: Item) => number;
};

/**
 * Fetches items ahead, a few at the same time, and hands them out in order, up to the first that nobody has. While the first is
 * awaited, others behind it come.
 */
class FetchedInOrder<Item> {
  readonly #ahead: Promise<Item | undefined>[] = [];
  readonly #parts: Fetching<Item>;
  #count: number;
  #next = 0;
  /** How many are being fetched, and how many bytes have come that were not handed out. */
  #open = 0;
  #bytes = 0;

  constructor(count: number, parts: Fetching<Item>) {
    this.#count = count;
    this.#parts = parts;
  }

  /** @returns None only when there are no more. */
  async take(areEnough: (items: readonly Item[]) => boolean): Promise<Item[]> {
    const items: Item[] = [];
    do {
      this.#fetchAhead();
      const item = await this.#ahead.shift();
      if (item === undefined) {
        this.end();
        this.#ahead.length = 0; // they come after the gap
        break;
      }
      this.#bytes -= this.#parts.bytesOf(item);
      items.push(item);
    } while (!areEnough(items));
    return items;
  }

  /** Fetches nothing more. Items that are being fetched are still handed out. */
  end(): void {
    this.#count = Math.min(this.#count, this.#next);
  }

  #fetchAhead(): void {
    while (this.#open < AT_ONCE && this.#next < this.#count && this.#hasRoom) {
      const item = this.#fetch(this.#next);
      item.catch(() => undefined); // `take` reports the failure; nobody may call it
      this.#ahead.push(item);
      this.#next += 1;
    }
  }

  get #hasRoom(): boolean {
    const most = this.#bytes < AHEAD_BYTES ? AHEAD : AT_ONCE;
    return this.#ahead.length < most;
  }

  async #fetch(index: number): Promise<Item | undefined> {
    this.#open += 1;
    try {
      const item = await this.#parts.fetch(index);
      if (item !== undefined) this.#bytes += this.#parts.bytesOf(item);
      return item;
    } finally {
      this.#open -= 1;
      queueMicrotask(() => this.#fetchAhead());
    }
  }
}
