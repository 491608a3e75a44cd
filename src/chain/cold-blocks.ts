// Compresses the oldest blocks of the window once the store is large. The newest blocks stay as the nodes wrote them,
// since callers ask for them most.

import type { Work } from "../lib/turns.ts";
import type { BlockEntries } from "./block-entries.ts";
import { asTheyAre, type BlockTables, type PartEncoding, packed } from "./block-tables.ts";
import { inTransactions, type StoreSize } from "./store-eviction.ts";

/** A store up to this size compresses nothing, in bytes on disk. */
const PLAIN_BYTES = 2 ** 30;
/** The same limit as a share of the budget, where that is smaller. */
const PLAIN_SHARE = 0.5;
/** How many of the newest blocks are never compressed, whatever room they take. */
const NEWEST = 256;
/** How many blocks are compressed after one change: more than are added at the head, so that the backlog shrinks. */
const AT_ONCE = 4;

export type ColdParts = {
  readonly tables: Pick<BlockTables, "bytes" | "head" | "tail" | "hashAt" | "isPacked">;
  readonly entries: Pick<BlockEntries, "pack">;
  /** Makes a change: all of it, or nothing. */
  readonly write: (change: () => void) => Promise<void>;
  readonly size: () => StoreSize;
};

export class ColdBlocks {
  #underWay: Promise<void> | undefined;
  #isClosing = false;
  readonly #parts: ColdParts;

  constructor(parts: ColdParts) {
    this.#parts = parts;
  }

  /** The encoding of a block that is added below this number: a plain block is never below a compressed one. */
  encodingBelow(number: number | undefined): PartEncoding {
    return this.#isLarge || (number !== undefined && this.#isPackedAt(number)) ? packed : asTheyAre;
  }

  /** Compresses some of the oldest plain blocks of a large store in the background. The next change retries a failure. */
  begin(): void {
    if (!this.#isLarge || this.#isClosing) return;
    this.#underWay ??= inTransactions(this.#packSome(), {
      write: this.#parts.write,
      isOver: () => this.#isClosing,
    })
      .catch(() => undefined)
      .finally(() => {
        this.#underWay = undefined;
      });
  }

  /** Resolves when the background work is done. */
  async finish(): Promise<void> {
    await this.#underWay;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#underWay;
  }

  get #isLarge(): boolean {
    const { tables, size } = this.#parts;
    return tables.bytes > Math.min(PLAIN_BYTES, size().bytes * PLAIN_SHARE);
  }

  *#packSome(): Work<void> {
    const { tables, entries } = this.#parts;
    const newest = (tables.head?.number ?? 0) - NEWEST;
    const first = this.#firstPlain(newest + 1);
    for (let number = first; number < first + AT_ONCE && number <= newest; number += 1) {
      const hash = tables.hashAt(number);
      if (hash) yield* entries.pack(hash);
      yield;
    }
  }

  /** The number of the oldest plain block of the window. @param end The search ends before it. */
  #firstPlain(end: number): number {
    let from = this.#parts.tables.tail ?? end;
    let to = end;
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      if (this.#isPackedAt(middle)) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  #isPackedAt(number: number): boolean {
    const hash = this.#parts.tables.hashAt(number);
    return hash !== undefined && this.#parts.tables.isPacked(hash);
  }
}
