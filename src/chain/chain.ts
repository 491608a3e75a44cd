// The followed chain of one network: joins its store, the follower and the backfill that write the store, and the views
// through which calls read it.

import type { Logger } from "pino";
import { fileIdOf, type Opening, takeFolder } from "../disk/environment-folder.ts";
import { NotWritable, Writable } from "../disk/writable.ts";
import type { Clock } from "../lib/clock.ts";
import { RecentNames } from "../lib/keep-newest.ts";
import type { Turns } from "../lib/turns.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Pool } from "../upstream/pool.ts";
import { Backfill } from "./backfill.ts";
import { BlockSource } from "./block-source.ts";
import { BlockStore, type RunWrite } from "./block-store.ts";
import { FINALIZED, type LogSegment, type StoredTracePosition } from "./block-tables.ts";
import type { ChainNews, ChainRemarks } from "./chain-reader.ts";
import { type ChainWriter, type FetchFailure, ViewSource } from "./chain-view.ts";
import type { BlockLimits, ChainDialect, ReceiptTerms, Reference, Tag } from "./dialect.ts";
import { Follower } from "./follower.ts";
import { type HeadFreshness, pollIntervalMs, unusualAgeMs } from "./freshness.ts";
import type { SegmentSelector, UpstreamLogs } from "./kept-segments.ts";
import { type ProofMode, Prover } from "./prover.ts";
import type { StoreSize } from "./store-eviction.ts";
import type { Position } from "./stored-block.ts";
import { TaggedBlocks } from "./tagged-blocks.ts";
import { ThreadStore } from "./thread/thread-store.ts";
import { CALLED_OFF, type WriterThread } from "./thread/writer-thread.ts";
import { type IngestBlock, type IngestedBlock, ingestHere, type StoreWriting } from "./writing.ts";

export type ChainOptions = {
  readonly network: string;
  readonly chainId: number;
  /** A block is final when it is this many blocks below the head; undefined: only the nodes can tell. */
  readonly finalAfter?: number | undefined;
  /** The folder of the store; created if it is missing. */
  readonly path: string;
  readonly windowBlocks: number;
  /** The most disk space that the store may take, in bytes. */
  readonly bytes: number;
  readonly proof: ProofMode;
  readonly limits: BlockLimits;
  /** The names of all configured upstreams. */
  readonly upstreams: readonly string[];
};

export type ChainParts = {
  readonly dialect: ChainDialect;
  readonly pool: Pick<Pool, "nodes" | "usable" | "bestForBlocks" | "isSettled" | "onChange">;
  readonly clock: Clock;
  readonly turns: Pick<Turns, "join" | "next" | "do">;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly freshness: HeadFreshness;
  /** The thread that fetches and proves blocks and writes the store; undefined where this thread does so. */
  readonly thread?: WriterThread | undefined;
};

type Fetching = { readonly hash: string } | FetchFailure;

/** The chain computes the unusual age of a head anew after this time, in milliseconds. */
const LEARNED_FOR_MS = 60_000;
const UNKNOWN = { ageMs: undefined, until: Number.NEGATIVE_INFINITY };

/** A process that lives this long after it opened the store, in milliseconds, was not killed by a damaged store. */
const OF_USE_AFTER_MS = 60_000;

/** The nodes are asked this often which block is finalized, in milliseconds. */
const LEARN_FINALIZED_MS = 60_000;

/** For this time after an upstream was caught, the chain keeps no logs of old blocks from it, in milliseconds. */
const DISTRUST_MS = 600_000;

export class Chain implements ChainWriter {
  readonly views: ViewSource;
  readonly #store: StoreWriting;
  readonly #writable: Writable;
  /** Whether the store was made ready for this chain and this format. */
  #isPrepared = false;
  #preparing: Promise<void> | undefined;
  readonly #prover: Prover;
  readonly #source: BlockSource;
  readonly #follower: Follower;
  readonly #backfill: Backfill;
  readonly #tagged: TaggedBlocks;
  /** The fetches that run for callers, by hash or number: callers that want the same block share one fetch. */
  readonly #fetching = new Map<string, Promise<Fetching>>();
  /** The head as of the last chain update. It is in memory, since every call reads it. */
  #head: Position | undefined;
  /** The head that calls see; undefined until the chain is live. */
  readonly #shown: { head: Position | undefined } = { head: undefined };
  #usual: { readonly ageMs: number | undefined; readonly until: number } = UNKNOWN;
  /** When the nodes are asked next which block is finalized, by the clock's `now`. */
  #learnFinalizedAt: number;
  /** The upstreams that were caught giving wrong logs or blocks. */
  readonly #distrusted: RecentNames;
  readonly #opening: Opening;
  readonly #storeId: string;
  readonly #cancelOfUse: () => void;
  readonly #closing = new AbortController();
  #options: ChainOptions;
  readonly #parts: ChainParts;

