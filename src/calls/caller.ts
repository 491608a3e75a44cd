// The caller of calls: its key, the network, the chain as one call sees it, or all members of a batch, and the request
// with its deadline and the bytes that wait in memory for it.

import type { Grant } from "../access/keys/key-ring.ts";
import type { ChainView, ViewSource } from "../chain/chain-view.ts";
import type { Staleness } from "../chain/freshness.ts";
import { isHash, isQuantity, toNumber } from "../evm/values.ts";
import { parsed } from "../jsonrpc/raw-json.ts";
import { Cancellation, type Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget, MemoryHolder } from "../lib/memory-budget.ts";
import type { Occupancy } from "../lib/mutex.ts";
import type { Turns } from "../lib/turns.ts";
import type { Catalogue } from "../methods/catalogue.ts";
import type { CallContext, HeadView, NetworkFacts } from "../methods/method.ts";
import type { Session } from "../upstream/asking/call-options.ts";
import type { Coalescing } from "../upstream/asking/coalescing.ts";
import type { Head } from "../upstream/head.ts";
import type { Pool } from "../upstream/pool.ts";

/** The slice of a network that calls need. */
export type CallableNetwork = {
  readonly facts: NetworkFacts;
  readonly catalogue: Catalogue;
  readonly pool: Pick<Pool, "call" | "agreementOn" | "isMissing">;
  readonly coalescing: Pick<Coalescing, "call">;
  readonly head: Pick<Head, "loneView" | "batchView">;
  /** undefined where nothing is followed. */
  readonly chain: Pick<ViewSource, "view"> | undefined;
  /** undefined where nothing is followed. */
  readonly filters: CallContext["filters"];
  /** undefined where nothing is followed. */
  readonly subscriptions: CallContext["subscriptions"];
  readonly relayed: CallContext["relayed"];
  readonly ranges: CallContext["ranges"];
  /** The OpenRPC document with the methods that the key may call. */
  describe(grant: Grant): string;
};

