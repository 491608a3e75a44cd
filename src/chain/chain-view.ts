// How calls see a followed chain, in the process that follows it and in those that only read its store. One call, or
// all calls of one batch, see it with one head. And what the writer of a store does for its readers.

import type { LogMatcher } from "../evm/log-filter.ts";
import { toQuantity } from "../evm/values.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { doFrom, type Turns, type Work } from "../lib/turns.ts";
import { within } from "../lib/waiting.ts";
import type { Pool } from "../upstream/pool.ts";
import type { BlockTables, LogSegment, StoredTracePosition } from "./block-tables.ts";
import type { ChainDialect, Reference, Tag } from "./dialect.ts";
import type { HeadFreshness, Staleness } from "./freshness.ts";
import type { UpstreamLogs } from "./kept-segments.ts";
import { eachTerm } from "./log-index.ts";
import { type LogQuery, logsOfBlock, searchLogs, selectLogs } from "./log-search.ts";
import { LogSelection } from "./log-selection.ts";
import type { Position, StoredBlock } from "./stored-block.ts";
import { TagOrder } from "./tagged-blocks.ts";

/** Why a block that was looked for at the nodes is not there. */
export type NotFetched =
  /** No node that answered has it in a chain that can be followed. */
  | "unknown"
  /** A node gave the block, but it could not be proven. */
  | "unproven"
  /** The nodes could not be asked. */
  | "unanswered";

/** What became of a block that was looked for at the nodes. */
export type Sought = StoredBlock | NotFetched;

export type ViewOptions = {
  readonly head: Position;
  /** The members of a batch share the view: its head stays. */
  readonly isShared: boolean;
  /** Why the head may not be the newest block; undefined when it is. */
  readonly staleness?: Staleness | undefined;
};

/** What the writer of a store does for all who read it. Each call rejects when the writer is away, or takes too long. */
export type ChainWriter = {
  /** Asks all nodes for their heads and moves the chain; resolves when that is done. */
  look(): Promise<void>;
  /** As `look`, soon; nobody waits for it. */
  hurry(): void;
  /** @returns The hash under which the block is in the store now. */
  fetch(reference: Reference): Promise<{ readonly hash: string } | NotFetched>;
  tagged(tag: Tag): Promise<Position | undefined>;
  keepTrace(hash: string, position: StoredTracePosition, json: Buffer): Promise<void>;
  keepSegment(segment: LogSegment, logs: UpstreamLogs): Promise<void>;
  /** Forgets the logs of old blocks that only this upstream gave: it was caught giving wrong ones. */
  distrust(upstream: string): void;
};

export type ViewSourceParts = {
  readonly store: BlockTables;
  readonly writer: Omit<ChainWriter, "look" | "distrust">;
  /** Resolves when the chain has the number, or when all nodes were asked for their heads. */
  readonly look: (number?: number) => Promise<unknown>;
  /** The head that calls see now; undefined while the stored chain is not the nodes' chain. */
  readonly shown: { readonly head: Position | undefined };
  /** Makes reads see what another process has written to the store. */
  readonly refresh?: () => void;
  readonly leader: () => string | undefined;
  readonly whyStopped: () => string | undefined;
  readonly pool: Pick<Pool, "bestForBlocks">;
  readonly dialect: Pick<ChainDialect, "readPosition">;
  readonly freshness: Pick<HeadFreshness, "staleness">;
  readonly clock: Clock;
  readonly turns: Pick<Turns, "join" | "next">;
  /** A block is final when it is this many blocks below the head; undefined: only the nodes can tell. */
  readonly finalAfter?: number | undefined;
};

/** How long an answer waits for a block that a node has already, in milliseconds. */
const REACH_TIMEOUT_MS = 2_000;
/** How long a call waits until the chain is followed, and how often it looks, in milliseconds. */
const LIVE_TIMEOUT_MS = 3_000;
const LOOK_AGAIN_MS = 50;

/** How often a query is run at most: it is run again when a reorganisation changed the chain meanwhile. */
const ATTEMPTS = 3;

/** What a view has from the chain behind it. */
export type ViewParts = Pick<
  ViewSourceParts,
  "store" | "writer" | "turns" | "leader" | "finalAfter"
> & {
  readonly source: Pick<ViewSource, "view" | "reach" | "fetch">;
};

export class ViewSource {
  readonly #viewParts: ViewParts;
  readonly #parts: ViewSourceParts;

  constructor(parts: ViewSourceParts) {
    this.#parts = parts;
    this.#viewParts = { ...parts, source: this };
  }

