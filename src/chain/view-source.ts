// How calls see a followed chain, in the process that follows it as in those that only read its store; and what
// the writer of the store does for them.

import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import type { Turns } from "../lib/turns.ts";
import { within } from "../lib/waiting.ts";
import type { Pool } from "../upstream/pool.ts";
import type { BlockTables } from "./block-tables.ts";
import {
  ChainView,
  type NotFetched,
  type Sought,
  type StoreWriter,
  type ViewParts,
} from "./chain-view.ts";
import type { ChainDialect, Reference, Tag } from "./dialect.ts";
import type { HeadFreshness, HeadNews } from "./freshness.ts";
import type { Position } from "./stored-block.ts";

/** What the writer of a store does for all who read it. Each call rejects when the writer is away, or takes too long. */
export type ChainWriter = StoreWriter & {
  /** Looks at all nodes and goes where the head is; resolves when that is done. */
  look(): Promise<void>;
  /** The same, soon, and nobody waits for it. */
  hurry(): void;
  /** @returns The hash under which the block is in the store now. */
  fetch(reference: Reference): Promise<{ readonly hash: string } | NotFetched>;
  tagged(tag: Tag): Promise<Position | undefined>;
  /** Forgets the logs of old blocks that this upstream alone gave: it was caught giving wrong ones. */
  distrust(upstream: string): void;
};

/** What readers cannot see in the store. */
export type ChainNews = {
  readonly isLive: boolean;
  /** Why the chain is not followed now: its store cannot be written. */
  readonly whyStopped?: string | undefined;
  /** Which file the store is: where this changes, another file took its place. */
  readonly store?: string;
  /** The name of the node whose chain is followed. */
  readonly leader: string | undefined;
  readonly standings: readonly Standing[];
  /** undefined before the head was confirmed. */
  readonly head?: HeadNews | undefined;
};

/** Where a node was seen last. */
type Standing = {
  readonly node: string;
  readonly head: { readonly number: number; readonly hash: string | undefined };
  readonly isElsewhere: boolean;
};

export type ViewSourceParts = {
  readonly store: BlockTables;
  readonly writer: StoreWriter & Pick<ChainWriter, "hurry" | "fetch" | "tagged">;
  /** Resolves when the chain has the number, or when all nodes were looked at. */
  readonly look: (number?: number) => Promise<unknown>;
  /** The newest block that calls see now; undefined while the stored chain is not that of the nodes. */
  readonly head: () => Position | undefined;
  readonly leader: () => string | undefined;
  readonly whyStopped: () => string | undefined;
  readonly pool: Pick<Pool, "bestForBlocks">;
  readonly dialect: Pick<ChainDialect, "readPosition">;
  readonly freshness: Pick<HeadFreshness, "staleness">;
  readonly clock: Clock;
  readonly turns: Pick<Turns, "isOver" | "next">;
};

/** How long an answer waits for a block that a node has already, in milliseconds. */
const REACH_TIMEOUT_MS = 2_000;
/** How long a call waits for the chain to be followed at all, and how often it looks, in milliseconds. */
const LIVE_TIMEOUT_MS = 3_000;
const LOOK_AGAIN_MS = 50;

export class ViewSource {
  readonly #viewParts: ViewParts;
  readonly #parts: ViewSourceParts;

  constructor(parts: ViewSourceParts) {
    this.#parts = parts;
    const { store, writer, turns, leader } = parts;
    this.#viewParts = {
      ...{ store, writer, turns, leader },
      fetch: (reference) => this.#fetch(reference),
      tagged: (tag) => writer.tagged(tag),
      reach: (number, signal) => this.reach(number, signal),
      hurry: () => writer.hurry(),
      newest: () => this.view(),
    };
  }

  /**
   * What calls see; undefined while the stored chain is not that of the nodes.
   *
   * @param isShared For all members of a batch.
   */
  view(isShared = false): ChainView | undefined {
    const head = this.#parts.head();
    const { staleness } = this.#parts.freshness;
    return head && new ChainView({ head, isShared, staleness }, this.#viewParts);
  }

  /** As `view`, but waits a little for the first one after a start. */
  async liveView(signal: Signal): Promise<ChainView | undefined> {
    const { clock, look } = this.#parts;
    if (this.whyStopped !== undefined) return undefined;
    const giveUpAt = clock.now() + LIVE_TIMEOUT_MS;
    while (!this.view() && !signal.aborted && clock.now() < giveUpAt) {
      await within(giveUpAt - clock.now(), look(), { clock, signal });
      if (!this.view()) await clock.sleep(LOOK_AGAIN_MS, signal).catch(() => undefined);
    }
    return this.view();
  }

  /** Why the chain is not followed now, in words for a person: its store cannot be written. */
  get whyStopped(): string | undefined {
    return this.#parts.whyStopped();
  }

  /** The newest block as some node gives it, unproven: for calls that cannot wait for the chain. */
  async headOfNodes(signal: Signal): Promise<Position | undefined> {
    const { dialect, pool } = this.#parts;
    for (const node of pool.bestForBlocks()) {
      const position = await dialect.readPosition("latest", node, signal);
      if (position) return position;
    }
    return undefined;
  }

  /** Resolves when the head is at the number, when all nodes were looked at, or at a timeout or the signal. */
  async reach(number: number, signal: Signal): Promise<void> {
    const { look, clock } = this.#parts;
    if ((this.view()?.head.number ?? -1) >= number || signal.aborted) return;
    await within(REACH_TIMEOUT_MS, look(number), { clock, signal });
  }

  async #fetch(reference: Reference): Promise<Sought> {
    const { store, writer } = this.#parts;
    const fetched = await writer.fetch(reference);
    if (typeof fetched === "string") return fetched;
    return store.blockOf(fetched.hash) ?? "unanswered";
  }
}
