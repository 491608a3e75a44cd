// The caller of calls: its key, its network, its view of the chain, and its request, which has a deadline and bytes that
// wait in memory.

import type { Grant } from "../access/keys/key-ring.ts";
import type { ChainView, ViewSource } from "../chain/chain-view.ts";
import type { Staleness } from "../chain/freshness.ts";
import { isHash, isQuantity, toNumber } from "../evm/values.ts";
import { parsed } from "../jsonrpc/raw-json.ts";
import { Cancellation, type Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget, MemoryHolder } from "../lib/memory-budget.ts";
import type { UseCount } from "../lib/mutex.ts";
import type { Turns } from "../lib/turns.ts";
import type { Catalogue } from "../methods/catalogue.ts";
import type { CallContext, HeadView, NetworkFacts } from "../methods/method.ts";
import type { Session } from "../upstream/asking/call-options.ts";
import type { Coalescing } from "../upstream/asking/coalescing.ts";
import type { Head } from "../upstream/head.ts";
import type { Pool } from "../upstream/pool.ts";

type OutageViews = Pick<ViewSource, "outageView" | "silence">;

/** The part of a network that calls need. */
export type CallableNetwork = {
  readonly facts: NetworkFacts;
  readonly catalogue: Catalogue;
  readonly pool: Pick<Pool, "call" | "agreementOn" | "isMissing">;
  readonly coalescing: Pick<Coalescing, "call">;
  readonly head: Pick<Head, "loneView" | "batchView">;
  /** undefined where no chain is followed. */
  readonly chain: (Pick<ViewSource, "view"> & Partial<OutageViews>) | undefined;
  /** Calls `listener` when the followed chain may have changed. @returns A function that ends these calls. */
  onUpdate(listener: () => void): () => void;
  /** undefined where no chain is followed. */
  readonly filters: CallContext["filters"];
  /** undefined where no chain is followed. */
  readonly subscriptions: CallContext["subscriptions"];
  readonly relayed: CallContext["relayed"];
  readonly ranges: CallContext["ranges"];
  /** The OpenRPC document with the methods that the key may call, as JSON. */
  describe(grant: Grant): string;
};

