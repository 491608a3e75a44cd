// The view of a followed chain that calls get, in the process that follows the chain and in those that only read its
// store. One call, or all calls of one batch, see one head. Also the services of a store's writer to its readers.

import type { LogMatcher } from "../evm/log-filter.ts";
import { toQuantity } from "../evm/values.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { doFrom, type Turns, type Work } from "../lib/turns.ts";
import { within } from "../lib/waiting.ts";
import type { Pool } from "../upstream/pool.ts";
import type { BlockTables, LogSegment, StoredTracePosition } from "./block-tables.ts";
import type { ChainDialect, ReceiptTerms, Reference, Tag } from "./dialect.ts";
import type { HeadFreshness, Staleness } from "./freshness.ts";
import type { UpstreamLogs } from "./kept-segments.ts";
import { eachTerm } from "./log-index.ts";
import { type LogQuery, logsOfBlock, searchLogs, selectLogs } from "./log-search.ts";
import { LogSelection } from "./log-selection.ts";
import type { Position, StoredBlock } from "./stored-block.ts";
import { TagOrder } from "./tagged-blocks.ts";

/** Why the nodes did not give a block. */
export type FetchFailure =
  /** No node that answered has the block in a chain that can be followed. */
  | "unknown"
  /** A node gave the block, but it could not be proven. */
  | "unproven"
  /** A proof refuted each block that nodes gave, or the mode `strict` refused it: no node's answer about it is served. */
  | "refused"
  /** Nodes gave the block, but none of them has its receipts. */
  | "no receipts"
  /** No node gave the block: nodes failed, or the block is too large. */
  | "unanswered";

/** The block that was fetched from the nodes, or why there is none. */
export type BlockFetch = StoredBlock | FetchFailure;

export type ViewOptions = {
  readonly head: Position;
  /** The members of a batch share the view: its head stays. */
  readonly isShared: boolean;
  /** Why the head may not be the newest block; undefined when the head is fresh. */
  readonly staleness?: Staleness | undefined;
  /** Whether the block with a number can no longer change; left out: all blocks of the view may be told by number. */
  readonly isFinal?: ((number: number) => boolean) | undefined;
};

/** The services of a store's writer to all readers. Each promise rejects if the writer is away, or takes too long. */
export type ChainWriter = {
  /** Asks all nodes for their heads and extends the chain; resolves when that is done. */
  look(): Promise<void>;
  /** As `look`, soon, without a result to wait for. */
  hurry(): void;
  /** @returns The hash under which the block is in the store now. */
  fetch(
    reference: Reference,
    receipts: ReceiptTerms,
  ): Promise<{ readonly hash: string } | FetchFailure>;
  tagged(tag: Tag): Promise<Position | undefined>;
  keepTrace(hash: string, position: StoredTracePosition, json: Buffer): Promise<void>;
  keepSegment(segment: LogSegment, logs: UpstreamLogs): Promise<void>;
  /** Forgets the logs of old blocks that this upstream gave, alone or with others: it was caught giving wrong data. */
  distrust(upstream: string): void;
};

export type ViewSourceParts = {
  readonly store: BlockTables;
  readonly writer: Omit<ChainWriter, "look" | "distrust">;
  /** Resolves when the head has reached the number, or when all nodes were asked for their heads. */
  readonly look: (number?: number) => Promise<unknown>;
  /** The head that calls see now; undefined while the stored chain is not the nodes' chain. */
  readonly shown: { readonly head: Position | undefined };
  /** Makes reads see the writes of another process to the store. */
  readonly refresh?: () => void;
  readonly leader: () => string | undefined;
  readonly whyStopped: () => string | undefined;
  readonly chainId: number;
  readonly pool: Pick<Pool, "bestForBlocks" | "usable" | "isSettled">;
  readonly dialect: Pick<ChainDialect, "readPosition">;
  readonly freshness: Pick<HeadFreshness, "staleness">;
  readonly clock: Clock;
  readonly turns: Pick<Turns, "join" | "next">;
  /** A block is final when it is this many blocks below the head; undefined: only the nodes can tell. */
  readonly finalAfter?: number | undefined;
};

