// The followed chain for a process that only reads its store: the writer, another process, writes it. Heads
// are read from the store, so all processes of a machine see one and the same; the rest the writer sends.
import type { Pool } from "../upstream/pool.ts";
import { BlockTables } from "./block-tables.ts";
import { type ChainWriter, ViewSource, type ViewSourceParts } from "./chain-view.ts";
import type { Tag } from "./dialect.ts";
import type { HeadFreshness, HeadNews } from "./freshness.ts";
import type { Position } from "./stored-block.ts";
import { TaggedBlocks } from "./tagged-blocks.ts";

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

export type ChainReaderParts = Pick<ViewSourceParts, "dialect" | "clock" | "turns"> & {
  readonly pool: Pick<Pool, "usable" | "bestForBlocks" | "nodes">;
  readonly writer: ChainWriter;
  readonly freshness: Pick<HeadFreshness, "hear" | "staleness">;
};

export class ChainReader {
  readonly views: ViewSource;
  readonly #store: BlockTables;
  /** For when the writer is away. */
  readonly #tagged: TaggedBlocks;
  /** What the writer answered for each tag, at which head. */
  readonly #known = new Map<Tag, { head: string; position: Promise<Position | undefined> }>();
  #news: ChainNews = { isLive: false, leader: undefined, standings: [] };
  /** The writer was live once: while a new one finds its way, the store is as good as it was. */
  #isLive = false;
  readonly #onUpdate = new Set<() => void>();
  readonly #parts: ChainReaderParts;

  /** @throws When the store is not there: its writer comes first. */
  constructor(
    options: { readonly path: string; readonly finalAfter?: number | undefined },
    parts: ChainReaderParts,
  ) {
    this.#parts = parts;
    const { pool, dialect, writer } = parts;
    const { path, finalAfter } = options;
    const store = new BlockTables({ path, readOnly: true });
    this.#store = store;
    this.#tagged = new TaggedBlocks({ dialect, nodes: () => pool.usable() });
    const shown: { head: Position | undefined } = { head: undefined };
    this.views = new ViewSource({
      ...parts,
      store,
      finalAfter,
      writer: {
        ...writer,
        fetch: async (reference) => {
          const fetched = await writer.fetch(reference).catch(() => "unanswered" as const);
          store.refresh();
          return fetched;
        },
        tagged: (tag) => this.#findTagged(tag),
      },
      look: () => writer.look().catch(() => undefined),
      shown,
      refresh: () => {
        shown.head = this.#head();
      },
      leader: () => this.#news.leader,
      whyStopped: () => this.#news.whyStopped,
    });
  }

  /** The writer has sent news. */
  hear(news: ChainNews): void {
    if (news.head) this.#parts.freshness.hear(news.head);
    this.#isLive ||= news.isLive;
    this.#news = news;
    for (const node of this.#parts.pool.nodes) {
      const standing = news.standings.find((each) => each.node === node.name);
      if (standing) node.standsAt(standing.head, standing.isElsewhere);
    }
    for (const listener of [...this.#onUpdate]) listener();
  }

  /** Calls `listener` when the chain may be another one; returns how to stop. */
  onUpdate(listener: () => void): () => void {
    this.#onUpdate.add(listener);
    return () => this.#onUpdate.delete(listener);
  }

  async start(): Promise<void> {
    // It is the writer that follows.
  }

  /** The store's size is the writer's. */
  reconfigure(): void {
    this.#known.clear();
  }

  /** See `ChainWriter`. */
  distrust(upstream: string): void {
    this.#parts.writer.distrust(upstream);
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  /** As the writer has written it by now. */
  #head(): Position | undefined {
    if (!this.#isLive || this.#news.whyStopped !== undefined) return undefined;
    this.#store.refresh();
    return this.#store.head;
  }

  /** All processes go by the writer's word: what one of them called final is so for the others. */
  #findTagged(tag: Tag): Promise<Position | undefined> {
    const { head } = this.#store;
    if (!head) return Promise.resolve(undefined);
    const known = this.#known.get(tag);
    if (known?.head === head.hash) return known.position;
    const hashAt = (number: number): string | undefined => this.#store.hashAt(number);
    const position = this.#parts.writer.tagged(tag).catch(() => {
      this.#known.delete(tag);
      return this.#tagged.find(tag, { head, hashAt });
    });
    this.#known.set(tag, { head: head.hash, position });
    position.then(
      (found) => found ?? this.#known.delete(tag),
      () => this.#known.delete(tag),
    );
    return position;
  }
}
