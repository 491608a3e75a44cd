// Removes blocks from the store: those older than the window, and those that the budget has no room for. Runs inside a
// transaction of the store.

import type { Work } from "../lib/turns.ts";
import type { BlockEntries } from "./block-entries.ts";
import { type BlockTables, numberKey, positionIn, termKey } from "./block-tables.ts";
import type { KeptSegments } from "./kept-segments.ts";
import { segmentOf } from "./log-index.ts";

export type StoreSize = {
  /** How many of the newest blocks are kept. */
  readonly windowBlocks: number;
  /** The bytes that all blocks and their indexes may take on disk. */
  readonly bytes: number;
};

/** How many of the last kept blocks stay, whatever the budget: callers are about to read them. */
const KEPT_AT_LEAST = 4;
/** How many entries are removed in one transaction when old index segments are dropped. */
const DROPPED_AT_ONCE = 4096;

export type StoreEvictionParts = {
  readonly tables: BlockTables;
  readonly entries: BlockEntries;
  readonly keptSegments: Pick<KeptSegments, "removeOldest">;
  readonly size: () => StoreSize;
};

export class StoreEviction {
  #termsFrom = Number.POSITIVE_INFINITY;
  readonly #parts: StoreEvictionParts;

  constructor(parts: StoreEvictionParts) {
    this.#parts = parts;
  }

  /** Keeps the index entries of blocks from this number on, although the tail is above it; `undefined`: no longer. */
  keepTermsFrom(number: number | undefined): void {
    this.#termsFrom = number ?? Number.POSITIVE_INFINITY;
  }

  /** Removes blocks after a chain update. @param tail The lowest number from which every block is stored. */
  evictBelowWindow(head: number, tail: number): void {
    const { entries, size } = this.#parts;
    const first = Math.max(tail, head - size().windowBlocks + 1);
    for (let number = tail; number < first; number += 1) entries.eraseAt(number);
    this.#eraseDropped(first);
    this.#dropTerms(segmentOf(Math.min(first, this.#termsFrom)));
    this.#putTail(first, head);
    this.evictToBudget();
  }

  /**
   * Removes blocks until the store keeps its budget: first the kept logs and the blocks that are older than the window,
   * then the window's oldest blocks, which raises the tail.
   */
  evictToBudget(): void {
    const { tables, entries, keptSegments, size } = this.#parts;
    const { tail, head } = tables;
    if (tail === undefined) return;
    let first = tail;
    // A huge block that is being erased gives back its room step by step.
    while (tables.bytes > size().bytes && !tables.isErasing) {
      if (keptSegments.removeOldest() || this.#eraseOldestKept(first)) continue;
      if (head === undefined || first >= head.number) break;
      entries.eraseAt(first);
      first += 1;
    }
    if (first !== tail) this.#putTail(first, head?.number ?? first);
  }

  /** Makes the first block from this number on the tail: the number itself may be a height without a block. */
  #putTail(number: number, head: number): void {
    const { tables } = this.#parts;
    let first = number;
    while (first < head && tables.hashAt(first) === undefined) first += 1;
    tables.putTail(first);
  }

  /** @returns false when too few kept blocks are left. */
  #eraseOldestKept(tail: number): boolean {
    const { tables, entries } = this.#parts;
    const [oldest] = [...tables.kept.getRange({ limit: 1 })];
    const { entryCount = 0 } = tables.kept.getStats() as { entryCount?: number };
    if (!oldest || entryCount <= KEPT_AT_LEAST) return false;
    const position = positionIn(oldest.value);
    tables.kept.removeSync(oldest.key);
    // The window may have grown over the block since it was kept.
    if (tables.hashAt(position.number) !== position.hash || position.number < tail)
      entries.erase(position);
    return true;
  }

  #eraseDropped(tail: number): void {
    const { tables, entries } = this.#parts;
    for (const key of [...tables.dropped.getKeys({ end: numberKey(tail) })]) {
      const position = positionIn(key);
      if (tables.hashAt(position.number) !== position.hash) entries.erase(position);
      tables.dropped.removeSync(key);
    }
  }

  /** Drops index segments that are wholly below the window, a bounded number of entries at a time. */
  #dropTerms(first: number): void {
    const { terms } = this.#parts.tables;
    for (const key of [...terms.getKeys({ end: termKey(first, 0), limit: DROPPED_AT_ONCE })])
      terms.removeSync(key);
  }
}

// Erases huge blocks that left the window or the budget. Readers no longer find these blocks, so they are erased in many
// transactions, and other work runs in between. After a crash the work starts over.

type HugeErasuresParts = {
  readonly tables: Pick<BlockTables, "erasing" | "isErasing">;
  readonly entries: Pick<BlockEntries, "eraseHuge">;
  readonly eviction: Pick<StoreEviction, "evictToBudget">;
  /** Makes a change: all of it, or nothing. */
  readonly write: (change: () => void) => Promise<void>;
};

/** How many steps of 64 entries one transaction has: a transaction takes a few milliseconds. */
const STEPS_AT_ONCE = 16;

export class HugeErasures {
  #underWay: Promise<void> | undefined;
  #isClosing = false;
  readonly #parts: HugeErasuresParts;

  constructor(parts: HugeErasuresParts) {
    this.#parts = parts;
  }

  /** Resolves when all huge blocks that left are erased. @throws The error of a write; the next call starts the work again. */
  async finish(): Promise<void> {
    if (!this.#underWay && !this.#parts.tables.isErasing) return;
    this.#underWay ??= this.#eraseAll().finally(() => {
      this.#underWay = undefined;
    });
    await this.#underWay;
  }

  /** Starts to erase in the background. If that fails, the next `finish` throws the error. */
  begin(): void {
    this.finish().catch(() => undefined);
  }

  /** Blocks that are not erased yet are erased when the store is opened the next time. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#underWay?.catch(() => undefined);
  }

  async #eraseAll(): Promise<void> {
    const { tables, entries, eviction, write } = this.#parts;
    while (!this.#isClosing) {
      const [next] = tables.erasing();
      if (!next) return;
      const work = entries.eraseHuge(next.position, next.wasCanonical);
      await inTransactions(work, { write, isOver: () => this.#isClosing });
      if (!this.#isClosing) await write(() => eviction.evictToBudget());
    }
  }
}

/** Does the work step by step, `STEPS_AT_ONCE` steps in each transaction. */
export async function inTransactions(
  work: Work<void>,
  {
    write,
    isOver = () => false,
  }: { readonly write: HugeErasuresParts["write"]; readonly isOver?: () => boolean },
): Promise<void> {
  let isDone = false;
  while (!isDone && !isOver())
    await write(() => {
      for (let step = 0; step < STEPS_AT_ONCE && !isDone; step += 1)
        isDone = work.next().done === true;
    });
}
