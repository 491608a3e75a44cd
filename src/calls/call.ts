// One call, its view of the chain, and the bounded and paid work that it makes nodes do.

import type { Costs, Meter } from "../access/limits/meter.ts";
import type { CallRule, GuardedMethod } from "../access/scope/scope.ts";
import type { Saving } from "../access/usage/key-usage.ts";
import type { ChainView } from "../chain/chain-view.ts";
import type { CallMessage } from "../jsonrpc/plain-call.ts";
import { paramsJsonOf } from "../jsonrpc/request.ts";
import { errors, type RateLimit, type RpcError } from "../jsonrpc/rpc-error.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryHolder } from "../lib/memory-budget.ts";
import {
  type CallContext,
  FROM_NODES,
  type HeadView,
  type Method,
  type NetworkFacts,
  type Provenance,
} from "../methods/method.ts";
import type { AttemptStory, BegunAttempt, Story } from "../observe/story.ts";
import type { AttemptLedger, CallOptions } from "../upstream/asking/call-options.ts";
import type { AskerWithDeadline } from "../upstream/node-turns.ts";
import {
  type Caller,
  factsFor,
  headOf,
  namesStoredBlock,
  type RequestScope,
  type SharedView,
  viewOf,
} from "./caller.ts";
import { WaitForChain } from "./chain-wait.ts";

export type CallParts = {
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly costs: Pick<Costs, "of">;
  /** The view and the work that the members of a batch share; left out for a lone call. */
  readonly batch?: { readonly view: () => SharedView; readonly work: BatchWork } | undefined;
};

export class Call implements CallContext, AskerWithDeadline {
  readonly message: CallMessage;
  readonly caller: Caller;
  /** undefined when the network has no such method. */
  readonly method: Method | undefined;
  readonly network: NetworkFacts;
  #provenance: Provenance | undefined;
  /** The record of this call's life; undefined where no record is kept. */
  story: Story | undefined;
  /** Whether the meter counts this call among the calls that its key has under way. */
  isRunning = false;
  /** The compute units that were charged before the call was answered. */
  chargedUnits = 0;
  /** The calls to nodes that this call made, those for their head and those that joined an equal one included. */
  #asked = 0;
  /** Made with the first question to nodes, since many calls ask none. */
  #work: CallWork | undefined;
  #view: SharedView | undefined;
  #heldBytes = 0;
  #hasEnded = false;
  readonly #parts: CallParts;

  constructor(message: CallMessage, caller: Caller, parts: CallParts) {
    this.message = message;
    this.caller = caller;
    this.method = caller.network.catalogue.served.get(message.method);
    this.network = factsFor(caller);
    this.#parts = parts;
  }

  get isInBatch(): boolean {
    return this.#parts.batch !== undefined;
  }

  get paramsJson(): string {
    return paramsJsonOf(this.message);
  }

  headView(): HeadView {
    const view = this.#viewed();
    if (view.chain) return headOf(view.chain, this.caller.scope);
    this.#asked += 1;
    return view.head;
  }

  get chain(): ChainView | undefined {
    return this.#viewed().chain;
  }