  /**
   * How calls see the chain now; undefined while the stored chain is not the nodes' chain.
   * @param isShared All members of a batch share the view.
   */
  view(isShared = false): ChainView | undefined {
    const { shown, freshness, refresh } = this.#parts;
    refresh?.();
    const { head } = shown;
    const { staleness } = freshness;
    return head && new ChainView({ head, isShared, staleness }, this.#viewParts);
  }

  /** As `view`, but after a start it waits a little until the chain is followed. */
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

  /** Why the chain is not followed now: its store cannot be written. In words for a person. */
  get whyStopped(): string | undefined {
    return this.#parts.whyStopped();
  }

  /** The newest block that a node tells, unproven: for calls that cannot wait until the chain is followed. */
  async headOfNodes(signal: Signal): Promise<Position | undefined> {
    const { dialect, pool } = this.#parts;
    for (const node of pool.bestForBlocks()) {
      const position = await dialect.readPosition("latest", node, signal);
      if (position) return position;
    }
    return undefined;
  }

  /** Resolves when the head is at the number or all nodes were asked, at a timeout, or when the signal aborts. */
  async reach(number: number, signal: Signal): Promise<void> {
    const { look, clock } = this.#parts;
    if ((this.view()?.head.number ?? -1) >= number || signal.aborted) return;
    await within(REACH_TIMEOUT_MS, look(number), { clock, signal });
  }

  /** A block that is not in the store, fetched from the nodes: proven, and stored when it is old. */
  async fetch(reference: Reference): Promise<Sought> {
    const { store, writer } = this.#parts;
    const fetched = await writer.fetch(reference);
    if (typeof fetched === "string") return fetched;
    return store.blockOf(fetched.hash) ?? "unanswered";
  }
}

export class ChainView {
  readonly head: Position;
  readonly staleness: Staleness | undefined;
  readonly #isShared: boolean;
  /** Made when a tag is asked for first, since most calls name none. */
  #tags: TagOrder | undefined;
  readonly #parts: ViewParts;

  constructor({ head, isShared, staleness }: ViewOptions, parts: ViewParts) {
    this.head = head;
    this.staleness = staleness;
    this.#isShared = isShared;
    this.#parts = parts;
  }

  /** The lowest number from which every block up to the head is in the store. */
  get tail(): number {
    return this.#parts.store.tail ?? this.head.number + 1;
  }

  /** Whether the nodes may have a newer block: then calls for the newest block are sent to them. */
  get isBehind(): boolean {
    return this.staleness?.kind === "unconfirmed";
  }

  get leader(): string | undefined {
    return this.#parts.leader();
  }

