// What the calls of one network share: its upstreams, the budget of hedges, how long methods usually take, and how many
// calls wait.

import type { Logger } from "pino";
import type { NetworkSettings } from "../../config/schema.ts";
import type { Clock } from "../../lib/clock.ts";
import type { MethodTraits } from "../../namespaces/known-method.ts";
import type { Metrics } from "../../observe/metrics.ts";
import { SlidingWindow } from "../health/health.ts";
import type { Upstream } from "../upstream.ts";
import type { CallOptions } from "./call-options.ts";
import { headOf, isBehind, NodeOrder, takersOf } from "./node-order.ts";

export type NetworkCallsOptions = { readonly network: string } & Pick<
  NetworkSettings,
  "hedging" | "toleratedLag" | "broadcast"
>;

export type NetworkCallsParts = {
  readonly pool: {
    /** The upstreams that may be asked now, in the order of the configuration. */
    usable(): readonly Upstream[];
    /** Of each upstream it is known whether it can be asked. */
    isSettled(): boolean;
    /** All upstreams of the network. */
    readonly nodes: readonly Upstream[];
  };
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, "upstreamAskedAgain" | "upstreamDissented" | "callBounded">;
  readonly log: Pick<Logger, "warn">;
};

/** What a call waits for; the number of such calls is bounded. */
export type Shortage = "budget" | "upstreams";

export type Waiting = { resume(): void };

/** How many calls may wait for budget, and how many for an upstream that can be asked. */
const MOST_WAITING = 2_000;
const LOG_AGAIN_AFTER_MS = 60_000;
/** Stands for all upstreams: no upstream has an empty name. */
const ALL = "";

export class NetworkCalls {
  readonly times: MethodTimes;
  #hedges: HedgeBudget;
  #order: NodeOrder;
  readonly #waiting = { budget: new Set<Waiting>(), upstreams: new Set<Waiting>() };
  /** When a call found that no upstream can be asked; undefined while one can. */
  #outSinceMs: number | undefined;
  /** When the log last had a line about a dissenting upstream, or about all. */
  readonly #loggedAtMs = new Map<string, number>();
  #options: NetworkCallsOptions;
  readonly #parts: NetworkCallsParts;

  constructor(options: NetworkCallsOptions, parts: NetworkCallsParts) {
    this.#options = options;
    this.#parts = parts;
    this.times = new MethodTimes(parts);
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

  /** As `bestForBlocks` for a call, which is counted: now and then a new upstream comes first. */
  takeOrder(call: {
    readonly method: string;
    readonly traits: MethodTraits;
    readonly options: CallOptions;
  }): readonly Upstream[] {
    return this.#order.forCall(this.usableFor(call.traits), call, call.options);
  }

  /** The upstreams that may be asked for such work now, in the order of the configuration. */
  usableFor({ workKind }: Pick<MethodTraits, "workKind">): readonly Upstream[] {
    const { pool } = this.#parts;
    if (workKind !== "submission") return pool.usable();
    const { broadcast } = this.#options;
    const takers = takersOf(pool.usable(), pool.nodes, broadcast);
    if (takers.length > 0) return takers;
    // A drained upstream is asked where only drained ones may take the transaction.
    return takersOf(
      pool.nodes.filter(({ state }) => state === "usable"),
      pool.nodes,
      broadcast,
    );
  }

  /** Whether the network has more than one upstream, usable or not. */
  hasOthers(): boolean {
    return this.#parts.pool.nodes.length > 1;
  }

  /** Of each upstream it is known whether it can be asked. */
  isSettled(): boolean {
    return this.#parts.pool.isSettled();
  }

  /** Since when no upstream can be asked, by the clock's `now`; undefined while one can. */
  outSinceMs(now: number): number | undefined {
    return this.#parts.pool.usable().length > 0 ? undefined : (this.#outSinceMs ?? now);
  }

  /** Whether it is further behind the best upstream than is tolerated. */
  isBehind(upstream: Pick<Upstream, "head" | "isElsewhere">): boolean {
    const { toleratedLag } = this.#options;
    return isBehind(upstream, { head: this.headNumber(), toleratedLag });
  }

  /** undefined while no head is known. */
  headNumber(): number | undefined {
    return headOf(this.#parts.pool.usable());
  }

  /** How long such calls usually take at most, in milliseconds. */
  usualMs(method: string): number {
    return hedgeDelayMs(this.times.p95Ms(method), this.#options.hedging);
  }

  mayHedge(): boolean {
    return this.#hedges.hasLeft;
  }

  /** Whether one more call may wait for this. */
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

  /** To be called when an upstream can be asked again, or never will be: all calls that wait for one look again. */
  resume(): void {
    this.#outSinceMs = undefined;
    for (const call of [...this.#waiting.upstreams]) call.resume();
  }

  askedAgain(why: "failed" | "cross-check" | "slow"): void {
    this.#parts.metrics.upstreamAskedAgain(this.#options.network, why);
  }

  /** @param sayings The beginning of what it said, and of what the others said. */
  dissented(
    upstream: string,
    method: string,
    sayings: { readonly said: string; readonly found: string },
  ): void {
    const { metrics, log } = this.#parts;
    metrics.upstreamDissented(this.#options.network, upstream, { about: method, ...sayings });
    this.#logSeldom(upstream, () =>
      log.warn({ upstream, method }, "an upstream answered otherwise than the others"),
    );
  }

  occupied(): void {
    const { metrics, log } = this.#parts;
    metrics.callBounded(this.#options.network, "waiting");
    this.#logSeldom(ALL, () =>
      log.warn("calls are refused: too many wait for the upstreams, see headgate_upstream_waiting"),
    );
  }

  /** Writes one line a minute for each upstream, not one each time. */
  #logSeldom(upstream: string, log: () => void): void {
    const now = this.#parts.clock.now();
    if (now - (this.#loggedAtMs.get(upstream) ?? Number.NEGATIVE_INFINITY) < LOG_AGAIN_AFTER_MS)
      return;
    this.#loggedAtMs.set(upstream, now);
    log();
  }
}

type HedgingOptions = NetworkSettings["hedging"];

/** The time before a hedge while a method's times are not known. */
const UNKNOWN_MS = 500;

/** @param p95Ms The 95th percentile of this method's times; undefined when there are too few. */
export const hedgeDelayMs = (p95Ms: number | undefined, options: HedgingOptions): number =>
  Math.min(options.mostMs, Math.max(options.leastMs, p95Ms ?? UNKNOWN_MS));

/** How many hedges may be saved, for the moment in which a node becomes slow with many calls in flight. */
const MOST_SAVED = 50;

/** Allows a number of hedges for a number of calls. */
export class HedgeBudget {
  /** From 0 to `MOST_SAVED` hedges. */
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

/** Further names share one measure, since callers may invent names. */
const MOST_METHODS = 100;
/** How many answers are needed to tell what is usual. */
const LEAST_ANSWERS = 20;

/** How long each method takes on a network, whichever upstream answers: this shows which calls are slow. */
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

  /** undefined while there are too few answers. */
  p95Ms(method: string): number | undefined {
    // A name that nobody ever answered gets no window of its own.
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