  /** @throws StoreUnavailable */
  constructor(options: ChainOptions, parts: ChainParts) {
    this.#options = options;
    this.#parts = parts;
    const { network, windowBlocks, bytes, chainId, proof, path, limits } = options;
    const { pool, dialect, clock, log, metrics } = parts;
    this.#distrusted = new RecentNames(DISTRUST_MS, clock);
    this.#opening = takeFolder(path, { clock });
    const { damage } = this.#opening;
    if (damage) {
      log.error(
        { ...damage, folder: path },
        "the store is damaged: it is set aside and built anew",
      );
      metrics.storeSetAside(network);
    }
    const writable = new Writable(
      { folder: path, name: "the store", meanwhile: "calls are passed on to the nodes" },
      {
        ...{ clock, log, probe: () => store.probe() },
        onChange: (isWritable) => this.#writableChanged(isWritable),
      },
    );
    const run: RunWrite = (write) => writable.run(write);
    const { store, ingest } = this.#openStore({ path, windowBlocks, bytes }, run);
    this.#opening.opened();
    this.#storeId = fileIdOf(path);
    this.#cancelOfUse = clock.after(OF_USE_AFTER_MS, () => this.#opening.confirmUse());
    const writing = { prepare: () => this.#prepare(), why: () => writable.why };
    this.#writable = writable;
    metrics.storeWritable(network, true);
    const prover = new Prover({ network, mode: proof, chainId }, { store, log, metrics });
    const source = new BlockSource(
      { network, limits },
      {
        ...{ ingest, prover, clock, log, metrics },
        onLie: (name) => this.distrust(name),
        allNodes: () => (pool.isSettled() ? pool.usable() : undefined),
      },
    );
    const nodes = () => pool.usable();
    const shared = { dialect, store, source, nodes, clock, log, metrics };
    this.#store = store;
    this.#prover = prover;
    this.#source = source;
    const isComplete = (): boolean => pool.usable().length === pool.nodes.length;
    this.#follower = new Follower(
      { network },
      {
        ...{ ...shared, writing, isComplete, isStrict: () => prover.isStrict },
        onConfirmed: (at) => this.#confirm(at),
        onLive: () => this.#liveChanged(),
      },
    );
    this.#backfill = new Backfill({ network }, { ...shared, nodes: () => pool.bestForBlocks() });
    this.#tagged = new TaggedBlocks({ dialect, nodes });
    this.#learnFinalizedAt = clock.now() + LEARN_FINALIZED_MS;
    this.#follower.onUpdate(() => {
      this.#headIs(store.tables.head);
      this.#backfill.look();
      this.#learnFinalized();
    });
    this.views = new ViewSource({
      ...parts,
      store: store.tables,
      writer: this,
      ...{ chainId, finalAfter: options.finalAfter },
      shown: this.#shown,
      look: (number) => this.look(number),
      leader: () => this.#follower.leader,
      whyStopped: () => this.#follower.whyStopped,
    });
  }

  /** @throws StoreUnavailable when the store's format is newer; an error when the folder cannot be read or written. */
  #openStore(
    options: StoreSize & { readonly path: string },
    run: RunWrite,
  ): { readonly store: StoreWriting; readonly ingest: IngestBlock } {
    const { dialect, turns, thread } = this.#parts;
    const onBegunAgain = (): void => {
      this.#isPrepared = false;
      this.#follower.hurry();
    };
    try {
      // `ingestHere` returns whole records, so a `BlockStore` can write them.
      if (!thread)
        return { store: new BlockStore(options, { run }), ingest: ingestHere({ dialect, turns }) };
      const store = new ThreadStore(options, { thread, dialect, run, onBegunAgain });
      return { store, ingest: store.ingest };
    } catch (error) {
      this.#opening.closed();
      throw error;
    }
  }

  async start(): Promise<void> {
    // The writer thread starts only when the gateway lets callers in, and the follower waits for the thread. Until then
    // calls see no stored chain.
    if (!this.#parts.thread) await this.#prepare().catch(unlessNotWritable);
    this.#forgetStrangers();
    this.#headIs(this.#store.tables.head);
    this.#parts.pool.onChange(() => this.#follower.hurry());
    this.#follower.start();
  }

  /** Starts the backfill once the chain is live, since callers wait for the head first. */
  #liveChanged(): void {
    this.#headIs(this.#head);
    if (this.#follower.isLive) this.#backfill.start();
  }

  #headIs(head: Position | undefined): void {
    this.#head = head;
    this.#shown.head = this.#follower.isLive ? head : undefined;
  }

  #prepare(): Promise<void> {
    this.#preparing ??= this.#prepareStore().finally(() => {
      this.#preparing = undefined;
    });
    return this.#preparing;
  }

  async #prepareStore(): Promise<void> {
    if (this.#isPrepared) return;
    const { wasCleared } = await this.#store.prepareFor(this.#options.chainId);
    this.#isPrepared = true;
    if (!wasCleared) return;
    this.#headIs(undefined);
    this.#parts.log.warn("the store was of another chain or version: it is built anew");
  }

  #writableChanged(isWritable: boolean): void {
    this.#parts.metrics.storeWritable(this.#options.network, isWritable);
    this.#isPrepared = false; // the failure may have cut off the writing of a huge block
    this.#follower.hurry();
  }

  /** Sets the size of the store, and the proof mode and the limits for blocks that are fetched from now on. */
  reconfigure(
    changed: Pick<ChainOptions, "windowBlocks" | "bytes" | "proof" | "limits" | "upstreams">,
  ): void {
    this.#options = { ...this.#options, ...changed };
    this.#store.resize(changed);
    this.#prover.setMode(changed.proof);
    this.#source.setLimits(changed.limits);
    this.#backfill.reconsider();
    this.#forgetStrangers();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#backfill.close();
    await this.#follower.close();
    this.#writable.close();
    this.#cancelOfUse();
    await this.#store.close();
    this.#opening.closed();
  }

  /** Why the chain that callers see does not advance, in words; undefined while it does. */
  get whyStuck(): string | undefined {
    return this.#follower.whyStuck;
  }

  get remarks(): ChainRemarks {
    const { isPassingThrough, whyBehind } = this.#follower;
    return { isPassingThrough, whyBehind, odd: this.#source.odd };
  }

  // For the processes that read the store.

  /** Calls `listener` after each chain update. @returns A function that ends these calls. */
  onUpdate(listener: () => void): () => void {
    return this.#follower.onUpdate(listener);
  }

  news(): ChainNews {
    const { isLive, whyStopped, leader } = this.#follower;
    const nodeHeads = this.#parts.pool
      .usable()
      .flatMap(({ name, head, isOnOtherBranch }) =>
        head ? [{ node: name, head, isOnOtherBranch }] : [],
      );
    const seen = { nodeHeads, head: this.#parts.freshness.news(), remarks: this.remarks };
    return { isLive, whyStopped, store: this.#storeId, leader, ...seen };
  }

  /** Asks all nodes for their heads. Resolves when the head has reached the number, or when all nodes were asked. */
  look(number = Number.POSITIVE_INFINITY): Promise<void> {
    const { promise: reached, resolve } = Promise.withResolvers<void>();
    const stop = this.#follower.onUpdate(() => {
      if ((this.#head?.number ?? -1) >= number) resolve();
    });
    return Promise.race([reached, this.#follower.lookAround()]).finally(stop);
  }

  hurry(): void {
    this.#follower.hurry();
  }

  async tagged(tag: Tag): Promise<Position | undefined> {
    const head = this.#head;
    const hashAt = (number: number): string | undefined => this.#store.tables.hashAt(number);
    const found = head && (await this.#tagged.find(tag, { head, hashAt }));
    if (found && tag === "finalized") this.#noteFinalized(found);
    return found;
  }

  /** Asks for the finalized block now and then: a start without nodes knows it from the store alone. */
  #learnFinalized(): void {
    const now = this.#parts.clock.now();
    if (now < this.#learnFinalizedAt) return;
    this.#learnFinalizedAt = now + LEARN_FINALIZED_MS;
    this.tagged("finalized").catch(() => undefined);
  }

  #noteFinalized({ number, hash }: Position): void {
    const text = `${number} ${hash}`;
    const { tables } = this.#store;
    if (tables.hashAt(number) !== hash || tables.note(FINALIZED) === text) return;
    this.#store.setNote(FINALIZED, text).catch(() => undefined); // a later one makes up for it
  }

  keepTrace(hash: string, position: StoredTracePosition, json: Buffer): Promise<void> {
    return this.#store.keepTrace(hash, position, json);
  }

  async keepSegment(segment: LogSegment, logs: UpstreamLogs): Promise<void> {
    if (!logs.upstreams.some((name) => this.#distrusted.has(name)))
      await this.#store.keepSegment(segment, logs);
  }

  distrust(upstream: string): void {
    if (this.#distrusted.has(upstream)) return;
    this.#distrusted.add(upstream);
    this.#forgetLogs({ of: upstream }, `${upstream} gave a false answer`);
  }

  #forgetStrangers(): void {
    const { upstreams } = this.#options;
    this.#forgetLogs({ ofOthersThan: upstreams }, "their upstream is not configured");
  }

  #forgetLogs(forgotten: SegmentSelector, why: string): void {
    const { log } = this.#parts;
    this.#store.forgetSegments(forgotten).then(
      (segments) => {
        if (segments > 0) log.warn({ segments, why }, "stored logs of old blocks are removed");
      },
      (error: NodeJS.ErrnoException) => {
        if (error.code !== CALLED_OFF)
          log.error({ err: error }, "stored logs of old blocks could not be removed");
      },
    );
  }

  /** Fetches a block that the store lacks, and stores it; a block above the head is left to the follower. */
  fetch(reference: Reference, receipts: ReceiptTerms): Promise<Fetching> {
    const block = "hash" in reference ? reference.hash.toLowerCase() : reference.number;
    const name = `${block} ${receipts}`;
    const underWay = this.#fetching.get(name);
    if (underWay !== undefined) return underWay;
    const fetching = this.#fetch(reference, receipts).finally(() => this.#fetching.delete(name));
    this.#fetching.set(name, fetching);
    return fetching;
  }

  async #fetch(reference: Reference, receipts: ReceiptTerms): Promise<Fetching> {
    const { pool } = this.#parts;
    const { signal } = this.#closing;
    const found = await this.#source.fetchOld(reference, pool.bestForBlocks(), signal, receipts);
    // In the mode `strict` the call fails then, and does not go to a node, whose answer nothing would prove.
    if (found.kind === "failed" || found.kind === "too large")
      return this.#options.proof === "strict" ? "unproven" : "unanswered";
    if (found.kind === "unproven" && found.isRefused) return "refused";
    if (found.kind !== "found") return found.kind;
    const { record } = found;
    const { hash } = record;
    const { number } = record.outline;
    if ("number" in reference && (await this.#isContested(number, hash))) return "unproven";
    if (this.#isStrange(record)) return "unproven";
    if (number > (this.#head?.number ?? -1)) {
      await this.views.reach(number, signal);
      return this.#ifStored(hash, receipts) ?? "unknown";
    }
    const isOld = "number" in reference && number < (this.#store.tables.tail ?? 0);
    await this.#store.keep(record, isOld).catch(unlessNotWritable);
    return this.#ifStored(hash, receipts) ?? "unanswered";
  }

  /** Whether the block has a header without proof, in a window whose newest header is proven. */
  #isStrange({ outline: { number, blockProof } }: IngestedBlock): boolean {
    if (blockProof !== "none") return false;
    const { head, tail = 0 } = this.#store.tables;
    const newest = head && this.#store.tables.outline(head.hash);
    return newest !== undefined && newest.blockProof !== "none" && number >= tail;
  }

  /** Whether a node has another block at this number. The store cannot tell: old blocks are not linked to its chain. */
  async #isContested(number: number, hash: string): Promise<boolean> {
    const nodes = this.#parts.pool.usable();
    if (nodes.length < 2) return false;
    const theirs = await Promise.all(
      nodes.map((node) => this.#parts.dialect.readPosition(number, node, this.#closing.signal)),
    );
    // For a height without a block, some nodes give the block before it.
    return theirs.some((position) => position?.number === number && position.hash !== hash);
  }

  #ifStored(hash: string, receipts: ReceiptTerms): { hash: string } | undefined {
    const outline = this.#store.tables.outline(hash);
    return outline && (outline.hasReceipts || receipts === "if held") ? { hash } : undefined;
  }

  /** Tells the freshness that a node confirmed our head as the newest block. @param at When, by the clock's `now`. */
  #confirm(at: number): void {
    const { clock, freshness } = this.#parts;
    const { head } = this.#store.tables;
    if (!head) return;
    const now = clock.now();
    if (now >= this.#usual.until)
      this.#usual = { ageMs: unusualAgeMs(this.#store.tables), until: now + LEARNED_FOR_MS };
    freshness.hear({
      number: head.number,
      timestampMs: (this.#store.tables.outline(head.hash)?.timestamp ?? 0) * 1000,
      confirmedAgoMs: now - at,
      blockMs: 2 * pollIntervalMs(this.#store.tables),
      unusualAgeMs: this.#usual.ageMs,
    });
  }
}

/** Ignores that the disk refuses a write now: a later write makes up for it, or nobody needs it. */
function unlessNotWritable(error: unknown): void {
  if (!(error instanceof NotWritable)) throw error;
}
