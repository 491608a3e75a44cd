// The followed chain in a process that only reads the store, which another process, the writer, writes. The head is
// read from the store, so all processes of a machine see the same head. The writer sends all other facts.
import type { Pool } from "../upstream/pool.ts";
import { BlockTables } from "./block-tables.ts";
import { type ChainWriter, ViewSource, type ViewSourceParts } from "./chain-view.ts";
import type { Tag } from "./dialect.ts";
import type { HeadFreshness, HeadNews } from "./freshness.ts";
import type { OddPart } from "./odd-parts.ts";
import type { Position } from "./stored-block.ts";
import { TaggedBlocks } from "./tagged-blocks.ts";

/** The facts of the chain that the writer knows and the store does not hold. */
export type ChainNews = {
  readonly isLive: boolean;
  /** Why calls are sent to the nodes: the chain cannot be followed, or its store cannot be written. */
  readonly whyStopped?: string | undefined;
  readonly remarks?: ChainRemarks | undefined;
  /** Identifies the file of the store: a new value means that another file has replaced the old one. */
  readonly store?: string;
  /** The name of the node whose chain is followed. */
  readonly leader: string | undefined;
  readonly nodeHeads: readonly NodeHeadNews[];
  /** undefined before the head was confirmed. */
  readonly head?: HeadNews | undefined;
};

/** The facts about a chain, beside its head, that operators should know. */
export type ChainRemarks = {
  /** Whether `whyStopped` has another reason than the disk: then the network is ready, and its nodes answer. */
  readonly isPassingThrough: boolean;
  /** A node whose head is a window or more above ours, in words. */
  readonly whyBehind?: string | undefined;
  readonly odd: readonly OddPart[];
};

/** The position of a node's head when the writer last read it. */
type NodeHeadNews = {
  readonly node: string;
  readonly head: { readonly number: number; readonly hash: string | undefined };
  readonly isOnOtherBranch: boolean;
};

export type ChainReaderParts = Pick<ViewSourceParts, "dialect" | "clock" | "turns"> & {
  readonly pool: Pick<Pool, "usable" | "bestForBlocks" | "nodes" | "isSettled">;
  readonly writer: ChainWriter;
  readonly freshness: Pick<HeadFreshness, "hear" | "staleness">;
};

export class ChainReader {
  readonly views: ViewSource;
  readonly #store: BlockTables;
  /** Finds the tagged blocks while the writer is away. */
  readonly #tagged: TaggedBlocks;
  /** The writer's answer for each tag, and the head at which it was given. */
  readonly #known = new Map<Tag, { head: string; position: Promise<Position | undefined> }>();
  #news: ChainNews = { isLive: false, leader: undefined, nodeHeads: [] };
  /** Whether the writer was ever live. While a new writer starts, the stored chain can still be shown. */
  #isLive = false;
  readonly #onUpdate = new Set<() => void>();
  readonly #parts: ChainReaderParts;

  /** @throws When the store does not exist: the writer creates it. */
  constructor(
    options: {
      readonly path: string;
      readonly chainId: number;
      readonly finalAfter?: number | undefined;
    },
    parts: ChainReaderParts,
  ) {
    this.#parts = parts;
    const { pool, dialect, writer } = parts;
    const { path, chainId, finalAfter } = options;
    const store = new BlockTables({ path, readOnly: true });
    this.#store = store;
    this.#tagged = new TaggedBlocks({ dialect, nodes: () => pool.usable() });
    const shown: { head: Position | undefined } = { head: undefined };
    this.views = new ViewSource({
      ...parts,
      ...{ store, chainId, finalAfter },
      writer: {
        ...writer,
        fetch: async (...wanted) => {
          const fetched = await writer.fetch(...wanted).catch(() => "unanswered" as const);
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

  /** Takes news from the writer. */
  hear(news: ChainNews): void {
    if (news.head) this.#parts.freshness.hear(news.head);
    this.#isLive ||= news.isLive;
    this.#news = news;
    for (const node of this.#parts.pool.nodes) {
      const noted = news.nodeHeads.find((each) => each.node === node.name);
      if (noted) node.noteHead(noted.head, noted.isOnOtherBranch);
    }
    for (const listener of [...this.#onUpdate]) listener();
  }

  /** Calls `listener` when the chain may have changed. @returns A function that ends these calls. */
  onUpdate(listener: () => void): () => void {
    this.#onUpdate.add(listener);
    return () => this.#onUpdate.delete(listener);
  }

  async start(): Promise<void> {
    // Does nothing: only the writer follows.
  }

  /** Forgets the writer's tags. The writer sets the size of the store. */
  reconfigure(): void {
    this.#known.clear();
  }

  get remarks(): ChainRemarks {
    return this.#news.remarks ?? { isPassingThrough: false, odd: [] };
  }

  /** As `ChainWriter.distrust`. */
  distrust(upstream: string): void {
    this.#parts.writer.distrust(upstream);
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  /** The head that the writer has written last; undefined while the chain is not live. */
  #head(): Position | undefined {
    if (!this.#isLive || this.#news.whyStopped !== undefined) return undefined;
    this.#store.refresh();
    return this.#store.head;
  }

  /** All processes take the writer's answer, so a block that is final in one process is final in all. */
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
