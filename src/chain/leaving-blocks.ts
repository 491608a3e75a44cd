// Huge blocks that left the window or the budget: nobody sees them any more, and what is left of them is
// erased in many transactions, between which others get their turn; after a crash, from the start again.
import type { Work } from "../lib/turns.ts";
import type { BlockEntries } from "./block-entries.ts";
import type { BlockTables } from "./block-tables.ts";
import type { StoreRoom } from "./store-room.ts";

export type LeavingParts = {
  readonly tables: Pick<BlockTables, "leaving" | "isSomethingLeaving">;
  readonly entries: Pick<BlockEntries, "eraseLeaving">;
  readonly room: Pick<StoreRoom, "make">;
  /** Carries out a change: all of it, or nothing. */
  readonly write: (change: () => void) => Promise<void>;
};

/** Steps of 64 entries in one transaction: a few milliseconds. */
const STEPS_AT_ONCE = 16;

export class LeavingBlocks {
  #underWay: Promise<void> | undefined;
  #isClosing = false;
  readonly #parts: LeavingParts;

  constructor(parts: LeavingParts) {
    this.#parts = parts;
  }

  /** Resolves when nothing is left of them. @throws What a write throws: then it is begun again the next time. */
  async finish(): Promise<void> {
    if (!this.#underWay && !this.#parts.tables.isSomethingLeaving) return;
    this.#underWay ??= this.#eraseAll().finally(() => {
      this.#underWay = undefined;
    });
    await this.#underWay;
  }

  /** Nobody waits; whoever waits next is told what went wrong. */
  begin(): void {
    this.finish().catch(() => undefined);
  }

  /** What is not erased yet is erased by whoever opens the store next. */
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

/** Does the work bit by bit, each bit in a transaction of its own. */
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