/** The key that calls, the network, and the request with its time. The same for all members of a batch. */
export type Caller = {
  readonly network: CallableNetwork;
  readonly grant: Grant;
  readonly requestId: string;
  readonly scope: RequestScope;
  /** Where it calls from; looked for only when its calls wait for others. */
  readonly client: () => string | undefined;
  /** Its WebSocket; undefined over HTTP. */
  readonly channel?: CallContext["channel"];
  /** Of the request that the calls came with, or that its socket began with. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
};

/** The network's facts, with the key's own log range where it is the smaller one, and its own calls of nodes. */
export function factsFor({ grant, network: { facts } }: Caller): NetworkFacts {
  const { logs, upstreamCalls } = facts.limits;
  const { logBlocks, upstreamCalls: own = upstreamCalls } = grant.scope;
  const isNarrower =
    logBlocks !== undefined && logBlocks < (logs.blocks ?? Number.POSITIVE_INFINITY);
  if (!isNarrower && own === upstreamCalls) return facts;
  const range = isNarrower ? ({ ...logs, blocks: logBlocks, rule: "logs" } as const) : logs;
  return { ...facts, limits: { ...facts.limits, upstreamCalls: own, logs: range } };
}

type ViewOfChain = { readonly chain: ChainView };

/** Where nothing is followed, or the nodes may be further: then they are asked. */
type ViewOfNodes = {
  readonly chain: undefined;
  readonly head: HeadView;
  /** The chain as it was when it was the newest, for what is asked of the past. */
  readonly past?: ChainView;
};

/** What the members of a batch share: the chain as it was when the first of them looked. */
export type SharedView = (ViewOfChain | ViewOfNodes) & {
  readonly staleness?: Staleness | undefined;
  /** One node for all that asks for a tag: what is latest is told by each node for itself. */
  readonly session: Session | undefined;
};

/** The chain and its head as they are now. @param isShared For all members of a batch. */
export function viewOf({ network, scope }: Caller, isShared = false): SharedView {
  const view = network.chain?.view(isShared);
  const session = isShared ? { node: undefined } : undefined;
  if (view && !view.isBehind) {
    return { chain: view, session, staleness: view.staleness };
  }
  const signal = (): Signal => scope.signal();
  const head = isShared ? network.head.batchView(signal) : network.head.loneView(signal);
  const asked = { head, chain: undefined, session };
  return view ? { ...asked, past: view, staleness: view.staleness } : asked;
}

/** The head of a chain that is followed. */
export function headOf(chain: ChainView, scope: Caller["scope"]): HeadView {
  return {
    latest: () => chain.latest(),
    atLeast: (number: number) => chain.atLeast(number, scope.signal()),
    pin: <Reference>(reference: Reference) => chain.pin(reference),
  };
}

type Past = Pick<ChainView, "blockAt" | "blockOf" | "transaction">;

/**
 * Whether the first parameter names a block or a transaction that is stored, or a range of stored blocks: such
 * a call is answered from a store that may be behind its network.
 */
export function isOfThePast(paramsJson: string, past: Past): boolean {
  const params = parsed(paramsJson);
  const named: unknown = Array.isArray(params) ? params[0] : undefined;
  if (typeof named === "string") return isStored(named, past);
  if (typeof named !== "object" || named === null) return false;
  const { blockHash, blockNumber, ...range } = named as Record<string, unknown>;
  const only = blockHash ?? blockNumber;
  if (only !== undefined) return isStored(only, past);
  const { fromBlock, toBlock, fromEpoch = fromBlock, toEpoch = toBlock } = range;
  return isStored(fromEpoch, past) && isStored(toEpoch, past);
}

function isStored(named: unknown, past: Past): boolean {
  if (isHash(named)) return (past.blockOf(named) ?? past.transaction(named)) !== undefined;
  return isQuantity(named) && past.blockAt(toNumber(named)) !== undefined;
}

/** Made once: an abort without a reason makes an exception with a stack, for every answered call. */
const TIME_IS_UP = new Error("the deadline of the request has passed");
const ENDED = new Error("the request has ended");

type RequestScopeParts = {
  readonly clock: Pick<Clock, "after" | "now">;
  readonly memory: Pick<MemoryBudget, "hold" | "release">;
  readonly turns: Pick<Turns, "join" | "next">;
};

export class RequestScope {
  /** Made only when somebody waits for an upstream: most answers need no signal. */
  #ending: Cancellation | undefined;
  #cancelDeadline: (() => void) | undefined;
  /** By the clock's `now`. */
  #deadlineAt: number | undefined;
  #hasEnded = false;
  /** How many of its calls were none, or not allowed. */
  refused = 0;
  /** Called when it is known whether the answer left. */
  #onSent: ((wasSent: boolean) => void)[] | undefined;
  /** The network that must not be taken away before it ends. */
  #occupied: Pick<Occupancy, "leave"> | undefined;
  #holder: MemoryHolder | undefined;
  /** What waits for this request, in bytes: its body, parts of its answer, and the answer. */
  #bodies = 0;
  #building = 0;
  #unsent = 0;
  readonly #deadlineMs: number;
  readonly #parts: RequestScopeParts;

  constructor(options: { deadlineMs: number }, parts: RequestScopeParts) {
    this.#deadlineMs = options.deadlineMs;
    this.#parts = parts;
  }

  /** The one signal of this request, from the server to the socket. The deadline starts with its first use. */
  signal(): Signal {
    if (!this.#ending) {
      this.#ending = new Cancellation();
      this.#startDeadline(this.#ending);
    }
    return this.#ending;
  }

  /** A part of the answer was taken: there is as much time again for the next. */
  restartDeadline(): void {
    if (!this.#ending || this.#hasEnded) return;
    this.#cancelDeadline?.();
    this.#startDeadline(this.#ending);
  }

  /** Enters what it leaves when it ends: it may occupy one thing. */
  occupy(occupancy: Pick<Occupancy, "enter" | "leave">): void {
    if (this.#hasEnded) return;
    occupancy.enter();
    this.#occupied = occupancy;
  }

  /** From now on it is this key that bytes wait for. None may wait yet. */
  holdFor(holder: MemoryHolder): void {
    this.#holder = holder;
  }

  /** How long somebody waits for the answer from now on, in milliseconds. */
  get remainingMs(): number {
    const isRunning = this.#deadlineAt !== undefined && !this.#hasEnded;
    return isRunning ? (this.#deadlineAt ?? 0) - this.#parts.clock.now() : this.#deadlineMs;
  }

  /** Nobody waits for an answer any more. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Calls `task` once: when the answer was handed to the network, or when it never will be. */
  onSent(task: (wasSent: boolean) => void): void {
    this.#onSent ??= [];
    if (this.#hasEnded) task(false);
    else this.#onSent.push(task);
  }

  /**
   * Counts bytes that wait for this request, until they are released or the request ends.
   *
   * @param bytes Negative: so many less.
   */
  hold(kind: "bodies" | "building" | "unsent", bytes: number): void {
    if (this.#hasEnded) return;
    if (kind === "bodies") this.#bodies += bytes;
    else if (kind === "building") this.#building += bytes;
    else this.#unsent += bytes;
    this.#parts.memory.hold(kind, bytes, this.#holder);
  }

  /** The request is answered, or its caller has gone: whatever still works for it stops. */
  end(wasSent: boolean): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#releaseAll();
    this.#occupied?.leave();
    if (this.#onSent) for (const task of this.#onSent) task(wasSent);
    this.#cancelDeadline?.();
    if (this.#ending) this.#abandon(this.#ending, wasSent);
  }

  /** Many calls may wait for a caller who leaves, and many callers leave at once: nothing is in a hurry then. */
  #abandon(ending: Cancellation, wasSent: boolean): void {
    const { turns } = this.#parts;
    if (wasSent || turns.join() === "on") ending.abort(ENDED);
    else void turns.next().then(() => ending.abort(ENDED));
  }

  #startDeadline(ending: Cancellation): void {
    const { clock } = this.#parts;
    this.#deadlineAt = clock.now() + this.#deadlineMs;
    this.#cancelDeadline = clock.after(this.#deadlineMs, () => ending.abort(TIME_IS_UP));
  }

  #releaseAll(): void {
    const { memory } = this.#parts;
    if (this.#bodies !== 0) memory.release("bodies", this.#bodies, this.#holder);
    if (this.#building !== 0) memory.release("building", this.#building, this.#holder);
    if (this.#unsent !== 0) memory.release("unsent", this.#unsent, this.#holder);
  }
}
