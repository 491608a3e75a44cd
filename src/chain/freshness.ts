// Decides whether the head of the followed chain may count as the newest block: nodes have confirmed the head lately, and
// the head is not unusually old.

import type { Logger } from "pino";
import type { NetworkSettings } from "../config/schema.ts";
import type { Clock } from "../lib/clock.ts";
import { PeriodicTimer } from "../lib/waiting.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { BlockTables } from "./block-tables.ts";

export type FreshnessOptions = { readonly network: string } & Pick<
  NetworkSettings,
  "staleAfterMs" | "headAgeMs"
>;

export type FreshnessParts = {
  readonly clock: Pick<Clock, "now" | "wallTime" | "after">;
  readonly log: Pick<Logger, "warn" | "info">;
  readonly metrics: Pick<Metrics, "headSeen">;
};

/** The facts of the head that the process that follows the chain sends to other processes. */
export type HeadNews = {
  readonly number: number;
  readonly timestampMs: number;
  /** The time since a node last said that this head is the newest block, in milliseconds. */
  readonly confirmedAgoMs: number;
  readonly blockMs: number;
  /** See `unusualAgeMs`. */
  readonly unusualAgeMs: number | undefined;
};

/** Why the head may not be the newest block. */
export type Staleness = {
  /** `unconfirmed`: no node has confirmed the head for `ms`. `old`: the head's own timestamp is `ms` old. */
  readonly kind: "unconfirmed" | "old";
  readonly ms: number;
};

const LOOK_EVERY_MS = 500;
const BLOCKS_UNCONFIRMED = 5;
const LEAST_MS = 10_000;
const MOST_MS = 60_000;

export class HeadFreshness {
  /** The result of the last look, at most half a second old, so that calls read it at no cost. */
  staleness: Staleness | undefined;
  #seen: { readonly news: HeadNews; readonly at: number } | undefined;
  readonly #timer: PeriodicTimer;
  #options: FreshnessOptions;
  readonly #parts: FreshnessParts;

  constructor(options: FreshnessOptions, parts: FreshnessParts) {
    this.#options = options;
    this.#parts = parts;
    const { clock } = parts;
    const round = (): unknown => this.look();
    this.#timer = new PeriodicTimer({ clock, everyMs: () => LOOK_EVERY_MS, round });
  }

  start(): void {
    this.look();
    this.#timer.begin();
  }

  close(): void {
    this.#timer.stop();
  }

  reconfigure(changed: Omit<FreshnessOptions, "network">): void {
    this.#options = { network: this.#options.network, ...changed };
    this.look();
  }

