// Adds blocks below the tail. Each block is written at once and can be found by number and hash. The tail and the index
// of logs follow for many blocks together, since an index entry costs as much for one block as for many.

import { type BlockEntries, collectTerms, type TermPositions } from "./block-entries.ts";
import type { BlockRecord } from "./block-record.ts";
import { type BlockTables, positionIn } from "./block-tables.ts";
import type { ColdBlocks } from "./cold-blocks.ts";
import { inTransactions, type StoreEviction } from "./store-eviction.ts";
import type { Position } from "./stored-block.ts";

/** A process that was killed leaves unfinished blocks at most this far below the tail. */
const MOST_BELOW = 256;

/** A block's position, and the hash of its parent. */
export type Link = Position & { readonly parentHash: string };

type BelowParts = {
  readonly tables: BlockTables;
  readonly entries: BlockEntries;
  readonly cold: Pick<ColdBlocks, "encodingBelow">;
  readonly eviction: Pick<StoreEviction, "keepTermsFrom">;
  /** Makes a change: all of it, or nothing. */
  readonly write: <Value>(change: () => Value) => Promise<Value>;
  /** As `write`, but first waits for the background work of the store. */
  readonly change: <Value>(change: () => Value) => Promise<Value>;
};

export class BlocksBelow {
  /** The links of the blocks that were added, newest first. */
  #links: Link[] = [];
  #terms: TermPositions = new Map();
  readonly #parts: BelowParts;

  constructor(parts: BelowParts) {
    this.#parts = parts;
  }

  /**
   * Adds blocks, newest first.
   * @returns false, with nothing added, when the blocks are not linked to the stored blocks and to each other.
   */
  async add(records: readonly BlockRecord[]): Promise<boolean> {
    if (this.#attached() < this.#links.length) await this.finish();
    const { cold, entries, tables, change } = this.#parts;
    const links = records.map(linkOf);
    const isAdded = await change(() => {
      const last = this.#links.at(-1);
      const parentHash = last?.parentHash ?? this.#parentOfTail();
      if (linkedTo(parentHash, links) < Math.max(1, links.length)) return false;
      const encoding = cold.encodingBelow(last?.number ?? tables.tail);
      for (const record of records) {
        entries.putParts(record, encoding);
        entries.makeCanonical(record);
      }
      return true;
    });
    if (isAdded) this.#links.push(...links);
    if (isAdded) collectTerms(this.#terms, records);
    return isAdded;
  }

  /**
   * Moves the tail below the blocks that were added, as far as the store still has them without a gap.
   * @returns By how many blocks the tail moved.
   */
  async finish(): Promise<number> {
    const { tables, entries, eviction, write, change } = this.#parts;
    const links = this.#links;
    const terms = this.#terms;
    this.#links = [];
    this.#terms = new Map();
    const last = links.at(-1);
    if (!last) return 0;
    eviction.keepTermsFrom(last.number);
    try {
      await inTransactions(entries.indexTerms(terms), { write });
      return await change(() => {
        const count = this.#attached(links);
        const lowest = links[count - 1];
        if (lowest) tables.putTail(lowest.number);
        for (const link of links.slice(count))
          if (link.number < (tables.tail ?? 0)) entries.erase(link);
        return count;
      });
    } finally {
      eviction.keepTermsFrom(undefined);
    }
  }

  /** Removes blocks below the tail that no process will finish. Blocks that callers asked for stay. */
  async clearUnfinished(): Promise<void> {
    const { tables, entries, change } = this.#parts;
    const { tail } = tables;
    if (tail === undefined) return;
    const kept = new Set([...tables.kept.getRange({})].map(({ value }) => positionIn(value).hash));
    const found: Position[] = [];
    for (let number = tail - 1; number >= Math.max(0, tail - MOST_BELOW); number -= 1) {
      const hash = tables.hashAt(number);
      if (hash && !kept.has(hash)) found.push({ number, hash });
    }
    if (found.length === 0) return;
    await change(() => {
      for (const position of found) entries.erase(position);
    });
  }

  /** How many of the links, from the first on, continue the chain below the tail and are stored. */
  #attached(links: readonly Link[] = this.#links): number {
    const { tables } = this.#parts;
    const linked = linkedTo(this.#parentOfTail(), links);
    const missing = links.findIndex(({ number, hash }) => tables.hashAt(number) !== hash);
    return missing < 0 ? linked : Math.min(linked, missing);
  }

  #parentOfTail(): string | undefined {
    const { tables } = this.#parts;
    const hash = tables.tail === undefined ? undefined : tables.hashAt(tables.tail);
    return hash && tables.outline(hash)?.parentHash;
  }
}

export function linkOf({ hash, outline }: Pick<BlockRecord, "hash" | "outline">): Link {
  const { number, parentHash } = outline;
  return { number, hash, parentHash };
}

/** How many of the links, from the first on, are linked to a block with this parent hash and to each other. */
function linkedTo(parentHash: string | undefined, links: readonly Link[]): number {
  let next = parentHash;
  for (const [index, link] of links.entries()) {
    if (link.hash !== next) return index;
    next = link.parentHash;
  }
  return links.length;
}