  /** The head's number and time. */
  get newest(): { number: number; timestampMs: number } {
    const { number, hash } = this.head;
    return { number, timestampMs: (this.#parts.store.outline(hash)?.timestamp ?? 0) * 1000 };
  }

  latest(): number {
    return this.head.number;
  }

  async atLeast(number: number, signal: Signal): Promise<number> {
    return number <= this.head.number
      ? this.head.number
      : (await this.reach(number, signal)).head.number;
  }

  /** `latest` as the head's number; any other reference unchanged. */
  pin<Reference>(reference: Reference): Reference | string {
    return reference === "latest" ? toQuantity(this.head.number) : reference;
  }

  /** The canonical block with this number, if it is in the store. */
  blockAt(number: number): StoredBlock | undefined {
    const { store } = this.#parts;
    if (number > this.head.number) return undefined;
    const block = store.blockAt(number);
    // The store may have gone on to another head since.
    const isOther = number === this.head.number && block?.hash !== this.head.hash;
    return isOther ? store.blockOf(this.head.hash) : block;
  }

  /** The number with the canonical hash, if that block is in the store. */
  positionAt(number: number): Position | undefined {
    if (number === this.head.number) return this.head;
    const hash = number < this.head.number ? this.#parts.store.hashAt(number) : undefined;
    return hash === undefined ? undefined : { number, hash };
  }

  /** Any block of the store, on this chain or beside it, that is not newer than the head. */
  blockOf(hash: string): StoredBlock | undefined {
    const block = this.droppedBlock(hash);
    return block && block.number <= this.head.number ? block : undefined;
  }

  /** The hash that is canonical in the store at this number now, also above the head of this view. */
  hashAt(number: number): string | undefined {
    return this.#parts.store.hashAt(number);
  }

  /** Whether the head is still canonical: then all that was read from this view was of one chain. */
  get holds(): boolean {
    return this.hashAt(this.head.number) === this.head.hash;
  }

  /** Any block of the store, whatever its height: for example one that a reorganisation removed. */
  droppedBlock(hash: string): StoredBlock | undefined {
    return this.#parts.store.blockOf(hash);
  }

  isOnChain({ number, hash }: Position): boolean {
    return this.blockAt(number)?.hash === hash;
  }

  /** Where a transaction of this chain is, if that block is in the store. */
  transaction(hash: string): { block: StoredBlock; index: number } | undefined {
    const position = this.#parts.store.transactionPosition(hash);
    const block = position && this.blockAt(position.number);
    return block && { block, index: position.index };
  }

  /** See `ViewSource`. */
  fetch(reference: Reference): Promise<Sought> {
    return this.#parts.source.fetch(reference);
  }

  /** The traces of a transaction as JSON, where they were kept. */
  keptTrace(blockHash: string, position: StoredTracePosition): Buffer | undefined {
    return this.#parts.store.trace(blockHash, position);
  }

  /** Keeps traces with a block that is final, while the store has the block. Nothing is thrown where that fails. */
  async keepTrace(block: Position, position: StoredTracePosition, json: Buffer): Promise<void> {
    if ((await this.#finalNumber()) < block.number || !this.blockOf(block.hash)) return;
    await this.#parts.writer.keepTrace(block.hash, position, json);
  }

  /** Logs of blocks older than the window, as a JSON array, where they were kept. */
  keptLogs(segment: LogSegment): Buffer | undefined {
    return this.#parts.store.segment(segment);
  }

  /** Keeps the logs of blocks that are final. Nothing is thrown where that fails. */
  async keepLogs(segment: LogSegment, logs: UpstreamLogs): Promise<void> {
    if (segment.to <= (await this.#finalNumber()))
      await this.#parts.writer.keepSegment(segment, logs);
  }

  /** Nothing above this number is kept for good. Nodes of some chains know no finalized block, or took one back. */
  async #finalNumber(): Promise<number> {
    const told = (await this.tagged("finalized"))?.number;
    const { finalAfter } = this.#parts;
    if (finalAfter === undefined) return told ?? -1;
    const known = this.head.number - finalAfter;
    return Math.min(told ?? known, known);
  }

  /**
   * The newest block that the nodes call safe or finalized, not above the head of this view; undefined when they know
   * none.
   */
  tagged(tag: Tag): Promise<Position | undefined> {
    this.#tags ??= new TagOrder(this.head, this.#parts.writer);
    return this.#tags.find(tag);
  }

  /**
   * A view that has the number, if the chain gets there within `REACH_TIMEOUT_MS`. The view of a batch does not change,
   * since all members see one head.
   */
  async reach(number: number, signal: Signal): Promise<ChainView> {
    if (number <= this.head.number) return this;
    if (this.#isShared) {
      this.hurry();
      return this;
    }
    const { source } = this.#parts;
    await source.reach(number, signal);
    return source.view() ?? this;
  }

  /** Has all nodes asked for their heads soon, because one of them has something new. */
  hurry(): void {
    this.#parts.writer.hurry();
  }

  /** Lets other work run; to be awaited now and then while many blocks are read. */
  async pause(): Promise<void> {
    const { turns } = this.#parts;
    if (turns.join() === "over") await turns.next();
  }

  /** Adds the terms of all logs of a stored block to a set. A filter with other terms cannot match any of them. */
  addLogTerms(block: StoredBlock, terms: Set<number>): void {
    const directory = this.#parts.store.part(block.hash, "logs");
    if (directory) eachTerm(directory, (term) => terms.add(term));
  }

  /** The matching logs of a stored block. */
  logsOf(block: StoredBlock, matcher: LogMatcher): readonly Buffer[] {
    return logsOfBlock(block.hash, matcher, this.#parts.store);
  }

  /** As `logsOf`, however many logs there are. */
  selectedLogsOf(block: StoredBlock, matcher: LogMatcher): LogSelection {
    const { store } = this.#parts;
    const found = new LogSelection({ store });
    selectLogs(block, { matcher, store }, found);
    found.keepFew();
    return found;
  }

  /**
   * The matching logs of a range between tail and head, all of one and the same chain; one more than
   * `most` at least when there are too many.
   *
   * @returns undefined when the range left the store, or the chain was reorganised again and again.
   */
  logs(query: LogQuery): LogSelection | undefined | Promise<LogSelection | undefined> {
    return doFrom(this.#search(query), this.#parts.turns);
  }

  *#search(query: LogQuery): Work<LogSelection | undefined> {
    const { store } = this.#parts;
    const { from, to } = query.range;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const last = store.hashAt(to);
      const found = yield* searchLogs(query, { store });
      if (last === undefined || store.hashAt(to) !== last || (store.tail ?? 0) > from) continue;
      found?.keepFew();
      return found;
    }
    return undefined;
  }
}