  /** Takes a confirmation of the head: from the follower in its process, elsewhere from the news of the writer. */
  hear(news: HeadNews): void {
    const at = this.#parts.clock.now() - news.confirmedAgoMs;
    // News that arrive late must not replace newer news.
    if (this.#seen && at < this.#seen.at) return;
    this.#seen = { news, at };
    if (this.staleness) this.look();
  }

  /** The news for other processes, with the times as of now. */
  news(): HeadNews | undefined {
    const { clock } = this.#parts;
    return this.#seen && { ...this.#seen.news, confirmedAgoMs: clock.now() - this.#seen.at };
  }

  /** Judges the head now, and logs a change. @returns undefined when the head is fresh, or not known. */
  look(): Staleness | undefined {
    const { clock, metrics } = this.#parts;
    if (!this.#seen) return undefined;
    const { network } = this.#options;
    const ageMs = clock.wallTime() - this.#seen.news.timestampMs;
    const staleness = this.#judge(ageMs);
    if (staleness?.kind !== this.staleness?.kind) this.#tell(staleness);
    this.staleness = staleness;
    metrics.headSeen(network, { ageMs, isStale: staleness !== undefined });
    return staleness;
  }

  #judge(ageMs: number): Staleness | undefined {
    if (!this.#seen) return undefined;
    const { news, at } = this.#seen;
    const silentMs = this.#parts.clock.now() - at;
    if (silentMs > this.#timeoutMs(news)) return { kind: "unconfirmed", ms: silentMs };
    const { headAgeMs = news.unusualAgeMs } = this.#options;
    return headAgeMs !== undefined && ageMs > headAgeMs ? { kind: "old", ms: ageMs } : undefined;
  }

  #timeoutMs({ blockMs }: HeadNews): number {
    const usual = Math.min(MOST_MS, Math.max(LEAST_MS, BLOCKS_UNCONFIRMED * blockMs));
    return this.#options.staleAfterMs ?? usual;
  }

  #tell(staleness: Staleness | undefined): void {
    const { log } = this.#parts;
    const head = this.#seen?.news.number;
    if (!staleness) {
      log.info({ head }, "the head is fresh again");
      return;
    }
    const { kind: why, ms } = staleness;
    log.warn(
      { head, why, seconds: Math.round(ms / 1000) },
      "the head is stale: the network is not ready",
    );
  }
}

// The usual times of a network, learned from its own newest blocks.

type BlockTimes = Pick<BlockTables, "head" | "tail" | "hashAt" | "outline">;

/** How many of the newest blocks the block time is measured over. */
const MEASURED_BLOCKS = 16;
const SHORTEST_MS = 100;
const LONGEST_MS = 6_000;
/** The interval of polls while there are too few blocks to measure, in milliseconds. */
const UNMEASURED_MS = 500;

/** The interval of polls for a node's head: half the median time between two of the newest blocks, in milliseconds. */
export function pollIntervalMs(store: BlockTimes): number {
  const { gaps } = timesOf(store, MEASURED_BLOCKS, 1);
  const middle = gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)];
  if (middle === undefined) return UNMEASURED_MS;
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, middle * 500));
}

/** `unusualAgeMs` compares this many stretches of the chain, within this many blocks. */
const STRETCHES = 128;
const MOST_BLOCKS = 10_000;
/** Stretches that together last less than this do not show what is usual, in seconds. */
const WATCHED_SECONDS = 1_800;
/** On a regular chain no stretch takes this many times as long as the average one. */
const IRREGULAR = 3;
/** A head is unusually old after this many block times without a block, and not before this many seconds. */
const BLOCKS_MISSING = 20;
const LEAST_SECONDS = 120;

/**
 * The age from which a head is unusually old, in milliseconds. undefined while the stored blocks do not show it: there
 * are too few, or a development chain makes blocks on demand only, and may rest for any time.
 */
export function unusualAgeMs(store: BlockTimes): number | undefined {
  const { head, tail = 0 } = store;
  const stretch = head ? Math.floor(Math.min(MOST_BLOCKS, head.number - tail) / STRETCHES) : 0;
  if (stretch < 1) return undefined;
  const { gaps, total } = timesOf(store, STRETCHES, stretch);
  const average = total / STRETCHES;
  if (gaps.length < STRETCHES || total < WATCHED_SECONDS) return undefined;
  if (Math.max(...gaps) > IRREGULAR * average) return undefined;
  return 1_000 * Math.max(LEAST_SECONDS, (BLOCKS_MISSING * average) / stretch);
}

/** The times between blocks that are `step` heights apart, downwards from the head, at most `most`; and their sum; in seconds. */
function timesOf(store: BlockTimes, most: number, step: number): { gaps: number[]; total: number } {
  const { head, tail } = store;
  const blocks: { readonly number: number; readonly timestamp: number }[] = [];
  const last =
    head && tail !== undefined
      ? Math.max(tail, head.number - most * step)
      : Number.POSITIVE_INFINITY;
  for (let number = head?.number ?? 0; number >= last; number -= step) {
    const hash = store.hashAt(number);
    const outline = hash && store.outline(hash);
    if (!outline) continue; // a height without a block
    blocks.push(outline);
  }
  // Where heights have no block, the time passes for them, too.
  const gaps = blocks.slice(1).map((block, index) => {
    const above = blocks[index] ?? block;
    return ((above.timestamp - block.timestamp) * step) / (above.number - block.number || step);
  });
  return { gaps, total: (blocks[0]?.timestamp ?? 0) - (blocks.at(-1)?.timestamp ?? 0) };
}