/** The caller of one body: the same for all members of a batch. */
export type Caller = {
  readonly network: CallableNetwork;
  readonly grant: Grant;
  readonly requestId: string;
  readonly scope: RequestScope;
  /** Looks up the caller's address, which only a call that waits for its turn at a node needs. */
  readonly client: () => string | undefined;
  /** The caller's WebSocket; undefined over HTTP. */
  readonly channel?: CallContext["channel"];
  /** The headers of the HTTP request, or of the handshake of the WebSocket. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
};

/** The network's facts, with the key's own log range where that is smaller, and the key's own limit of upstream calls. */
export function factsFor({ grant, network: { facts } }: Caller): NetworkFacts {
  const { logs, upstreamCalls } = facts.limits;
  const { logBlocks, upstreamCalls: own = upstreamCalls } = grant.scope;
  const isNarrower =
    logBlocks !== undefined && logBlocks < (logs.blocks ?? Number.POSITIVE_INFINITY);
  if (!isNarrower && own === upstreamCalls) return facts;
  const range = isNarrower ? ({ ...logs, blocks: logBlocks, rule: "logs" } as const) : logs;
  return { ...facts, limits: { ...facts.limits, upstreamCalls: own, logs: range } };
}

/** The view where nodes tell the head: no chain is followed, or the followed chain may be behind, or no node answers. */
type ViewOfNodes = {
  readonly chain: undefined;
  readonly head: HeadView;
  /** The followed chain that may be behind: it answers calls about blocks that it has. */
  readonly past?: ChainView;
};

/** The view of a call, or of all members of a batch: the chain at the time of the first question. */
export type SharedView = ({ readonly chain: ChainView } | ViewOfNodes) & {
  readonly staleness?: Staleness | undefined;
  /** Makes one node answer all members that name a tag, since each node has its own newest block. */
  readonly session: Session | undefined;
};

/** The current view of the chain and its head. @param isShared Whether the view is for all members of a batch. */
export function viewOf({ network, scope }: Caller, isShared = false): SharedView {
  const followed = network.chain?.view(isShared);
  const session = isShared ? { node: undefined } : undefined;
  if (followed && !followed.isBehind) {
    return { chain: followed, session, staleness: followed.staleness };
  }
  const view = followed ?? network.chain?.outageView?.(isShared);
  const signal = (): Signal => scope.signal();
  const head = isShared ? network.head.batchView(signal) : network.head.loneView(signal);
  const asked = { head, chain: undefined, session };
  return view ? { ...asked, past: view, staleness: view.staleness } : asked;
}

/** The head of a followed chain. */
export function headOf(chain: ChainView, scope: Caller["scope"]): HeadView {
  return {
    latest: () => chain.latest(),
    atLeast: (number: number) => chain.atLeast(number, scope.signal()),
    pin: <Reference>(reference: Reference) => chain.pin(reference),
  };
}

type Past = Pick<ChainView, "blockAt" | "blockOf" | "transaction" | "tells">;

/**
 * Whether the first parameter names a stored block or transaction, or a range of stored blocks. The store answers such
 * a call even when it may be behind the network.
 */
export function namesStoredBlock(paramsJson: string, past: Past): boolean {
  const params = parsed(paramsJson);
  const named: unknown = Array.isArray(params) ? params[0] : undefined;
  if (typeof named === "string") return isStored(named, past);
  if (typeof named !== "object" || named === null) return false;
  const { blockHash, blockNumber, requireCanonical, ...range } = named as Record<string, unknown>;
  const only = blockHash ?? blockNumber;
  if (requireCanonical === true && isHash(blockHash)) {
    const { number } = past.blockOf(blockHash, "if held") ?? {};
    return number !== undefined && past.tells(number);
  }
  if (only !== undefined) return isStored(only, past);
  const { fromBlock, toBlock, fromEpoch = fromBlock, toEpoch = toBlock } = range;
  return isStored(fromEpoch, past) && isStored(toEpoch, past);
}

function isStored(named: unknown, past: Past): boolean {
  if (isHash(named))
    return (past.blockOf(named, "if held") ?? past.transaction(named)) !== undefined;
  if (!isQuantity(named)) return false;
  const number = toNumber(named);
  return past.blockAt(number, "if held") !== undefined && past.tells(number);
}

/** Made once, since an abort without a reason makes an error with a stack for each answered call. */
const TIME_IS_UP = new Error("the deadline of the request has passed");
const ENDED = new Error("the request has ended");

type RequestScopeParts = {
  readonly clock: Pick<Clock, "after" | "now">;
  readonly memory: Pick<MemoryBudget, "hold" | "release">;
  readonly turns: Pick<Turns, "join" | "next">;
};

export class RequestScope {
  /** Made when a call first waits for an upstream, since most answers need no signal. */
  #ending: Cancellation | undefined;
  #cancelDeadline: (() => void) | undefined;
  /** In milliseconds, by the clock's `now`. */
  #deadlineAt: number | undefined;
  #hasEnded = false;
  /** The number of its messages that are invalid or were refused with a status from 400 to 428. */
  refused = 0;
  /** The tasks for the time when the answer was sent, or never will be. */
  #onSent: ((wasSent: boolean) => void)[] | undefined;
  /** The occupancy of the network, which a reload must not close before this request ends. */
  #occupied: Pick<UseCount, "leave"> | undefined;
  #holder: MemoryHolder | undefined;
  /** The bytes that wait for this request: its body, the parts of its answer, and the answer. */
  #bodies = 0;
  #building = 0;
  #unsent = 0;
  readonly #deadlineMs: number;
  readonly #parts: RequestScopeParts;

  constructor(options: { deadlineMs: number }, parts: RequestScopeParts) {
    this.#deadlineMs = options.deadlineMs;
    this.#parts = parts;
  }

  /** The one signal of this request, from the server to the upstream's socket. The first call starts the deadline. */
  signal(): Signal {
    if (!this.#ending) {
      this.#ending = new Cancellation();
      this.#startDeadline(this.#ending);
    }
    return this.#ending;
  }

  /** Starts the deadline again, since the caller took a part of the answer: the next part has the whole time. */
  restartDeadline(): void {
    if (!this.#ending || this.#hasEnded) return;
    this.#cancelDeadline?.();
    this.#startDeadline(this.#ending);
  }

  /** Enters the occupancy, and leaves it when the request ends. To be called once. */
  occupy(occupancy: Pick<UseCount, "enter" | "leave">): void {
    if (this.#hasEnded) return;
    occupancy.enter();
    this.#occupied = occupancy;
  }

  /** Counts the request's bytes for this key. To be called before the first `hold`. */
  holdFor(holder: MemoryHolder): void {
    this.#holder = holder;
  }

  /** The milliseconds until the deadline; the whole time where it has not started. */
  get remainingMs(): number {
    const isRunning = this.#deadlineAt !== undefined && !this.#hasEnded;
    return isRunning ? (this.#deadlineAt ?? 0) - this.#parts.clock.now() : this.#deadlineMs;
  }

  /** Whether the caller waits for no answer any more. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Calls `task` once: with true when the answer was handed to the network, with false when it never will be. */
  onSent(task: (wasSent: boolean) => void): void {
    this.#onSent ??= [];
    if (this.#hasEnded) task(false);
    else this.#onSent.push(task);
  }

  /** Counts bytes that wait for this request, until it ends. @param bytes A negative number takes bytes away. */
  hold(kind: "bodies" | "building" | "unsent", bytes: number): void {
    if (this.#hasEnded) return;
    if (kind === "bodies") this.#bodies += bytes;
    else if (kind === "building") this.#building += bytes;
    else this.#unsent += bytes;
    this.#parts.memory.hold(kind, bytes, this.#holder);
  }

  /** Ends the request: stops all work for it. @param wasSent Whether the answer was handed to the network. */
  end(wasSent: boolean): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#releaseAll();
    this.#occupied?.leave();
    if (this.#onSent) for (const task of this.#onSent) task(wasSent);
    this.#cancelDeadline?.();
    if (this.#ending) this.#abandon(this.#ending, wasSent);
  }

  /** Aborts the calls, in turns of long work: many callers with many waiting calls may leave at once. */
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
