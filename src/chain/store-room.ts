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
  /** What all blocks and their indexes may take on disk, in bytes. */
  readonly bytes: number;
};

/** How many of the last kept blocks stay, whatever the budget: somebody is about to read them. */
const KEPT_AT_LEAST = 4;
/** How many entries are removed in one transaction when old index segments are dropped. */
const DROPPED_AT_ONCE = 4096;

export type StoreRoomParts = {
  readonly tables: BlockTables;
  readonly entries: BlockEntries;
  readonly keptSegments: Pick<KeptSegments, "removeOldest">;
};

export class StoreRoom {
  size: StoreSize;
  #termsFrom = Number.POSITIVE_INFINITY;
  readonly #parts: StoreRoomParts;

  constructor(size: StoreSize, parts: StoreRoomParts) {
    this.size = size;
    this.#parts = parts;
  }

  /** Protects the index entries from this number on, though the tail is still above it. Undefined ends that. */
  keepTermsFrom(number: number | undefined): void {
    this.#termsFrom = number ?? Number.POSITIVE_INFINITY;
  }

  /** To be called after a chain update. @param tail The lowest number from which every block is stored. */
  shrink(head: number, tail: number): void {
    const { entries, tables } = this.#parts;
    const first = Math.max(tail, head - this.size.windowBlocks + 1);
    for (let number = tail; number < first; number += 1) entries.eraseAt(number);
    this.#eraseDropped(first);
    this.#dropTerms(segmentOf(Math.min(first, this.#termsFrom)));
    tables.putTail(first);
    this.make();
  }

  /**
   * Removes until the budget is kept: first the kept logs and blocks that are older than the window, then the window's
   * oldest blocks, which raises the tail.
   */
  make(): void {
    const { tables, entries, keptSegments } = this.#parts;
    const { tail, head } = tables;
    if (tail === undefined) return;
    let first = tail;
    // The room of a huge block that is erased comes back step by step.
    while (tables.bytes > this.size.bytes && !tables.isSomethingLeaving) {
      if (keptSegments.removeOldest() || this.#eraseOldestKept(first)) continue;
      if (head === undefined || first >= head.number) break;
      entries.eraseAt(first);
      first += 1;
    }
    if (first !== tail) tables.putTail(first);
  }

  /** @returns false when there are too few. */
  #eraseOldestKept(tail: number): boolean {
    const { tables, entries } = this.#parts;
    const [oldest] = [...tables.kept.getRange({ limit: 1 })];
    const { entryCount = 0 } = tables.kept.getStats() as { entryCount?: number };
    if (!oldest || entryCount <= KEPT_AT_LEAST) return false;
    const position = positionIn(oldest.value);
    tables.kept.removeSync(oldest.key);
    // The window may have grown over the block since.
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

// Erases huge blocks that left the window or the budget. Nobody sees them any more, so they are erased in many
// transactions, between which other work has its turn; after a crash it begins again from the start.

type LeavingParts = {
  readonly tables: Pick<BlockTables, "leaving" | "isSomethingLeaving">;
  readonly entries: Pick<BlockEntries, "eraseLeaving">;
  readonly room: Pick<StoreRoom, "make">;
  /** Makes a change: all of it, or nothing. */
  readonly write: (change: () => void) => Promise<void>;
};

/** How many steps of 64 entries one transaction has: it takes a few milliseconds. */
const STEPS_AT_ONCE = 16;

export class LeavingBlocks {
  #underWay: Promise<void> | undefined;
  #isClosing = false;
  readonly #parts: LeavingParts;

  constructor(parts: LeavingParts) {
    this.#parts = parts;
  }

  /** Resolves when all of them are erased. @throws What a write throws; then it is begun again the next time. */
  async finish(): Promise<void> {
    if (!this.#underWay && !this.#parts.tables.isSomethingLeaving) return;
    this.#underWay ??= this.#eraseAll().finally(() => {
      this.#underWay = undefined;
    });
    await this.#underWay;
  }

  /** Begins to erase, without anybody waiting: an error is thrown by the next `finish`. */
  begin(): void {
    this.finish().catch(() => undefined);
  }

  /** Blocks that are not erased yet are erased when the store is opened the next time. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#underWay?.catch(() => undefined);
  }

  async #eraseAll(): Promise<void> {
    const { tables, entries, room, write } = this.#parts;
    while (!this.#isClosing) {
      const [next] = tables.leaving();
      if (!next) return;
      const work = entries.eraseLeaving(next.position, next.wasCanonical);
      await inTransactions(work, { write, isOver: () => this.#isClosing });
      if (!this.#isClosing) await write(() => room.make());
    }
  }
}

/** Does the work step by step, each few steps in a transaction of their own. */
export async function inTransactions(
  work: Work<void>,
  {
    write,
    isOver = () => false,
  }: { readonly write: LeavingParts["write"]; readonly isOver?: () => boolean },
): Promise<void> {
  let isDone = false;
  while (!isDone && !isOver())
    await write(() => {
      for (let step = 0; step < STEPS_AT_ONCE && !isDone; step += 1)
        isDone = work.next().done === true;
    });
}