/** How long a call waits for a block that a node has already, in milliseconds. */
const REACH_TIMEOUT_MS = 2_000;
/** How long a call waits until the chain is live, and how often it looks, in milliseconds. */
const LIVE_TIMEOUT_MS = 3_000;
const LOOK_AGAIN_MS = 50;

/** The head of an empty store. */
const NO_BLOCK: Position = { number: -1, hash: "" };
/** After a start nodes are looked for this long, in milliseconds, before the store answers without them. */
const LOOKED_FOR_MS = 1_000;
/**
 * A block that is this much older than the stored head, in seconds, counts as final where neither the nodes nor the chain's
 * entry told which blocks are: the deepest reorganisation known took two days (docs/decisions/0078).
 */
const OLD_ENOUGH_SECONDS = 7 * 86_400;

/** How often a query is run at most: a reorg during the query makes it run again. */
const ATTEMPTS = 3;

/** The parts of the chain that a view uses. */
export type ViewParts = Pick<
  ViewSourceParts,
  "store" | "writer" | "turns" | "leader" | "finalAfter"
> & {
  readonly source: Pick<ViewSource, "view" | "reach" | "fetch">;
};

/** The time without an answer of any node, in milliseconds, and the newest block that was known before. */
export type Silence = { readonly ms: number; readonly head: Position };

export class ViewSource {
  readonly #viewParts: ViewParts;
  readonly #startedAt: number;
  readonly #parts: ViewSourceParts;

  constructor(parts: ViewSourceParts) {
    this.#parts = parts;
    this.#viewParts = { ...parts, source: this };
    this.#startedAt = parts.clock.now();
  }

