// The state that the calls of one network share: its upstreams, the hedge budget, the usual time of each method, and
// the calls that wait.

import type { Logger } from "pino";
import type { NetworkSettings } from "../../config/schema.ts";
import type { Clock } from "../../lib/clock.ts";
import type { MethodTraits } from "../../namespaces/known-method.ts";
import type { Metrics } from "../../observe/metrics.ts";
import { LearnedWords, type RefusalWords } from "../error-dialects/learned-words.ts";
import { SlidingWindow } from "../health/health.ts";
import type { Upstream } from "../upstream.ts";
import type { CallOptions, Lesson } from "./call-options.ts";
import { headOf, isBehind, NodeOrder, submissionUpstreams } from "./node-order.ts";

export type NetworkCallsOptions = { readonly network: string } & Pick<
  NetworkSettings,
  "hedging" | "toleratedLag" | "broadcast"
>;

export type NetworkCallsParts = {
  readonly pool: {
    /** The upstreams that may be asked now, in the order of the configuration. */
    usable(): readonly Upstream[];
    /** Whether each upstream has been found usable or not. */
    isSettled(): boolean;
    /** All upstreams of the network. */
    readonly nodes: readonly Upstream[];
  };
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, "upstreamAskedAgain" | "upstreamDissented" | "callBounded">;
  readonly log: Pick<Logger, "warn">;
};

/** The reason that a call waits; the number of calls that wait for each is bounded. */
export type Shortage = "budget" | "upstreams";

type LearnedFrom = {
  readonly method: string;
  readonly traits: MethodTraits;
  readonly options: Pick<CallOptions, "block">;
};

export type Waiting = { resume(): void };

/** The most calls that may wait for budget, and the most that may wait for a usable upstream. */
const MOST_WAITING = 2_000;
const LOG_AGAIN_AFTER_MS = 60_000;
/** How long words count as an answer: two nodes may also have had the same fault for a while. */
const ANSWERS_LIVE_MS = 600_000;
/** Stands for all upstreams: no upstream has an empty name. */
const ALL = "";

export class NetworkCalls {
  readonly times: MethodTimes;
  #hedges: HedgeBudget;
  #order: NodeOrder;
  readonly #waiting = { budget: new Set<Waiting>(), upstreams: new Set<Waiting>() };
  /** The time at which a call first found no usable upstream; undefined while there is one. */
  #outSinceMs: number | undefined;
  /** The time of the last log line about a dissenting upstream, or about all upstreams, by name. */
  readonly #loggedAtMs = new Map<string, number>();
  /** The words of refusals that two upstreams gave for the same call. */
  readonly #answers: LearnedWords;
  #options: NetworkCallsOptions;
  readonly #parts: NetworkCallsParts;

  constructor(options: NetworkCallsOptions, parts: NetworkCallsParts) {
    this.#options = options;
    this.#parts = parts;
    this.times = new MethodTimes(parts);
    this.#answers = new LearnedWords({ livesMs: ANSWERS_LIVE_MS }, parts);
    this.#hedges = new HedgeBudget(options.hedging);
    this.#order = new NodeOrder(options);
  }

  reconfigure(options: NetworkCallsOptions): void {
    this.#options = options;
    this.#hedges = new HedgeBudget(options.hedging);
    this.#order = new NodeOrder(options);
  }

  get hedges(): Pick<HedgeBudget, "earn" | "spend"> {
    return this.#hedges;
  }

  /** The upstreams that may be asked now, best first for blocks. */
  bestForBlocks(): readonly Upstream[] {
    return this.#order.forBlocks(this.#parts.pool.usable());
  }

  /** As `bestForBlocks`, for a call, which counts: now and then a new upstream comes first. */
  takeOrder(call: {
    readonly method: string;
    readonly traits: MethodTraits;
    readonly options: CallOptions;
  }): readonly Upstream[] {
    return this.#order.forCall(this.usableFor(call.traits), call, call.options);
  }

