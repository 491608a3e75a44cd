// The upstreams of one network, and the calls to them. A reload may replace upstreams while calls are in flight.

import { isDeepStrictEqual } from "node:util";
import { errors, isMethodMissing, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { UseCount } from "../lib/mutex.ts";
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
import { PENDING_AGAIN_AFTER_MS, PendingReads } from "./asking/pending-reads.ts";
import type { KnownReaches } from "./capabilities/capability-store.ts";
import type { DrainMark } from "./drains.ts";
import { HeadTimes } from "./health/head-times.ts";
import { headInReply } from "./reply.ts";
import { Upstream } from "./upstream.ts";
import type { UpstreamOptions, UpstreamParts } from "./upstream-options.ts";

type Shared = "network" | "family" | "chainId" | "responseBytes";

export type PoolOptions = NetworkCallsOptions &
  Pick<UpstreamOptions, Shared> & {
    /** The rules for methods on whose answers several vendors must agree, by method or pattern; the first that fits. */
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
  /** The times at which the network's head reached each number. */
  readonly #heads: HeadTimes;
  #upstreams: readonly Upstream[];
  /** The upstreams that an operator drained, by name: the pool asks them only while no other is usable. */
  #drained: ReadonlyMap<string, DrainMark> = new Map();
  #agreementOn: (method: string) => AgreementRule | undefined;
  /** The head in the last answer to a caller; a lower one is cross-checked before a caller gets it. */
  #lastHead = 0;
  readonly #network: NetworkCalls;
  readonly #pendingReads: PendingReads;
  readonly #driverParts: CallDriverParts;
  /** The calls in flight that began with the present upstreams. */
  #callers = new UseCount();
  /** Resolves when all upstreams that left the configuration are closed. */
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
    this.#pendingReads = new PendingReads(parts);
    this.#driverParts = { clock: parts.clock, network: this.#network };
    this.#upstreams = upstreams.map((upstream) => this.#make(optionsOf(upstream, options)));
    parts.metrics.watchUpstreams(network, () => this.snapshots());
  }

  /** The state of each upstream, in the order of the configuration. */
  snapshots(): readonly UpstreamSnapshot[] {
    return this.#upstreams.map((upstream) => ({
      ...snapshotOf(upstream, this.#heads),
      drained: this.#drained.get(upstream.name),
    }));
  }

  /**
   * Drains the upstreams of these names, and no others: the pool asks them only while no other is usable. Their running
   * calls go on. A reload keeps the drains.
   */
  drain(nodes: ReadonlyMap<string, DrainMark>): void {
    this.#drained = nodes;
    this.#onChange();
  }

  /** Resolves when the kept knowledge of the upstreams is read; their identity checks go on in the background. */
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
   * Starts the upstreams of new options; no call uses them before `commit`. An upstream with unchanged options stays.
   * The options must be for the same network, family and chain.
   */
  async prepare(options: PoolOptions): Promise<PoolChange> {
    const next = options.upstreams.map((each) => {
      const wanted = optionsOf(each, options);
      // An upstream that stays keeps all that is known of it.
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
    this.#callers = new UseCount();
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

  /** The rule for a method on whose answer several vendors must agree; undefined where one answer is enough. */
  agreementOn(method: string): AgreementRule | undefined {
    return this.#agreementOn(method);
  }

  /** Whether none of the usable upstreams has the method, as far as that is known. */
  isMissing(method: string): boolean {
    return this.usable().every((node) => node.isMissing(method));
  }

  /** The mean time between the newest heads of the nodes, in milliseconds; undefined while it is not known. */
  get blockMs(): number | undefined {
    return this.#heads.blockMs;
  }

  /** All upstreams, in the order of the configuration. */
  get nodes(): readonly Upstream[] {
    return this.#upstreams;
  }

  /** The upstreams that may be asked now, in the order of the configuration. */
  usable(): readonly Upstream[] {
    const all = this.#upstreams;
    const usable = all.every(isUsable) ? all : all.filter(isUsable);
    if (this.#drained.size === 0) return usable;
    const left = usable.filter(({ name }) => !this.#drained.has(name));
    return left.length > 0 ? left : usable;
  }

  /** As `usable`, best first for blocks. */
  bestForBlocks(): readonly Upstream[] {
    return this.#network.bestForBlocks();
  }

  /** Whether each upstream is known to be usable, to be of another chain, or to be silent for a while. */
  isSettled(): boolean {
    return this.#upstreams.every(({ isSettled }) => isSettled);
  }

  /** Calls `listener` whenever the usable upstreams may have changed. @returns A function that removes the listener. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Resolves to the bytes of `result` as a node sent them.
   *
   * @param paramsJson A JSON array.
   * @throws RpcError: the node's refusal; -32601 when no node has the method; 502 when all nodes failed or disagree;
   * 503 when none is usable, all are at a limit, or only drained ones have the method; 504 when all nodes or the signal
   * ran out of time.
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

  /** As `call`, with callbacks in place of a promise. */
  begin(
    method: string,
    paramsJson: string,
    signal: Signal,
    ends: CallEnds,
    options: CallOptions = {},
  ): void {
    if (options.isPending && this.#hasOthers())
      this.#beginPending({ method, paramsJson, options }, signal, ends);
    else this.#begin(method, paramsJson, signal, ends, options);
  }

  /** Begins a call about the pending block or state, which asks again rather than go back. */
  #beginPending(
    call: { readonly method: string; readonly paramsJson: string; readonly options: CallOptions },
    signal: Signal,
    ends: CallEnds,
    sinceMs = this.#parts.clock.now(),
  ): void {
    const { method, paramsJson, options } = call;
    const read = this.#pendingReads.begin(options);
    const again = (): void => {
      if (signal.aborted) ends.failed(errors.upstreamTimeout());
      else this.#beginPending(call, signal, ends, sinceMs);
    };
    const answered = (json: Buffer): void => {
      if (read.show(json, sinceMs)) ends.answered(json);
      else this.#parts.clock.after(PENDING_AGAIN_AFTER_MS, again);
    };
    const failed = (error: unknown): void => ends.failed(error);
    this.#begin(method, paramsJson, signal, { answered, failed }, read.options);
  }

  #begin(
    method: string,
    paramsJson: string,
    signal: Signal,
    ends: CallEnds,
    options: CallOptions,
  ): void {
    const { traits = this.#parts.traitsOf(method) } = options;
    const isUncertain = options.crossCheck?.isUncertain ?? this.#headCrossCheck(traits, paramsJson);
    const question = { method, paramsJson, traits, options, isUncertain };
    const callers = this.#callers;
    callers.enter();
    const call = new PoolCall({ question, ends, callers, pool: this });
    this.#driver(question).begin(signal, call);
  }

  /** To be called with the reply that settles a call. */
  noteSettled({ traits, paramsJson }: UpstreamQuestion, reply: FinalReply): void {
    this.#lastHead = headInReply(traits, paramsJson, reply) ?? this.#lastHead;
  }

  /** Replaces "method not found" where only drained upstreams have the method: the method exists, but not now. */
  noAnswerError(error: unknown, method: string): unknown {
    if (this.#drained.size === 0 || !(error instanceof RpcError) || !isMethodMissing(error))
      return error;
    const mayHaveIt = (node: Upstream): boolean =>
      isUsable(node) && this.#drained.has(node.name) && !node.isMissing(method);
    return this.#upstreams.some(mayHaveIt) ? errors.methodOnlyDrained(method, error) : error;
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
    // A call that goes to several upstreams at once has no variant and no block.
    const options = { arrivalOf, isFalse, onFalse, asker, ledger, onReply };
    return new CallDriver({ ...state, question: { ...question, options } }, this.#driverParts);
  }

  /** Cross-checks a head that is below the last one of a caller, or too far below the highest of the upstreams. */
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

type PoolCallParts = {
  readonly question: UpstreamQuestion;
  readonly ends: CallEnds;
  /** Counts the calls that began with the same upstreams of the pool. */
  readonly callers: Pick<UseCount, "leave">;
  readonly pool: Pick<Pool, "noteSettled" | "noAnswerError">;
};

/** A call until its end: one object without closures, since thousands wait at once. */
class PoolCall implements DriverEnds {
  readonly #parts: PoolCallParts;

  constructor(parts: PoolCallParts) {
    this.#parts = parts;
  }

  answered(reply: FinalReply): void {
    const { question, ends, callers, pool } = this.#parts;
    callers.leave();
    pool.noteSettled(question, reply);
    if (reply.kind === "result") ends.answered(reply.json);
    else ends.failed(errors.refusedByNode(reply.code, reply.message, reply.json));
  }

  failed(error: unknown): void {
    const { question, ends, callers, pool } = this.#parts;
    callers.leave();
    ends.failed(pool.noAnswerError(error, question.method));
  }
}

const optionsOf = (
  upstream: PoolOptions["upstreams"][number],
  { network, family, chainId, responseBytes }: PoolOptions,
): UpstreamOptions => ({ network, family, chainId, responseBytes, ...upstream });

const reachesOf = (reaches: KnownReaches): NonNullable<UpstreamSnapshot["reaches"]> => {
  const known = Object.entries(reaches).filter(([, reach]) => reach.kind !== "unknown");
  return Object.fromEntries(
    known.map(([name, reach]) => [name, reach.kind === "part" ? reach.newest : "all"]),
  );
};

/** The most names of lacked methods in a snapshot. */
const SHOWN_NAMES = 12;

const isUsable = ({ state }: Upstream): boolean => state === "usable";

/** The present state of an upstream, for metrics. */
const snapshotOf = (
  { name, health, turns, budget, capabilities, head, isOnOtherBranch }: Upstream,
  heads: Pick<HeadTimes, "highest" | "secondsBehind">,
): Omit<UpstreamSnapshot, "drained"> => ({
  upstream: name,
  head: head?.number,
  lagBlocks: head ? Math.max(0, heads.highest - head.number) : 0,
  lagSeconds: head ? heads.secondsBehind(head.number) : 0,
  isOnOtherBranch,
  inFlight: health.inFlight,
  waiting: turns.waiting,
  groups: health.workKinds.map((group) => ({ group, ...health.ofKind(group) })),
  budget: budget.state(),
  lackedMethods: capabilities.missing.count,
  lacked: capabilities.missing.names(SHOWN_NAMES),
  reaches: reachesOf(capabilities.history.known()),
});

/** @param rules By method or pattern. @returns A function that finds the first rule that fits a method. */
function rulesByMethod(
  rules: Readonly<Record<string, AgreementRule>>,
): (method: string) => AgreementRule | undefined {
  const known = Object.entries(rules).map(([pattern, rule]) => ({
    fits: matcherOf([pattern]),
    rule,
  }));
  return (method) => known.find(({ fits }) => fits(method))?.rule;
}

/** A prepared change to the upstreams of another configuration; it takes effect in one step. */
export type PoolChange = {
  /** @param withinMs The longest wait for calls in flight at upstreams that leave, in milliseconds. */
  commit(withinMs: number): void;
  /** Closes the new upstreams; the present ones stay. */
  cancel(): Promise<void>;
};

/** The longest wait for new upstreams, in milliseconds: while another one of the new options is usable, or none is. */
const TIMEOUT_MS = { besideOthers: 2_000, alone: 5_000 };
const LOOK_AGAIN_MS = 20;

/** Resolves when each new upstream is known to be usable or not, or after the timeout. */
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

/** Closes upstreams once no call may ask them any more, after `withinMs`, or when the signal aborts. */
async function letGo(
  nodes: readonly Upstream[],
  { withinMs, signal }: { readonly withinMs: number; readonly signal: Signal },
  { callers, clock }: { callers: UseCount; clock: Clock },
): Promise<void> {
  if (nodes.length === 0) return;
  const giveUpAt = clock.now() + withinMs;
  await within(withinMs, callers.empty(), { clock, signal });
  // Block fetches ask upstreams without the pool.
  const isBusy = (): boolean => nodes.some(({ health }) => health.inFlight > 0);
  while (isBusy() && clock.now() < giveUpAt && !signal.aborted) await clock.sleep(LOOK_AGAIN_MS);
  await Promise.all(nodes.map((node) => node.close()));
}
