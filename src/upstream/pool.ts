// The nodes of one network: who is asked what, and in which order.
import { errors } from "../jsonrpc/rpc-error.ts";
import { Occupancy } from "../lib/occupancy.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { UpstreamSnapshot } from "../observe/upstream-gauges.ts";
import { headTold, tellsHead } from "./announcements.ts";
import { type AgreementRule, rulesByMethod } from "./asking/agreement.ts";
import { Asking } from "./asking/asking.ts";
import type { CallOptions } from "./asking/call-options.ts";
import { headOf } from "./asking/candidates.ts";
import { HedgeBudget, type HedgingOptions, hedgeDelayMs } from "./asking/hedging.ts";
import { NodeOrder } from "./asking/node-order.ts";
import { Patience } from "./asking/patience.ts";
import { Voting } from "./asking/voting.ts";
import { HeadTimes } from "./health/head-times.ts";
import { MethodTimes } from "./health/method-times.ts";
import { snapshotOf } from "./health/snapshot.ts";
import { traitsOf } from "./method-traits.ts";
import { letGo, type PoolChange, sameNode, untilReady } from "./pool-change.ts";
import { Upstream } from "./upstream.ts";
import type { UpstreamOptions, UpstreamParts } from "./upstream-options.ts";

type Shared = "network" | "family" | "chainId" | "responseBytes";

export type PoolOptions = Pick<UpstreamOptions, Shared> & {
  readonly upstreams: readonly Omit<UpstreamOptions, Shared>[];
  readonly hedging: HedgingOptions;
  /** A node so many blocks behind the best one is not taken to lag. */
  readonly toleratedLag: number;
  /** What several vendors must agree on, by method or pattern; the first that fits. */
  readonly agreement: Readonly<Record<string, AgreementRule>>;
};

export type PoolParts = Omit<UpstreamParts, "heads" | "hasOthers"> & {
  readonly metrics: Pick<
    Metrics,
    "upstreamAskedAgain" | "upstreamDissented" | "upstreamGone" | "watchUpstreams"
  >;
};

const TELL_AGAIN_AFTER_MS = 60_000;
/** Calls that wait for a node, or for its budget. */
const MOST_WAITING = 2_000;
const PATIENCE = { ms: 3_000, leastMs: 600, mostWaiting: MOST_WAITING };

export class Pool {
  /** When the network's head reached which number. */
  readonly #heads: HeadTimes;
  #upstreams: readonly Upstream[];
  readonly #patience: Patience;
  readonly #times: MethodTimes;
  #rules: (method: string) => AgreementRule | undefined;
  #hedges: HedgeBudget;
  #order: NodeOrder;
  /** The calls that were begun with the nodes of now. */
  #callers = new Occupancy();
  /** Nodes that are gone from the configuration and have calls in flight. */
  #leaving: Promise<unknown> = Promise.resolve();
  readonly #closing = new AbortController();
  /** The head that a caller was told last: it falls only when no node knows better. */
  #toldHead = 0;
  /** Calls that wait for some node's budget. */
  #waiting = 0;
  /** When the log told of a node that dissents. */
  readonly #toldAt = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  #options: PoolOptions;
  readonly #parts: PoolParts;

  constructor(options: PoolOptions, parts: PoolParts) {
    const { network, upstreams, hedging, agreement } = options;
    this.#options = options;
    this.#parts = parts;
    this.#heads = new HeadTimes(parts);
    this.#patience = new Patience(PATIENCE, parts);
    this.#times = new MethodTimes(parts);
    this.#hedges = new HedgeBudget(hedging);
    this.#rules = rulesByMethod(agreement);
    this.#order = new NodeOrder(options);
    this.#upstreams = upstreams.map((upstream) => this.#make(optionsOf(upstream, options)));
    parts.metrics.watchUpstreams(network, () => this.snapshots());
  }

  /** How each node does, in the order of the configuration. */
  snapshots(): readonly UpstreamSnapshot[] {
    return this.#upstreams.map((upstream) => snapshotOf(upstream, this.#heads));
  }