  waitForChain(ms: number): WaitForChain {
    const { network, scope } = this.caller;
    return new WaitForChain({ ms }, { network, scope, clock: this.#parts.clock });
  }

  get filters(): CallContext["filters"] {
    return this.caller.network.filters;
  }

  get subscriptions(): CallContext["subscriptions"] {
    return this.caller.network.subscriptions;
  }

  get relayed(): CallContext["relayed"] {
    return this.caller.network.relayed;
  }

  get channel(): CallContext["channel"] {
    return this.caller.channel;
  }

  get ranges(): CallContext["ranges"] {
    return this.caller.network.ranges;
  }

  get holder(): string {
    return this.caller.grant.name;
  }

  /** The caller's address, which distinguishes the callers of one key; empty where it is unknown. */
  get client(): string {
    return this.caller.client() ?? "";
  }

  get weight(): number {
    return this.caller.grant.meter.weight;
  }

  get memory(): MemoryHolder {
    return this.caller.grant.meter.memory;
  }

  get remainingMs(): number {
    return this.caller.scope.remainingMs;
  }

  get account(): CallContext["account"] {
    return this.caller.grant;
  }

  /** The method's name where the network serves it, else `other`: callers may invent names without bound. */
  get label(): string {
    return this.method?.name ?? "other";
  }

  /** The error for a method that the network does not serve. */
  notFound(): RpcError {
    const { method } = this.message;
    const { isClosed } = this.caller.network.catalogue;
    return isClosed(method) ? errors.methodClosed(method) : errors.methodNotFound(method);
  }

  authorize(method: GuardedMethod, params: readonly unknown[]): void {
    const { grant, network } = this.caller;
    if (!network.catalogue.served.get(method.name)) throw errors.methodClosed(method.name);
    const rule = grant.scope.forbidsCall({ message: { method: method.name, params }, method });
    if (rule) throw forbidden(rule);
  }

  /** Why this call cost no question to a node; undefined when it cost one, or when no node has its method. */
  get saving(): Saving | undefined {
    if (this.#asked > 0) return this.#asked === this.#work?.joined ? "merging" : undefined;
    if (this.method?.isOwn) return undefined;
    return this.provenance === undefined || this.provenance.source === "local" ? "here" : "store";
  }

  /** The compute units that the key was charged for this call so far. */
  get computeUnits(): number {
    return this.chargedUnits + (this.#work?.computeUnits ?? 0);
  }

  /** The attempts at nodes for this call, retries, hedges and cross-checks included. */
  get upstreamCalls(): number {
    return this.#work?.attempts ?? 0;
  }

  /** Whether each of this call's calls to nodes joined an equal call that was under way. */
  get hasOnlyJoined(): boolean {
    return this.#work !== undefined && this.#work.joined > 0 && this.#work.attempts === 0;
  }

  get upstreamCallsLeft(): number {
    return this.#ownWork().left;
  }

  get delivery(): RequestScope {
    return this.caller.scope;
  }

  hold(bytes: number): void {
    if (this.#hasEnded) return;
    this.#heldBytes += bytes;
    this.caller.scope.hold("building", bytes);
  }

  /** Ends the call: the bytes of its answer's parts are released, since the holder of the whole answer counts them. */
  end(): void {
    if (this.#heldBytes !== 0) this.hold(-this.#heldBytes);
    this.#hasEnded = true;
  }

  get signal(): Signal {
    return this.caller.scope.signal();
  }

  setProvenance(provenance: Provenance): void {
    this.#provenance = provenance;
  }

  /** The provenance of the answer; undefined for an answer that was computed here. */
  get provenance(): Provenance | undefined {
    const staleMs = this.#view?.staleness?.ms;
    return staleMs === undefined
      ? this.#provenance
      : this.#provenance && { ...this.#provenance, staleMs };
  }

  ask(method: string, paramsJson: string, options?: CallOptions): Promise<Buffer> {
    const work = this.#ownWork();
    return work.hasBegun
      ? this.#askFurther(method, paramsJson, options)
      : this.#send(method, paramsJson, options);
  }

  /** Asks after paying the price of a call of the method: the call's own price covers only its first question. */
  async #askFurther(method: string, paramsJson: string, options?: CallOptions): Promise<Buffer> {
    const paid = this.#pay(method);
    if (paid instanceof Promise) await paid;
    return this.#send(method, paramsJson, options);
  }

  #pay(method: string): void | Promise<void> {
    const asked = this.caller.network.catalogue.served.get(method) ?? this.method;
    return this.#ownWork().pay(this.#parts.costs.of(asked));
  }

  async payFor(method: string): Promise<void> {
    const work = this.#ownWork();
    if (work.hasBegun) await this.#pay(method);
    work.attempted();
    this.#asked += 1;
  }

  async payForWork(units: number): Promise<void> {
    const short = await this.caller.grant.meter.charge(units, this.#parts.clock.now());
    if (short) throw errors.rateLimited(short);
    this.chargedUnits += units;
  }

  #ownWork(): CallWork {
    this.#work ??= this.#makeWork();
    return this.#work;
  }

  #makeWork(): CallWork {
    const { clock, batch } = this.#parts;
    const { meter } = this.caller.grant;
    const { upstreamCalls: limit } = this.network.limits;
    return new CallWork({ limit }, { clock, meter, batch: batch?.work, story: this.story });
  }

  #send(method: string, paramsJson: string, options?: CallOptions): Promise<Buffer> {
    const { network, scope } = this.caller;
    this.#provenance ??= FROM_NODES;
    this.#asked += 1;
    // Only calls that change nothing are merged: two sends, or two polls, at the same time must stay two. An answer
    // that is read while it arrives can have only one reader.
    const isMerged = this.method?.isMergeable && !options?.reader;
    const { coalescing, pool } = network;
    const { session } = this.#parts.batch ? this.#viewed() : LONE;
    const isTogether = session !== undefined && TAG.test(paramsJson);
    // Each option is named: an object spread would cost more time than the rest of this function.
    return (isMerged ? coalescing : pool).call(method, paramsJson, scope.signal(), {
      traits: options?.traits ?? (method === this.method?.name ? this.method : undefined),
      crossCheck: options?.crossCheck,
      onReply: options?.onReply,
      block: options?.block,
      reaches: options?.reaches,
      isPending: options?.isPending,
      session: isTogether ? session : undefined,
      variant: options?.variant,
      reader: options?.reader,
      arrivalOf: options?.arrivalOf,
      isFalse: options?.isFalse,
      onFalse: options?.onFalse,
      asker: this,
      ledger: this.#work,
    } satisfies Record<keyof CallOptions, unknown>);
  }

  isMissing(method: string): boolean {
    return this.caller.network.pool.isMissing(method);
  }

  isAgreedUpon(method: string): boolean {
    return this.caller.network.pool.agreementOn(method) !== undefined;
  }

  #viewed(): SharedView {
    this.#view ??= this.#viewNow();
    return this.#view;
  }

  #viewNow(): SharedView {
    const view = this.#parts.batch?.view() ?? viewOf(this.caller);
    const past = view.chain ? undefined : view.past;
    return past && namesStoredBlock(this.paramsJson, past) ? { ...view, chain: past } : view;
  }