  /** The upstreams that may be asked for such a method now, in the order of the configuration. */
  usableFor({ carriesSigned }: Pick<MethodTraits, "carriesSigned">): readonly Upstream[] {
    const { pool } = this.#parts;
    if (!carriesSigned) return pool.usable();
    const { broadcast } = this.#options;
    const upstreams = submissionUpstreams(pool.usable(), pool.nodes, broadcast);
    if (upstreams.length > 0) return upstreams;
    // A drained upstream takes the transaction where only drained upstreams may.
    return submissionUpstreams(
      pool.nodes.filter(({ state }) => state === "usable"),
      pool.nodes,
      broadcast,
    );
  }

  /** Whether the network has more than one upstream, usable or not. */
  hasOthers(): boolean {
    return this.#parts.pool.nodes.length > 1;
  }

  /** Whether each upstream has been found usable or not. */
  isSettled(): boolean {
    return this.#parts.pool.isSettled();
  }

  /** The beginning of the time without a usable upstream, by the clock's `now`; undefined while there is one. */
  outSinceMs(now: number): number | undefined {
    return this.#parts.pool.usable().length > 0 ? undefined : (this.#outSinceMs ?? now);
  }

  /** Whether the upstream lags behind the best one by more than `toleratedLag` blocks. */
  isBehind(upstream: Pick<Upstream, "head" | "isOnOtherBranch">): boolean {
    const { toleratedLag } = this.#options;
    return isBehind(upstream, { head: this.headNumber(), toleratedLag });
  }