  /** Resolves when what was known of the nodes is read; they are checked in the background. */
  async start(): Promise<void> {
    await Promise.all(this.#upstreams.map((upstream) => upstream.start()));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#upstreams.map((upstream) => upstream.close()));
    await this.#leaving;
    this.#patience.end();
  }

  /**
   * Makes the nodes ready that other options name; nobody notices before the change is committed. A
   * node that stays as it is configured stays as it is. Not for another network, family or chain.
   */
  async prepare(options: PoolOptions): Promise<PoolChange> {
    const next = options.upstreams.map((each) => {
      const wanted = optionsOf(each, options);
      return sameNode(this.#upstreams, wanted) ?? this.#make(wanted);
    });
    const added = next.filter((node) => !this.#upstreams.includes(node));
    const cancel = async (): Promise<void> => {
      await Promise.all(added.map((node) => node.close()));
    };
    try {
      await Promise.all(added.map((node) => node.start()));
    } catch (error) {
      await cancel();
      throw error;
    }
    await untilReady({ next, added }, this.#parts);
    return { commit: (withinMs) => this.#take(options, next, withinMs), cancel };
  }

  #take(options: PoolOptions, next: readonly Upstream[], withinMs: number): void {
    const { clock, metrics } = this.#parts;
    const gone = this.#upstreams.filter((node) => !next.includes(node));
    const callers = this.#callers;
    this.#options = options;
    this.#upstreams = next;
    this.#rules = rulesByMethod(options.agreement);
    this.#hedges = new HedgeBudget(options.hedging);
    this.#order = new NodeOrder(options);
    this.#callers = new Occupancy();
    const left = letGo(gone, { withinMs, signal: this.#closing.signal }, { callers, clock }).then(
      () => {
        for (const { name } of gone)
          if (this.#upstreams.every((node) => node.name !== name))
            metrics.upstreamGone(options.network, name);
      },
    );
    this.#leaving = Promise.all([this.#leaving, left]);
    this.#onChange();
  }

  #make(options: UpstreamOptions): Upstream {
    const hasOthers = (): boolean => this.#upstreams.length > 1;
    const parts = { ...this.#parts, heads: this.#heads, hasOthers };
    return new Upstream(options, parts, () => this.#onChange());
  }

  /** How many must say the same to a method; undefined where one node's word counts. */
  agreementOn(method: string): AgreementRule | undefined {
    return this.#rules(method);
  }

  /** All nodes, in the order of the configuration. */
  get nodes(): readonly Upstream[] {
    return this.#upstreams;
  }

  /** The nodes that may be asked now, in the order of the configuration. */
  usable(): readonly Upstream[] {
    const all = this.#upstreams;
    return all.every(isUsable) ? all : all.filter(isUsable);
  }

  /** The same, best first for blocks. */
  bestForBlocks(): readonly Upstream[] {
    return this.#order.forBlocks(this.usable());
  }

  /** Each node was found usable, or of another chain, or did not answer since a while. */
  isSettled(): boolean {
    return this.#upstreams.every(({ isSettled }) => isSettled);
  }

  /** Calls `listener` whenever a node becomes usable or is no longer; returns how to stop. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * The bytes of `result` as a node sent them.
   *
   * @param paramsJson A JSON array.
   * @throws RpcError: the node's own refusal; -32601 when no node has the method; 502 when all
   * failed or they disagree, 503 when none is usable or all are at their limit, 504 when they or the
   * signal ran out of time.
   */
  async call(
    method: string,
    paramsJson: string,
    signal: AbortSignal,
    options: CallOptions = {},
  ): Promise<Buffer> {
    if (!this.#upstreams.some(isUsable) && !signal.aborted) await this.#patience.wait(signal);
    const callers = this.#callers;
    callers.enter();
    try {
      return await this.#call(method, paramsJson, { signal, options });
    } finally {
      callers.leave();
    }
  }

  async #call(
    method: string,
    paramsJson: string,
    { signal, options }: { signal: AbortSignal; options: CallOptions },
  ): Promise<Buffer> {
    const nodes = this.#order.forCall(this.usable(), method, options);
    if (nodes.length === 0) throw errors.noUpstream();
    if (signal.aborted) throw errors.upstreamTimeout();
    const rule = options.reader ? undefined : this.agreementOn(method);
    const isDoubtful = options.isDoubtful ?? this.#headDoubt(method, paramsJson);
    const question = {
      ...{ method, paramsJson, traits: traitsOf(method) },
      options: { ...options, isDoubtful },
    };
    const said = rule
      ? await this.#voting(nodes, { ...question, rule }).outcome(signal)
      : await this.#asking(nodes, question).outcome(signal);
    if (said.kind === "result") {
      this.#toldHead = headTold(method, paramsJson, said.json) ?? this.#toldHead;
      return said.json;
    }
    throw errors.refusedByNode(said.code, said.message, said.json);
  }

  /** A head that is behind what callers were told, or what nodes tell, is one node's alone. */
  #headDoubt(method: string, paramsJson: string): CallOptions["isDoubtful"] {
    if (!tellsHead(method, paramsJson)) return undefined;
    return (reply) => {
      const told = reply.kind === "result" ? headTold(method, paramsJson, reply.json) : undefined;
      const tolerated = (headOf(this.usable()) ?? 0) - this.#options.toleratedLag;
      return told !== undefined && told < Math.max(this.#toldHead, tolerated);
    };
  }

  #asking(nodes: readonly Upstream[], question: ConstructorParameters<typeof Asking>[0]): Asking {
    const { clock, metrics } = this.#parts;
    const { network, hedging } = this.#options;
    const { method } = question;
    this.#hedges.earn();
    return new Asking(question, {
      clock,
      nodes,
      newcomers: this.#upstreams.length > 1 ? () => this.usable() : undefined,
      headNumber: headOf(nodes),
      hedgeDelayMs: hedgeDelayMs(this.#times.p95Ms(method), hedging),
      mayHedge: () => this.#hedges.spend(),
      onAnswered: (ms) => this.#times.answered(method, ms),
      onAskedAgain: (why) => metrics.upstreamAskedAgain(network, why),
      onWaiting: (count) => this.#waits(count),
    });
  }

  #voting(nodes: readonly Upstream[], ballot: ConstructorParameters<typeof Voting>[0]): Voting {
    const { clock, metrics, log } = this.#parts;
    const { network } = this.#options;
    const onDissent = (upstream: string): void => {
      const { method } = ballot;
      metrics.upstreamDissented(network, upstream);
      if (this.#isToldAnew(upstream, clock.now()))
        log.warn({ upstream, method }, "an upstream answered otherwise than the others");
    };
    return new Voting(ballot, { clock, nodes, onDissent });
  }

  /** One line in the log for each node that dissents, not one for each time it does. */
  #isToldAnew(upstream: string, now: number): boolean {
    const toldAt = this.#toldAt.get(upstream) ?? Number.NEGATIVE_INFINITY;
    if (now - toldAt < TELL_AGAIN_AFTER_MS) return false;
    this.#toldAt.set(upstream, now);
    return true;
  }

  /** @returns false when too many wait already. */
  #waits(count: 1 | -1): boolean {
    if (count > 0 && this.#waiting >= MOST_WAITING) return false;
    this.#waiting += count;
    return true;
  }

  #onChange(): void {
    for (const listener of [...this.#listeners]) listener();
    if (this.#upstreams.some(isUsable)) this.#patience.end();
  }
}

const optionsOf = (
  upstream: PoolOptions["upstreams"][number],
  { network, family, chainId, responseBytes }: PoolOptions,
): UpstreamOptions => ({ network, family, chainId, responseBytes, ...upstream });

const isUsable = ({ state }: Upstream): boolean => state === "usable";
