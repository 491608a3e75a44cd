// The upstreams of one network, and the calls to them. Other upstreams may take their places while calls are in
// flight.

import { isDeepStrictEqual } from "node:util";
import { errors, isMethodMissing, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { Occupancy } from "../lib/mutex.ts";
import { matcherOf } from "../lib/pattern.ts";
import { within } from "../lib/waiting.ts";
import type { MethodTraits } from "../namespaces/known-method.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { UpstreamSnapshot } from "../observe/upstream-gauges.ts";
import type { AgreementRule } from "./asking/at-once.ts";
import { CallDriver, type CallDriverParts, type DriverEnds } from "./asking/call-driver.ts";
import type { CallEnds, CallOptions, FinalReply } from "./asking/call-options.ts";
import type { UpstreamQuestion } from "./asking/decision.ts";
import { NetworkCalls, type NetworkCallsOptions } from "./asking/network-calls.ts";
import type { KnownReaches } from "./capabilities/kept-capabilities.ts";
import type { DrainMark } from "./drains.ts";
import { HeadTimes } from "./health/head-times.ts";
import { headInReply } from "./reply.ts";
import { Upstream } from "./upstream.ts";
import type { UpstreamOptions, UpstreamParts } from "./upstream-options.ts";

type Shared = "network" | "family" | "chainId" | "responseBytes";

export type PoolOptions = NetworkCallsOptions &
  Pick<UpstreamOptions, Shared> & {
    /** What several vendors must agree on, by method or pattern; the first that fits. */
    readonly agreement: Readonly<Record<string, AgreementRule>>;
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
  /** By their names: an operator spares them. They are asked only while no other can be. */
  #drained: ReadonlyMap<string, DrainMark> = new Map();
  #agreementOn: (method: string) => AgreementRule | undefined;
  /** The head that a caller was told last: it falls only when no upstream knows better. */
  #lastHead = 0;
  readonly #network: NetworkCalls;
  readonly #driverParts: CallDriverParts;
  /** The calls that were begun with the nodes of now. */
  #callers = new Occupancy();
  /** Nodes that are gone from the configuration and have calls in flight. */
  #leaving: Promise<unknown> = Promise.resolve();
  readonly #closing = new AbortController();
  readonly #listeners = new Set<() => void>();
  readonly #hasOthers = (): boolean => this.#upstreams.length > 1;
  #options: PoolOptions;
  readonly #parts: PoolParts;

  constructor(options: PoolOptions, parts: PoolParts) {
    const { network, upstreams, agreement } = options;
    this.#options = options;
    this.#parts = parts;
    this.#agreementOn = rulesByMethod(agreement);
    this.#heads = new HeadTimes(parts);
    this.#network = new NetworkCalls(options, { ...parts, pool: this });
    this.#driverParts = { clock: parts.clock, network: this.#network };
    this.#upstreams = upstreams.map((upstream) => this.#make(optionsOf(upstream, options)));
    parts.metrics.watchUpstreams(network, () => this.snapshots());
  }

  /** How each node does, in the order of the configuration. */
  snapshots(): readonly UpstreamSnapshot[] {
    return this.#upstreams.map((upstream) => ({
      ...snapshotOf(upstream, this.#heads),
      drained: this.#drained.get(upstream.name),
    }));
  }

  /**
   * From now on the nodes of these names are asked only while no other can be; their running calls end. A reload changes
   * nothing of it.
   */
  drain(nodes: ReadonlyMap<string, DrainMark>): void {
    this.#drained = nodes;
    this.#onChange();
  }

  /** Resolves when what was known of the nodes is read; they are checked in the background. */
  async start(): Promise<void> {
    await Promise.all(this.#upstreams.map((upstream) => upstream.start()));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#upstreams.map((upstream) => upstream.close()));
    await this.#leaving;
    this.#network.resume();
  }

  /**
   * Makes the nodes ready that other options name; nobody notices before the change is committed. A
   * node that stays as it is configured stays as it is. Not for another network, family or chain.
   */
  async prepare(options: PoolOptions): Promise<PoolChange> {
    const next = options.upstreams.map((each) => {
      const wanted = optionsOf(each, options);
      // It stays with all that is known of it.
      const same = this.#upstreams.find((node) => isDeepStrictEqual(node.options, wanted));
      return same ?? this.#make(wanted);
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
    this.#options = options;
    this.#agreementOn = rulesByMethod(options.agreement);
    this.#network.reconfigure(options);
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
    return this.#agreementOn(method);
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
    const usable = all.every(isUsable) ? all : all.filter(isUsable);
    if (this.#drained.size === 0) return usable;
    const left = usable.filter(({ name }) => !this.#drained.has(name));
    return left.length > 0 ? left : usable;
  }

  /** The same, best first for blocks. */
  bestForBlocks(): readonly Upstream[] {
    return this.#network.bestForBlocks();
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
   * failed or they disagree, 503 when none is usable, all are at their limit, or only drained ones have the method, 504 when they or the
   * signal ran out of time.
   */
  call(
    method: string,
    paramsJson: string,
    signal: Signal,
    options: CallOptions = {},
  ): Promise<Buffer> {
    return new Promise((answered, failed) =>
      this.begin(method, paramsJson, signal, { answered, failed }, options),
    );
  }

  /** As `call`, without a promise. */
  begin(
    method: string,
    paramsJson: string,
    signal: Signal,
    ends: CallEnds,
    options: CallOptions = {},
  ): void {
    const { traits = this.#parts.traitsOf(method) } = options;
    const isUncertain = options.crossCheck?.isUncertain ?? this.#headCrossCheck(traits, paramsJson);
    const question = { method, paramsJson, traits, options, isUncertain };
    const callers = this.#callers;
    callers.enter();
    const call = new PoolCall({ question, ends, callers, pool: this.#ofCalls });
    this.#driver(question).begin(signal, call);
  }

  readonly #ofCalls: PoolOfCall = {
    noteHead: ({ traits, paramsJson }, reply) => {
      this.#lastHead = headInReply(traits, paramsJson, reply) ?? this.#lastHead;
    },
    whyNobody: (error, method) => this.#whyNobody(error, method),
  };

  /** A method that only drained nodes have is away, and does exist. */
  #whyNobody(error: unknown, method: string): unknown {
    if (this.#drained.size === 0 || !(error instanceof RpcError) || !isMethodMissing(error))
      return error;
    const mayHaveIt = (node: Upstream): boolean =>
      isUsable(node) && this.#drained.has(node.name) && !node.isMissing(method);
    return this.#upstreams.some(mayHaveIt) ? errors.methodSpared(method, error) : error;
  }

  #driver(question: UpstreamQuestion): CallDriver {
    const view = this.#network;
    const { reader, arrivalOf, isFalse, onFalse, asker, ledger, onReply } = question.options;
    const rule = reader ? undefined : this.#agreementOn(question.method);
    const copies = arrivalOf ? (this.#options.broadcast ?? 1) : 1;
    const state = { question, view, rule, copies, plan: undefined, hasWaited: false };
    if (rule === undefined && copies === 1) {
      view.hedges.earn();
      return new CallDriver(state, this.#driverParts);
    }
    // Several are asked at once, all in one way, and of the call's block nothing is learned.
    const options = { arrivalOf, isFalse, onFalse, asker, ledger, onReply };
    return new CallDriver({ ...state, question: { ...question, options } }, this.#driverParts);
  }

  /** A head that is behind what callers were told, or what upstreams tell, is one upstream's alone. */
  #headCrossCheck(traits: MethodTraits, paramsJson: string): UpstreamQuestion["isUncertain"] {
    if (!traits.tellsHead?.(paramsJson)) return undefined;
    return (reply) => {
      const head = headInReply(traits, paramsJson, reply);
      const tolerated = (this.#network.headNumber() ?? 0) - this.#options.toleratedLag;
      return head !== undefined && head < Math.max(this.#lastHead, tolerated);
    };
  }

  #onChange(): void {
    for (const listener of [...this.#listeners]) listener();
    if (this.#upstreams.some(isUsable)) this.#network.resume();
  }
}

/** The pool, as the end of a call needs it. */
type PoolOfCall = {
  readonly noteHead: (question: UpstreamQuestion, reply: FinalReply) => void;
  /** @returns What the caller is told. */
  readonly whyNobody: (error: unknown, method: string) => unknown;
};

type PoolCallParts = {
  readonly question: UpstreamQuestion;
  readonly ends: CallEnds;
  /** The callers of the nodes that the pool had when the call began. */
  readonly callers: Pick<Occupancy, "leave">;
  readonly pool: PoolOfCall;
};

/** A call until its end: one object for each, and no closures, since thousands wait at once. */
class PoolCall implements DriverEnds {
  readonly #parts: PoolCallParts;

  constructor(parts: PoolCallParts) {
    this.#parts = parts;
  }

  answered(reply: FinalReply): void {
    const { question, ends, callers, pool } = this.#parts;
    callers.leave();
    pool.noteHead(question, reply);
    if (reply.kind === "result") ends.answered(reply.json);
    else ends.failed(errors.refusedByNode(reply.code, reply.message, reply.json));
  }

  failed(error: unknown): void {
    const { question, ends, callers, pool } = this.#parts;
    callers.leave();
    ends.failed(pool.whyNobody(error, question.method));
  }
}

const optionsOf = (
  upstream: PoolOptions["upstreams"][number],
  { network, family, chainId, responseBytes }: PoolOptions,
): UpstreamOptions => ({ network, family, chainId, responseBytes, ...upstream });

const reachesOf = ({
  state,
  history,
  traces,
}: KnownReaches): NonNullable<UpstreamSnapshot["reaches"]> => {
  const known = Object.entries({ state, history, traces }).filter(
    ([, reach]) => reach.kind !== "unknown",
  );
  return Object.fromEntries(
    known.map(([name, reach]) => [name, reach.kind === "part" ? reach.newest : "all"]),
  );
};

/** Of the methods that a node lacks. */
const SHOWN_NAMES = 12;

const isUsable = ({ state }: Upstream): boolean => state === "usable";

/** What is known of an upstream at this moment, for metrics. */
const snapshotOf = (
  { name, health, turns, budget, capabilities, head, isElsewhere }: Upstream,
  heads: Pick<HeadTimes, "highest" | "secondsBehind">,
): Omit<UpstreamSnapshot, "drained"> => ({
  upstream: name,
  head: head?.number,
  lagBlocks: head ? Math.max(0, heads.highest - head.number) : 0,
  lagSeconds: head ? heads.secondsBehind(head.number) : 0,
  isElsewhere,
  inFlight: health.inFlight,
  waiting: turns.waiting,
  groups: health.workKinds.map((group) => ({ group, ...health.ofKind(group) })),
  budget: budget.state(),
  lackedMethods: capabilities.missing.count,
  lacked: capabilities.missing.names(SHOWN_NAMES),
  reaches: reachesOf(capabilities.history.known()),
});

/** @param rules By method or pattern. @returns The first that fits a method. */
function rulesByMethod(
  rules: Readonly<Record<string, AgreementRule>>,
): (method: string) => AgreementRule | undefined {
  const known = Object.entries(rules).map(([pattern, rule]) => ({
    fits: matcherOf([pattern]),
    rule,
  }));
  return (method) => known.find(({ fits }) => fits(method))?.rule;
}

/** Another configuration: its nodes are made ready beside those that are asked, and take their places in one step. */
export type PoolChange = {
  /** @param withinMs How long the calls in flight at nodes that leave are waited for. */
  commit(withinMs: number): void;
  /** Everything stays as it was. */
  cancel(): Promise<void>;
};

/** How long new nodes are waited for, in milliseconds: while others can be asked, and while none can. */
const TIMEOUT_MS = { besideOthers: 2_000, alone: 5_000 };
const LOOK_AGAIN_MS = 20;

/** Resolves when it is known of each new node whether it can be used, or the timeout ends. */
async function untilReady(
  { next, added }: { next: readonly Upstream[]; added: readonly Upstream[] },
  { clock }: { clock: Clock },
): Promise<void> {
  const startedAt = clock.now();
  while (added.some(({ isSettled }) => !isSettled)) {
    const isAlone = next.every(({ state }) => state !== "usable");
    const timeoutMs = isAlone ? TIMEOUT_MS.alone : TIMEOUT_MS.besideOthers;
    if (clock.now() - startedAt >= timeoutMs) return;
    await clock.sleep(LOOK_AGAIN_MS);
  }
}

/** Closes nodes when the calls are over that may still ask them, when the time is, or with the signal. */
async function letGo(
  nodes: readonly Upstream[],
  { withinMs, signal }: { readonly withinMs: number; readonly signal: Signal },
  { callers, clock }: { callers: Occupancy; clock: Clock },
): Promise<void> {
  if (nodes.length === 0) return;
  const giveUpAt = clock.now() + withinMs;
  await within(withinMs, callers.empty(), { clock, signal });
  // Blocks are fetched of nodes without the pool.
  const isBusy = (): boolean => nodes.some(({ health }) => health.inFlight > 0);
  while (isBusy() && clock.now() < giveUpAt && !signal.aborted) await clock.sleep(LOOK_AGAIN_MS);
  await Promise.all(nodes.map((node) => node.close()));
}