  describe(): string {
    return this.caller.network.describe(this.caller.grant);
  }
}

export const forbidden = (rule: CallRule): RpcError =>
  rule === "contracts" ? errors.rejectedByKey(rule) : errors.methodNotForKey(rule);

const LONE: Pick<SharedView, "session"> = { session: undefined };

const TAG = /"(latest|pending|safe|finalized|latest_\w+)"/;

/** All members of a batch together may make this many times the calls to nodes of one call, beyond their first ones. */
const BATCH_FACTOR = 5;

/** The calls to nodes that the members of one batch may still make beyond the first of each. */
type BatchWork = { left: number };

/** @param limit The calls to nodes that each member may make. */
export const batchWorkOf = (limit: number): BatchWork => ({ left: limit * BATCH_FACTOR });

type CallWorkParts = {
  readonly clock: Pick<Clock, "now">;
  readonly meter: Pick<Meter, "charge">;
  /** The work that all members of the batch share; undefined for a lone call. */
  readonly batch: BatchWork | undefined;
  readonly story?: Story | undefined;
};

/** The calls to nodes that one call makes. Their number is bounded, and the key pays for each after the first. */
export class CallWork implements AttemptLedger {
  /** The attempts at nodes, retries, hedges and cross-checks included. */
  attempts = 0;
  /** The compute units that were charged beyond the call's own price. */
  computeUnits = 0;
  /** The calls to nodes that joined an equal one under way. */
  joined = 0;
  readonly #limit: number;
  readonly #parts: CallWorkParts;

  /** @param options.limit After so many attempts no further question is begun. */
  constructor(options: { limit: number }, parts: CallWorkParts) {
    this.#limit = options.limit;
    this.#parts = parts;
  }

  /** Whether the first question, which the call's price covers, reached a node or joined an equal question. */
  get hasBegun(): boolean {
    return this.attempts + this.joined > 0;
  }

  /** The number of further calls to nodes that may be made. */
  get left(): number {
    const { batch } = this.#parts;
    const ofBatch = batch ? batch.left + (this.hasBegun ? 0 : 1) : this.#limit;
    return Math.max(0, Math.min(this.#limit - this.attempts, ofBatch));
  }

  attempted(attempt?: BegunAttempt, method?: string): AttemptStory | undefined {
    this.attempts += 1;
    return attempt && method !== undefined ? this.#parts.story?.asked(attempt, method) : undefined;
  }

  merged(): void {
    this.joined += 1;
    this.#parts.story?.reached("merged");
  }

  /**
   * Pays for a further question before it is asked.
   *
   * @returns A promise while the key's reservation is being made.
   * @throws RpcError -32005 with status 200 when the bound is reached, with 429 when the key has too few units left.
   */
  pay(units: number): void | Promise<void> {
    if (this.left === 0) throw errors.tooMuchWork(this.#limit);
    const { batch, meter, clock } = this.#parts;
    if (batch) batch.left -= 1;
    const short = meter.charge(units, clock.now());
    if (short instanceof Promise) return short.then((shortage) => this.#paid(units, shortage));
    this.#paid(units, short);
  }

  #paid(units: number, short: RateLimit | undefined): void {
    if (short) throw errors.rateLimited(short);
    this.computeUnits += units;
  }
}
