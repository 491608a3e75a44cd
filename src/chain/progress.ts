// Whether the followed chain keeps up with its nodes: since when nodes have had newer blocks than the stored chain, and
// the node that is a window or more ahead of it.

import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { AskedUpstream } from "./dialect.ts";
import { pollIntervalMs } from "./freshness.ts";
import type { NodeHeads } from "./node-heads.ts";
import type { StoreWriting } from "./writing.ts";

export type ProgressParts = {
  readonly store: Pick<StoreWriting, "tables" | "size">;
  readonly clock: Pick<Clock, "now" | "wallTime">;
  readonly log: Pick<Logger, "warn">;
  readonly metrics: Pick<Metrics, "followed">;
};

/**
 * A head that is younger than this many block times, and than this at least, in milliseconds, is young: a node that has no
 * newer block is not stuck.
 */
const YOUNG = { blocks: 20, leastMs: 120_000 };
/**
 * The chain is late when it has not advanced for this many block times although a node has newer blocks; with bounds in
 * milliseconds, since the block time of a few blocks is a guess. With the polls that comes to less than three block times.
 */
const LATE_AFTER = { blocks: 2, leastMs: 2_000, mostMs: 24_000 };

/** A chain is not late without a known reason before this time, in milliseconds; the second is for an empty store. */
const UNEXPLAINED_MS = 3_000;
const BEGINNING_MS = 10_000;

export class Progress {
  /** Since when a node has had newer blocks and the chain did not advance, by the clock's `now`; undefined when none has. */
  #behindSince: number | undefined;
  /** How many nodes have our head as their newest block, and how many have newer ones. */
  #confirming = 0;
  #ahead = 0;
  /** How many nodes have heads less than a window from ours, and how many a window or more above it. */
  #near = 0;
  #far = 0;
  /** The block time when it was measured last, in milliseconds. */
  #blockMs = 0;
  #furthest: { readonly node: string; readonly head: number; readonly blocks: number } | undefined;
  /** Whether the log says that a node is far ahead. */
  #wasAhead = false;
  readonly #network: string;
  readonly #parts: ProgressParts;

  constructor({ network }: { readonly network: string }, parts: ProgressParts) {
    this.#network = network;
    this.#parts = parts;
  }

  /** Whether a node has newer blocks than the stored chain. */
  get isBehind(): boolean {
    return this.#behindSince !== undefined;
  }

  /** Whether the chain has not advanced for some block times although a node has newer blocks. */
  get isLate(): boolean {
    return this.#behindMs >= this.#graceMs;
  }

  /**
   * As `isLate`, for a chain of which nothing tells why it does not advance: nodes, or the gateway's machine, may be slow.
   */
  get isVeryLate(): boolean {
    const { head } = this.#parts.store.tables;
    return this.#behindMs >= Math.max(this.#graceMs, head ? UNEXPLAINED_MS : BEGINNING_MS);
  }

  /** As `isLate`, after half the time: then a leader that is a block behind another node is not waited for. */
  get isSlow(): boolean {
    return this.#behindMs >= this.#graceMs / 2;
  }

  get #behindMs(): number {
    return this.#behindSince === undefined ? -1 : this.#parts.clock.now() - this.#behindSince;
  }

  /** Whether a node has our head as its newest block. */
  get isConfirmed(): boolean {
    return this.#confirming > 0;
  }

  /**
   * Whether more nodes have our head as their newest block than have newer blocks; where they are as many, ours counts
   * while it is young. So one node of two cannot invent newer blocks and say that they cannot be taken in.
   */
  get isOutnumbered(): boolean {
    const { isYoung } = this;
    return this.#confirming > this.#ahead || (isYoung && this.#confirming === this.#ahead);
  }

  /** Whether our head is young, and as many nodes are near it as are a window or more above it, or more nodes. */
  get isNearby(): boolean {
    return this.#near > 0 && this.#near >= this.#far && this.isYoung;
  }

  /** Whether the stored head is so young that the chain may have no newer block yet. */
  get isYoung(): boolean {
    const { store, clock } = this.#parts;
    const { head } = store.tables;
    const made = head && store.tables.outline(head.hash)?.timestamp;
    if (made === undefined) return false;
    return clock.wallTime() - made * 1000 < Math.max(YOUNG.leastMs, YOUNG.blocks * this.#blockMs);
  }

  /** In words for a person: the node that is a window or more ahead; undefined when there is none. */
  get whyBehind(): string | undefined {
    const ahead = this.#furthest;
    return ahead && `${ahead.node} is ${ahead.blocks} blocks ahead, at ${ahead.head}`;
  }

  /** Records that the stored chain has changed. */
  advanced(): void {
    if (this.isBehind) this.#behindSince = this.#parts.clock.now();
  }

  /** Compares the stored head with those of the nodes. */
  look(nodes: readonly AskedUpstream[], heads: Pick<NodeHeads, "of">): void {
    const { store, clock } = this.#parts;
    const { head } = store.tables;
    const told = nodes.flatMap((node) => {
      const theirs = heads.of(node);
      return theirs ? [{ node: node.name, ...theirs }] : [];
    });
    const highest = told.reduce((best, each) => (each.number > best.number ? each : best), {
      node: "",
      number: head?.number ?? -1,
      hash: "",
    });
    const blocks = highest.number - (head?.number ?? -1);
    const { tail = 0 } = store.tables;
    // One block alone shows no block time; it may be the first of a window that begins anew.
    if (head && head.number > tail) this.#blockMs = 2 * pollIntervalMs(store.tables);
    this.#confirming = told.filter(({ hash }) => hash === head?.hash).length;
    this.#ahead = told.filter(({ number }) => number > (head?.number ?? -1)).length;
    const distances = told.map(({ number }) => number - (head?.number ?? -1));
    const { windowBlocks } = store.size;
    this.#near = distances.filter((distance) => Math.abs(distance) < windowBlocks).length;
    this.#far = distances.filter((distance) => distance >= windowBlocks).length;
    if (blocks === 0) this.#behindSince = undefined;
    else this.#behindSince ??= clock.now();
    const isFar = head !== undefined && blocks >= store.size.windowBlocks;
    this.#furthest = isFar ? { node: highest.node, head: highest.number, blocks } : undefined;
  }

  /** Updates the metrics, and logs when a node is found to be far ahead. */
  measure(isPassingThrough: boolean): void {
    const { metrics, log } = this.#parts;
    const ahead = this.#furthest;
    metrics.followed(this.#network, { isPassingThrough, behindBlocks: ahead?.blocks ?? 0 });
    if (ahead && !this.#wasAhead) log.warn(ahead, "the followed chain is far behind a node");
    this.#wasAhead = ahead !== undefined;
  }

  get #graceMs(): number {
    const { blocks, leastMs, mostMs } = LATE_AFTER;
    return Math.min(mostMs, Math.max(leastMs, blocks * this.#blockMs));
  }
}