  /**
   * A view of the chain as it is now; undefined while the stored chain is not the nodes' chain.
   * @param isShared All members of a batch share the view.
   */
  view(isShared = false): ChainView | undefined {
    const { shown, freshness, refresh } = this.#parts;
    refresh?.();
    const { head } = shown;
    const { staleness } = freshness;
    return head && new ChainView({ head, isShared, staleness }, this.#viewParts);
  }

  /**
   * The stored chain as it was when it was last extended, also while it is not followed: for blocks by their hash. Its
   * head may be old, or may have left the nodes' chain; an empty store has a head below all blocks.
   */
  storedView(): ChainView {
    this.#parts.refresh?.();
    const head = this.#parts.store.head ?? NO_BLOCK;
    return new ChainView({ head, isShared: false }, this.#viewParts);
  }

  /**
   * A view of the stored chain after a start, while no node answers; undefined as soon as one does, or when the store is of
   * another chain. Its canonical blocks may be told by number only where they are final (`tells`).
   */
  outageView(isShared = false): ChainView | undefined {
    const head = this.#headInOutage();
    if (!head) return undefined;
    const { store, clock } = this.#parts;
    const timestamp = store.outline(head.hash)?.timestamp ?? 0;
    const ms = Math.max(0, clock.wallTime() - timestamp * 1000);
    const options = { head, isShared, staleness: { kind: "unconfirmed", ms } } as const;
    const isFinal = (number: number): boolean => this.#isFinal(number, head, timestamp);
    return new ChainView({ ...options, isFinal }, this.#viewParts);
  }

  /** For errors of calls that no node answered; undefined while the head is confirmed, or where none is known. */
  get silence(): Silence | undefined {
    const { head, staleness } = this.view() ?? {};
    if (head) return staleness?.kind === "unconfirmed" ? { ms: staleness.ms, head } : undefined;
    const stored = this.#headInOutage();
    return stored && { ms: this.#parts.clock.now() - this.#startedAt, head: stored };
  }

  /** The stored head, if no node has told a head since the start. */
  #headInOutage(): Position | undefined {
    const { store, pool, clock, chainId } = this.#parts;
    const isLooking = clock.now() - this.#startedAt < LOOKED_FOR_MS && !pool.isSettled();
    if (isLooking || pool.usable().some(({ head }) => head !== undefined)) return undefined;
    return store.fitsChain(chainId) ? store.head : undefined;
  }

  #isFinal(number: number, head: Position, headSeconds: number): boolean {
    const { store, finalAfter } = this.#parts;
    if (finalAfter !== undefined) return number <= head.number - finalAfter;
    if (number <= (store.finalized()?.number ?? -1)) return true;
    const seconds = store.blockAt(number)?.outline.timestamp ?? headSeconds;
    return headSeconds - seconds >= OLD_ENOUGH_SECONDS;
  }

  /** As `view`, but after a start the call waits a little until the chain is live. */
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

  /** Why calls are sent to the nodes, in words for a person: the chain cannot be followed, or the disk refuses writes. */
  get whyStopped(): string | undefined {
    return this.#parts.whyStopped();
  }

  /** The newest block of the first node that tells one, unproven: for calls that cannot wait until the chain is live. */
  async headOfNodes(signal: Signal): Promise<Position | undefined> {
    const { dialect, pool } = this.#parts;
    for (const node of pool.bestForBlocks()) {
      const position = await dialect.readPosition("latest", node, signal);
      if (position) return position;
    }
    return undefined;
  }

  /** Waits until the head is at the number or all nodes were asked, or until the timeout, or until the signal aborts. */
  async reach(number: number, signal: Signal): Promise<void> {
    const { look, clock } = this.#parts;
    if ((this.view()?.head.number ?? -1) >= number || signal.aborted) return;
    await within(REACH_TIMEOUT_MS, look(number), { clock, signal });
  }

  /**
   * Has the writer fetch and prove a block that is not in the store, and store it; or the receipts of a block that is
   * stored without.
   */
  async fetch(reference: Reference, receipts: ReceiptTerms = "needed"): Promise<BlockFetch> {
    const { store, writer } = this.#parts;
    const fetched = await writer.fetch(reference, receipts);
    if (typeof fetched === "string") return fetched;
    return store.blockOf(fetched.hash) ?? "unanswered";
  }
}

export class ChainView {
  readonly head: Position;
  readonly staleness: Staleness | undefined;
  readonly #isShared: boolean;
  readonly #isFinal: ViewOptions["isFinal"];
  /** Created when a call first names a tag, since most calls name none. */
  #tags: TagOrder | undefined;
  readonly #parts: ViewParts;

  constructor({ head, isShared, staleness, isFinal }: ViewOptions, parts: ViewParts) {
    this.head = head;
    this.#isFinal = isFinal;
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

  /** Whether the stored block with this number may be told as the canonical one. */
  tells(number: number): boolean {
    return this.#isFinal?.(number) ?? true;
  }

  get leader(): string | undefined {
    return this.#parts.leader();
  }

  /** The head's number, and its time in milliseconds since 1970. */
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

  // A block without receipts is not a block without logs, so only the code that says so gets one.

  /** The canonical block with this number, if it is in the store: with its receipts, unless "if held" asks for either. */
  blockAt(number: number, receipts: ReceiptTerms = "needed"): StoredBlock | undefined {
    const { store } = this.#parts;
    if (number > this.head.number) return undefined;
    const block = store.blockAt(number);
    // The store may have moved to another head since.
    const isOther = number === this.head.number && block?.hash !== this.head.hash;
    return asAskedFor(isOther ? store.blockOf(this.head.hash) : block, receipts);
  }

  /** The number with the canonical hash, if the store has the block. */
  positionAt(number: number): Position | undefined {
    if (number === this.head.number) return this.head;
    const hash = number < this.head.number ? this.#parts.store.hashAt(number) : undefined;
    return hash === undefined ? undefined : { number, hash };
  }

  /** As `blockAt`, any block of the store, on this chain or beside it, that is not above the head. */
  blockOf(hash: string, receipts: ReceiptTerms = "needed"): StoredBlock | undefined {
    const block = asAskedFor(this.#parts.store.blockOf(hash), receipts);
    return block && block.number <= this.head.number ? block : undefined;
  }

  /** The hash that is canonical in the store at this number now, also above the head of this view. */
  hashAt(number: number): string | undefined {
    return this.#parts.store.hashAt(number);
  }

  /** Whether the head is still canonical: then all reads from this view were of one chain. */
  get holds(): boolean {
    return this.hashAt(this.head.number) === this.head.hash;
  }

  /** Any block of the store with its receipts, whatever its height: for example a block that a reorg removed. */
  droppedBlock(hash: string): StoredBlock | undefined {
    return asAskedFor(this.#parts.store.blockOf(hash), "needed");
  }

  isOnChain({ number, hash }: Position): boolean {
    return this.blockAt(number, "if held")?.hash === hash;
  }

  /** The block of a transaction of this chain, maybe without receipts, and the transaction's index, if it is stored. */
  transaction(hash: string): { block: StoredBlock; index: number } | undefined {
    const position = this.#parts.store.transactionPosition(hash);
    const block = position && this.blockAt(position.number, "if held");
    return block && { block, index: position.index };
  }

  /** As `ViewSource.fetch`. */
  fetch(reference: Reference, receipts: ReceiptTerms = "needed"): Promise<BlockFetch> {
    return this.#parts.source.fetch(reference, receipts);
  }

  /** The traces of a transaction as JSON, if they were kept. */
  keptTrace(blockHash: string, position: StoredTracePosition): Buffer | undefined {
    return this.#parts.store.trace(blockHash, position);
  }

  /** Keeps traces with a block, if the block is final and stored. Rejects when the writer fails: callers ignore that. */
  async keepTrace(block: Position, position: StoredTracePosition, json: Buffer): Promise<void> {
    if ((await this.#finalNumber()) < block.number || !this.blockOf(block.hash, "if held")) return;
    await this.#parts.writer.keepTrace(block.hash, position, json);
  }

  /** Logs of blocks older than the window, as a JSON array, if they were kept. */
  keptLogs(segment: LogSegment): Buffer | undefined {
    return this.#parts.store.segment(segment);
  }

  /** Keeps the logs of blocks, if all are final. Rejects when the writer fails: callers ignore that. */
  async keepLogs(segment: LogSegment, logs: UpstreamLogs): Promise<void> {
    if (segment.to <= (await this.#finalNumber()))
      await this.#parts.writer.keepSegment(segment, logs);
  }

  /** The highest number that counts as final. Nodes of some chains know no finalized block, or have taken one back. */
  async #finalNumber(): Promise<number> {
    const told = (await this.tagged("finalized"))?.number;
    const { finalAfter } = this.#parts;
    if (finalAfter === undefined) return told ?? -1;
    const known = this.head.number - finalAfter;
    return Math.min(told ?? known, known);
  }

  /** The newest block that nodes call safe or finalized, not above this head; undefined when the nodes know none. */
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

  /** Has the writer ask all nodes for their heads soon, because a node has something new. */
  hurry(): void {
    this.#parts.writer.hurry();
  }

  /** Lets other work run; a call that reads many blocks awaits it now and then. */
  async pause(): Promise<void> {
    const { turns } = this.#parts;
    if (turns.join() === "over") await turns.next();
  }

  /** Adds the terms of all logs of a stored block to a set. A filter with other terms cannot match any of them. */
  addLogTerms(block: StoredBlock, terms: Set<number>): void {
    const directory = this.#parts.store.part(block.hash, "logs");
    if (directory) eachTerm(directory, (term) => terms.add(term));
  }

  /** The matching logs of a block that is stored with its receipts. */
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
   * The matching logs of a range between tail and head, all of one chain; when there are too many, more than `most`.
   * @returns undefined when the range left the store, or reorgs interrupted every attempt.
   */
  logs(query: LogQuery): LogSelection | undefined | Promise<LogSelection | undefined> {
    return doFrom(this.#search(query), this.#parts.turns);
  }

  *#search(query: LogQuery): Work<LogSelection | undefined> {
    const { store } = this.#parts;
    const { from, to } = query.range;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const last = hashAtOrBelow(to, store);
      const found = yield* searchLogs(query, { store });
      if (last === undefined || hashAtOrBelow(to, store) !== last || (store.tail ?? 0) > from)
        continue;
      found?.keepFew();
      return found;
    }
    return undefined;
  }
}

const asAskedFor = (
  block: StoredBlock | undefined,
  receipts: ReceiptTerms,
): StoredBlock | undefined => (block?.hasReceipts || receipts === "if held" ? block : undefined);

/** The hash of the newest stored block up to a number, in the window: the number may be a height without a block. */
function hashAtOrBelow(number: number, store: BlockTables): string | undefined {
  const { tail, head } = store;
  if (!head || number > head.number) return undefined;
  for (let at = number; at >= (tail ?? head.number); at -= 1) {
    const hash = store.hashAt(at);
    if (hash !== undefined) return hash;
  }
  return undefined;
}
