// The nodes of one network. Others may take their places while calls are in flight.
import { Occupancy } from "../lib/mutex.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { UpstreamSnapshot } from "../observe/upstream-gauges.ts";
import type { AgreementRule } from "./asking/agreement.ts";
import type { CallOptions } from "./asking/call-options.ts";
import { Dispatcher, type DispatcherOptions } from "./asking/dispatcher.ts";
import { HeadTimes } from "./health/head-times.ts";
import { snapshotOf } from "./health/snapshot.ts";
import { letGo, type PoolChange, sameNode, untilReady } from "./pool-change.ts";
import { Upstream } from "./upstream.ts";
import type { UpstreamOptions, UpstreamParts } from "./upstream-options.ts";

type Shared = "network" | "family" | "chainId" | "responseBytes";

export type PoolOptions = DispatcherOptions &
  Pick<UpstreamOptions, Shared> & {
    readonly upstreams: readonly Omit<UpstreamOptions, Shared>[];
  };

export type PoolParts = Omit<UpstreamParts, "heads" | "hasOthers"> & {
  readonly metrics: Pick<
    Metrics,
    "upstreamAskedAgain" | "upstreamDissented" | "callBounded" | "upstreamGone" | "watchUpstreams"
  >;
};

export class Pool {
  /** When the network's head reached which number. */
  readonly #heads: HeadTimes;
  #upstreams: readonly Upstream[];
  readonly #dispatcher: Dispatcher;
  /** The calls that were begun with the nodes of now. */
  #callers = new Occupancy();
  /** Nodes that are gone from the configuration and have calls in flight. */
  #leaving: Promise<unknown> = Promise.resolve();
  readonly #closing = new AbortController();
  readonly #listeners = new Set<() => void>();
  readonly #hasOthers = (): boolean => this.#upstreams.length > 1;
  readonly #parts: PoolParts;

  constructor(options: PoolOptions, parts: PoolParts) {
    const { network, upstreams } = options;
    this.#parts = parts;
    this.#heads = new HeadTimes(parts);
    const usable = (): readonly Upstream[] => this.usable();
    const nodes = (): readonly Upstream[] => this.#upstreams;
    this.#dispatcher = new Dispatcher(options, { ...parts, usable, nodes });
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
    this.#dispatcher.resume();
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
    this.#upstreams = next;
    this.#dispatcher.reconfigure(options);
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
    const parts = { ...this.#parts, heads: this.#heads, hasOthers: this.#hasOthers };
    return new Upstream(options, parts, () => this.#onChange());
  }

  /** How many must say the same to a method; undefined where one node's word counts. */
  agreementOn(method: string): AgreementRule | undefined {
    return this.#dispatcher.agreementOn(method);
  }

  /** Whether none of the nodes that may be asked has the method, as far as that is known. */
  isMissing(method: string): boolean {
    return this.usable().every((node) => node.isMissing(method));
  }

  /** The mean time between the newest blocks, as nodes told of them, in milliseconds. */
  get blockMs(): number | undefined {
    return this.#heads.blockMs;
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
    return this.#dispatcher.bestForBlocks();
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
    const callers = this.#callers;
    callers.enter();
    try {
      return await this.#dispatcher.call(method, paramsJson, { signal, options });
    } finally {
      callers.leave();
    }
  }

  #onChange(): void {
    for (const listener of [...this.#listeners]) listener();
    if (this.#upstreams.some(isUsable)) this.#dispatcher.resume();
  }
}

const optionsOf = (
  upstream: PoolOptions["upstreams"][number],
  { network, family, chainId, responseBytes }: PoolOptions,
): UpstreamOptions => ({ network, family, chainId, responseBytes, ...upstream });

const isUsable = ({ state }: Upstream): boolean => state === "usable";
