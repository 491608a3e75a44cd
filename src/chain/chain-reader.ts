// The followed chain for a process that only reads its store: the writer, another process, writes it. Heads
// are read from the store, so all processes of a machine see one and the same; the rest the writer tells.
import type { Clock } from "../lib/clock.ts";
import type { Turns } from "../lib/turns.ts";
import { within } from "../lib/waiting.ts";
import type { Pool } from "../upstream/pool.ts";
import { BlockStore } from "./block-store.ts";
import { ChainView, type Sought, type ViewParts } from "./chain-view.ts";
import type { ChainNews, ChainWriter } from "./chain-writer.ts";
import type { ChainDialect, Reference, Tag } from "./dialect.ts";
import { firstView, headOfNodes } from "./first-view.ts";
import type { HeadFreshness } from "./freshness.ts";
import type { Position } from "./store-keys.ts";
import { StoredBlock } from "./stored-block.ts";
import { TaggedBlocks } from "./tagged-blocks.ts";

export type ChainReaderParts = {
  readonly dialect: ChainDialect;
  readonly pool: Pick<Pool, "usable" | "bestForBlocks" | "nodes">;
  readonly writer: ChainWriter;
  readonly clock: Clock;
  readonly freshness: Pick<HeadFreshness, "hear" | "staleness">;
  readonly turns: Pick<Turns, "isOver" | "next">;
};

/** How long an answer waits for a block that a node told of, in milliseconds. */
const TIMEOUT_MS = 2_000;

export class ChainReader {
  readonly #store: BlockStore;
  /** For when the writer is away. */
  readonly #tagged: TaggedBlocks;
  /** What the writer said of each tag, at which head. */
  readonly #told = new Map<Tag, { head: string; position: Promise<Position | undefined> }>();
  /** The writer was live once: while a new one finds its way, the store is as good as it was. */
  #isLive = false;
  #whyStopped: string | undefined;
  #leader: string | undefined;
  readonly #viewParts: ViewParts;
  readonly #parts: ChainReaderParts;

  /** @throws When the store is not there: its writer comes first. */
  constructor(options: { readonly path: string }, parts: ChainReaderParts) {
    this.#parts = parts;
    const { pool, dialect, turns, writer } = parts;
    const store = new BlockStore({ ...options, readOnly: true, windowBlocks: 0, bytes: 0 });
    this.#store = store;
    this.#tagged = new TaggedBlocks({ dialect, nodes: () => pool.usable() });
    this.#viewParts = {
      store,
      writer,
      turns,
      fetch: (reference) => this.#fetch(reference),
      tagged: (tag) => this.#findTagged(tag),
      reach: (number, signal) => this.#reach(number, signal),
      hurry: () => writer.hurry(),
      newest: () => this.view(),
      leader: () => this.#leader,
    };
  }

  /** The writer has something to tell. */
  hear({ isLive, whyStopped, leader, standings, head }: ChainNews): void {
    if (head) this.#parts.freshness.hear(head);
    this.#isLive ||= isLive;
    this.#whyStopped = whyStopped;
    this.#leader = leader;
    for (const node of this.#parts.pool.nodes) {
      const standing = standings.find((each) => each.node === node.name);
      if (standing) node.standsAt(standing.head, standing.isElsewhere);
    }
  }

  async start(): Promise<void> {
    // It is the writer that follows.
  }

  /** The store's size is the writer's. */
  reconfigure(): void {
    this.#told.clear();
  }

  /** See `ChainWriter`. */
  distrust(upstream: string): void {
    this.#parts.writer.distrust(upstream);
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  /** See `Chain`. */
  view(isShared = false): ChainView | undefined {
    if (!this.#isLive || this.#whyStopped !== undefined) return undefined;
    const store = this.#store;
    store.refresh();
    const { head, tail } = store;
    const { staleness } = this.#parts.freshness;
    return head && tail !== undefined
      ? new ChainView({ head, tail, isShared, staleness }, this.#viewParts)
      : undefined;
  }

  /** See `Chain`. */
  get whyStopped(): string | undefined {
    return this.#whyStopped;
  }

  /** See `Chain`. */
  headOfNodes(signal: AbortSignal): Promise<Position | undefined> {
    return headOfNodes(this.#parts.pool.bestForBlocks(), signal, this.#parts);
  }

  /** See `Chain`. */
  liveView(signal: AbortSignal): Promise<ChainView | undefined> {
    const { clock } = this.#parts;
    if (this.#whyStopped !== undefined) return Promise.resolve(undefined);
    return firstView(signal, { view: () => this.view(), look: () => this.#look(), clock });
  }

  /** Resolves when the head is at the number, when all nodes were looked at, or the timeout or the signal ends. */
  async #reach(number: number, signal: AbortSignal): Promise<void> {
    if ((this.view()?.head.number ?? -1) >= number || signal.aborted) return;
    await within(TIMEOUT_MS, this.#look(), { clock: this.#parts.clock, signal });
  }

  #look(): Promise<void> {
    return this.#parts.writer.look().catch(() => undefined);
  }

  async #fetch(reference: Reference): Promise<Sought> {
    const fetched = await this.#parts.writer.fetch(reference).catch(() => "unanswered" as const);
    if (typeof fetched === "string") return fetched;
    const { hash } = fetched;
    this.#store.refresh();
    const outline = this.#store.outline(hash);
    return outline ? new StoredBlock({ hash, outline }, { store: this.#store }) : "unanswered";
  }

  /** All processes go by the writer's word: what one of them called final is so for the others. */
  #findTagged(tag: Tag): Promise<Position | undefined> {
    const { head } = this.#store;
    if (!head) return Promise.resolve(undefined);
    const told = this.#told.get(tag);
    if (told?.head === head.hash) return told.position;
    const hashAt = (number: number): string | undefined => this.#store.hashAt(number);
    const position = this.#parts.writer.tagged(tag).catch(() => {
      this.#told.delete(tag);
      return this.#tagged.find(tag, { head, hashAt });
    });
    this.#told.set(tag, { head: head.hash, position });
    position.then(
      (found) => found ?? this.#told.delete(tag),
      () => this.#told.delete(tag),
    );
    return position;
  }
}