  /** The highest head of the usable upstreams; undefined while none is known. */
  headNumber(): number | undefined {
    return headOf(this.#parts.pool.usable());
  }

  /** The time after which a call of the method is slower than usual, and a hedge is due, in milliseconds. */
  usualMs(method: string): number {
    return hedgeDelayMs(this.times.p95Ms(method), this.#options.hedging);
  }

  /** Whether such words were learned to be an answer: two upstreams gave it. */
  knowsAnswer(method: string, refusal: RefusalWords): boolean {
    return this.#answers.has(method, refusal);
  }

  /** Learns what a call showed about words that were not known. */
  learn({ kind, upstream, refusal }: Lesson, { method, traits, options }: LearnedFrom): void {
    const head = this.headNumber();
    if (kind === "unable" && options.block !== undefined && head !== undefined)
      upstream.checkReach(traits, { block: options.block, head });
    if (traits.quotesCaller) return;
    if (kind === "answer") {
      this.#answers.remember(method, refusal);
      return;
    }
    this.#answers.forget(method, refusal);
    upstream.capabilities.learnWords(method, refusal);
  }

  mayHedge(): boolean {
    return this.#hedges.hasLeft;
  }

  /** Whether one more call may wait for this reason. */
  mayWait(shortOf: Shortage): boolean {
    return this.#waiting[shortOf].size < MOST_WAITING;
  }

  enter(shortOf: Shortage, call: Waiting): void {
    this.#waiting[shortOf].add(call);
    const isOut = shortOf === "upstreams" && this.#parts.pool.usable().length === 0;
    if (isOut) this.#outSinceMs ??= this.#parts.clock.now();
  }

  leave(shortOf: Shortage, call: Waiting): void {
    this.#waiting[shortOf].delete(call);
  }

  /** Lets all calls that wait for an upstream look again: one is usable, or the pool closes. */
  resume(): void {
    this.#outSinceMs = undefined;
    for (const call of [...this.#waiting.upstreams]) call.resume();
  }

  askedAgain(why: "failed" | "cross-check" | "slow"): void {
    this.#parts.metrics.upstreamAskedAgain(this.#options.network, why);
  }

  /** Removes the secrets of all upstreams. */
  readonly redact = (text: string): string =>
    this.#parts.pool.nodes.reduce((clean, { secrets }) => secrets.redact(clean), text);

  /** @param texts As `disagreementTexts` of `decision.ts` makes them. */
  dissented(
    upstream: string,
    method: string,
    texts: { readonly said: string; readonly found: string },
  ): void {
    const { metrics, log } = this.#parts;
    metrics.upstreamDissented(this.#options.network, upstream, { about: method, ...texts });
    this.#logSeldom(upstream, () =>
      log.warn({ upstream, method }, "an upstream's answer differs from the answers of the others"),
    );
  }

  occupied(): void {
    const { metrics, log } = this.#parts;
    metrics.callBounded(this.#options.network, "waiting");
    this.#logSeldom(ALL, () =>
      log.warn(
        "calls are refused, since too many wait for the upstreams: see headgate_upstream_waiting",
      ),
    );
  }

  /** Writes at most one line a minute for each upstream. */
  #logSeldom(upstream: string, log: () => void): void {
    const now = this.#parts.clock.now();
    if (now - (this.#loggedAtMs.get(upstream) ?? Number.NEGATIVE_INFINITY) < LOG_AGAIN_AFTER_MS)
      return;
    this.#loggedAtMs.set(upstream, now);
    log();
  }
}

type HedgingOptions = NetworkSettings["hedging"];

/** The time before a hedge while the method's usual time is not known. */
const UNKNOWN_MS = 500;

/** @param p95Ms The 95th percentile of the method's times; undefined when too few are known. */
export const hedgeDelayMs = (p95Ms: number | undefined, options: HedgingOptions): number =>
  Math.min(options.mostMs, Math.max(options.leastMs, p95Ms ?? UNKNOWN_MS));

/** The most hedges that may be saved, for the moment when a node with many calls in flight becomes slow. */
const MOST_SAVED = 50;

/** A token bucket of hedges: each call adds `share` of one. */
export class HedgeBudget {
  /** The number of saved hedges, from 0 to `MOST_SAVED`. */
  #saved = MOST_SAVED;
  readonly #share: number;

  constructor({ share }: Pick<HedgingOptions, "share">) {
    this.#share = share;
  }

  /** To be called when a call begins. */
  earn(): void {
    this.#saved = Math.min(MOST_SAVED, this.#saved + this.#share);
  }

  /** Whether a hedge is left. */
  get hasLeft(): boolean {
    return this.#share > 0 && this.#saved >= 1;
  }

  /** @returns false when no hedge is left. */
  spend(): boolean {
    if (!this.hasLeft) return false;
    this.#saved -= 1;
    return true;
  }
}

/** Methods beyond this number share one window, since callers may invent names. */
const MOST_METHODS = 100;
/** The number of answers from which the usual time is known. */
const LEAST_ANSWERS = 20;

/** The times of each method on a network, over all upstreams: they show which calls are slow. */
export class MethodTimes {
  readonly #windowByMethod = new Map<string, SlidingWindow>();
  readonly #others: SlidingWindow;
  readonly #clock: Pick<Clock, "now">;

  constructor(parts: { clock: Pick<Clock, "now"> }) {
    this.#clock = parts.clock;
    this.#others = new SlidingWindow(parts);
  }

  answered(method: string, ms: number): void {
    this.#windowOf(method).answered(ms);
  }

  /** The 95th percentile of the method's times, in milliseconds; undefined while there are too few answers. */
  p95Ms(method: string): number | undefined {
    // A method that no upstream ever answered gets no window of its own.
    const { answers, p95Ms } = (this.#windowByMethod.get(method) ?? this.#others).summary();
    return answers >= LEAST_ANSWERS ? p95Ms : undefined;
  }

  #windowOf(method: string): SlidingWindow {
    const known = this.#windowByMethod.get(method);
    if (known) return known;
    if (this.#windowByMethod.size >= MOST_METHODS) return this.#others;
    const window = new SlidingWindow({ clock: this.#clock });
    this.#windowByMethod.set(method, window);
    return window;
  }
}
