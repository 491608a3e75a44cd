// How one upstream is sent requests, and how its replies are read and counted: they tell of its health, budget and
// methods. And whether a result can be true at all: an upstream with an impossible result is logged once, then counted.

import type { Logger } from "pino";
import { findLongMembers } from "../jsonrpc/members.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget, MemoryHolder } from "../lib/memory-budget.ts";
import { atOnce, type Turns, type Work } from "../lib/turns.ts";
import { deadline, TOO_LATE } from "../lib/waiting.ts";
import type { Metrics, UpstreamRecord } from "../observe/metrics.ts";
import type { RateBudget } from "./budget/rate-budget.ts";
import type { MissingMethods } from "./capabilities/capabilities.ts";
import type {
  AnsweredExchange,
  BodyReader,
  Connection,
  Exchange,
  NodeRequest,
  SubscriptionListener,
} from "./connection/connection.ts";
import type { AttemptEnding } from "./health/health.ts";
import {
  ENVELOPE,
  nextRequestId,
  type Reply,
  readReply,
  requestJson,
  subscriptionIdIn,
} from "./reply.ts";

export type Urgency = {
  /** For the count of calls: a caller's, one to follow the chain, or one to check the node. */
  readonly purpose?: UpstreamRecord["purpose"] | undefined;
  /** The call breaks the learned limit of its budget, since no other node can answer. */
  readonly isInsistent?: boolean;
};

export type NodeCall = Pick<
  NodeRequest,
  "turn" | "maxBytes" | "holder" | "unsubscribe" | "headers"
> & {
  readonly method: string;
  readonly paramsJson: string;
  readonly purpose: UpstreamRecord["purpose"];
  /** See `Connection.send`. */
  readonly reader?: BodyReader | undefined;
  /** A shorter timeout than the connection's. */
  readonly timeoutMs?: number | undefined;
  /** When it is sent, by the clock's `now`; left out: now. */
  readonly sentAtMs?: number;
};

/** @param prefix The prefix of the family's methods. */
export type NodeSubscription = { readonly prefix: "eth" | "cfx"; readonly paramsJson: string };

export type NodeRequestReply = {
  readonly reply: Reply;
  /** By the clock's `now`. */
  readonly sentAtMs: number;
  readonly cameAtMs: number;
};

/** An answer of this many bytes takes a few milliseconds to read. */
const LONG = 1 << 22;

export type NodeRequestsParts = {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly turns: Pick<Turns, "do">;
  readonly metrics: Pick<Metrics, "upstreamAnswered">;
  readonly connection: Connection;
};

type Sent = NodeRequest & Pick<NodeCall, "method" | "purpose"> & { readonly sentAtMs: number };

export class NodeRequests {
  #lastId = 0;
  readonly #options: { readonly network: string; readonly upstream: string };
  readonly #parts: NodeRequestsParts;

  constructor(options: { network: string; upstream: string }, parts: NodeRequestsParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /**
   * Never rejects, as far as `heard` does not.
   * @param heard What is made of the reply, at once: a further promise would cost as much as reading it.
   */
  send<Heard>(
    wanted: NodeCall,
    signal: Signal,
    heard: (came: NodeRequestReply) => Heard | Promise<Heard>,
  ): Promise<Heard> {
    const request = this.#request(wanted);
    const { timeoutMs, reader, maxBytes } = wanted;
    const exchange =
      timeoutMs === undefined
        ? this.#parts.connection.send(request, signal, reader)
        : this.#sendWithin(timeoutMs, { ...request, reader }, signal);
    return exchange.then((came) => {
      if (isTooLong(came, maxBytes)) return heard(this.#read({ kind: "too large" }, request));
      const isLong = came.kind === "answered" && came.body.length > LONG;
      return isLong ? this.#readLong(came, request).then(heard) : heard(this.#read(came, request));
    });
  }

  /** Long answers are looked through in pauses, so that other work has its turn. */
  async #readLong(exchange: AnsweredExchange, request: Sent): Promise<NodeRequestReply> {
    const members = await this.#parts.turns.do(findLongMembers(exchange.body, ENVELOPE));
    return this.#read({ ...exchange, members }, request);
  }

  /** Whether the node's connection can push. */
  get canSubscribe(): boolean {
    return this.#parts.connection.subscribe !== undefined;
  }

  /** @returns The reply, and whether a subscription is open; undefined when the connection cannot push. */
  async subscribe(
    { prefix, paramsJson }: NodeSubscription,
    listener: SubscriptionListener,
    signal: Signal,
  ): Promise<{ readonly reply: Reply; readonly isOpen: boolean } | undefined> {
    const request = this.#request({
      ...{ method: `${prefix}_subscribe`, paramsJson, purpose: "follow" },
      unsubscribe: `${prefix}_unsubscribe`,
    });
    const exchange = await this.#parts.connection.subscribe?.(request, listener, signal);
    if (!exchange) return undefined;
    const { reply } = this.#read(exchange, request);
    return { reply, isOpen: subscriptionIdIn(exchange, request.id) !== undefined };
  }

  /** Ends all sockets. */
  close(): Promise<void> {
    return this.#parts.connection.close();
  }

  async #sendWithin(
    timeoutMs: number,
    request: Sent & Pick<NodeCall, "reader">,
    signal: Signal,
  ): Promise<Exchange> {
    const { clock, connection } = this.#parts;
    const limited = deadline(timeoutMs, signal, clock);
    const exchange = await connection.send(request, limited.signal, request.reader);
    limited.done();
    const isLate = exchange.kind === "aborted" && limited.signal.reason === TOO_LATE;
    return isLate ? { kind: "timeout" } : exchange;
  }

  #request(call: NodeCall): Sent {
    const { method, paramsJson, purpose, maxBytes, holder, turn, unsubscribe, headers } = call;
    const id = nextRequestId(this.#lastId);
    this.#lastId = id;
    const json = requestJson(id, method, paramsJson);
    const isForCaller = purpose === "call";
    const { sentAtMs = this.#parts.clock.now() } = call;
    const sent = {
      id,
      method,
      purpose,
      json,
      turn,
      isForCaller,
      holder,
      maxBytes,
      headers,
      sentAtMs,
    };
    return unsubscribe === undefined ? sent : { ...sent, unsubscribe };
  }

  #read(exchange: Exchange, { id, method, purpose, sentAtMs }: Sent): NodeRequestReply {
    const { clock, metrics } = this.#parts;
    const reply = readReply(exchange, id, method);
    const { network, upstream } = this.#options;
    const cameAtMs = clock.now();
    const seconds = (cameAtMs - sentAtMs) / 1000;
    const bytes = exchange.kind === "answered" ? exchange.body.length : 0;
    metrics.upstreamAnswered({ network, upstream, kind: reply.kind, purpose, seconds, bytes });
    return { reply, sentAtMs, cameAtMs };
  }
}

/** The length of an answer is checked here where it came as one message, or in a batch. */
const isTooLong = (exchange: Exchange, maxBytes: number | undefined): boolean =>
  maxBytes !== undefined && exchange.kind === "answered" && exchange.body.length > maxBytes;

/** Whether a result cannot be true, whatever the node says. It takes steps where the result may be long. */
export type IsFalse = (json: Buffer, upstream: string) => boolean | Work<boolean>;

export type BeliefParts = {
  readonly log: Pick<Logger, "warn">;
  readonly metrics: Pick<Metrics, "upstreamLied">;
  readonly turns: Pick<Turns, "do">;
  /** Counts the bytes of results that wait to be looked through. */
  readonly memory?: Pick<MemoryBudget, "hold" | "release"> | undefined;
  /** Is called with the name of an upstream whose result was impossible. */
  readonly onLie?: ((upstream: string) => void) | undefined;
};

/** Results of fewer bytes are looked through at once: it takes a fifth of a millisecond at most. */
const JUDGED_AT_ONCE = 32_768;

/** How many bytes of an impossible result operators are shown. */
const SAID_BYTES = 240;
const NOT_SO = "this contradicts what was asked, or what is proven of these blocks";

const FALSE: Reply = { kind: "failed", reason: "it told what is not so", isReported: true };

export type Judging = {
  /** Whether a result cannot be true: then its node is reported as a liar, and the next one is asked. */
  readonly isFalse?: IsFalse | undefined;
  /** Is called for each impossible result. */
  readonly onFalse?: (() => void) | undefined;
  /** The asker for whom the request was sent. */
  readonly asker?: { readonly memory?: MemoryHolder | undefined } | undefined;
};

export class Belief {
  #hasLied = false;
  readonly #options: { readonly network: string; readonly upstream: string };
  readonly #parts: BeliefParts;

  constructor(options: { network: string; upstream: string }, parts: BeliefParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** The reply, or a failure in its place. It is a promise where that takes long. */
  judged(
    reply: Reply,
    method: string,
    { isFalse, onFalse, asker }: Judging,
  ): Reply | Promise<Reply> {
    if (reply.kind !== "result" || !isFalse) return reply;
    const { json } = reply;
    const judge = (isCaught: boolean): Reply => {
      if (!isCaught) return reply;
      onFalse?.();
      return this.#caught(method, json);
    };
    const found = isFalse(json, this.#options.upstream);
    if (typeof found !== "boolean" && json.length > JUDGED_AT_ONCE)
      return this.#inTurns(found, json.length, asker?.memory).then(judge);
    return judge(typeof found === "boolean" ? found : atOnce(found));
  }

  async #inTurns(
    work: Work<boolean>,
    bytes: number,
    holder: MemoryHolder | undefined,
  ): Promise<boolean> {
    const { memory, turns } = this.#parts;
    memory?.hold("arriving", bytes, holder);
    try {
      return await turns.do(work);
    } finally {
      memory?.release("arriving", bytes, holder);
    }
  }

  #caught(method: string, json: Buffer): Reply {
    const { network, upstream } = this.#options;
    const { metrics, log, onLie } = this.#parts;
    const said = json.subarray(0, SAID_BYTES).toString();
    metrics.upstreamLied(network, upstream, { about: method, said, found: NOT_SO });
    onLie?.(upstream);
    if (!this.#hasLied) log.warn({ upstream, method }, "an upstream told what is not so");
    this.#hasLied = true;
    return FALSE;
  }
}

/** Why an attempt is aborted when another upstream replied first. */
export const OUTRUN = new Error("another node answered first");

/** How long a call of this cost has to wait, in milliseconds: 0 when it may go. */
export function budgetWaitMs(
  budget: Pick<RateBudget, "waitMs" | "mayBeTried" | "mayBeExceeded">,
  cost: number,
  { purpose, isInsistent = false }: Urgency,
  now?: number,
): number {
  const mustGo = purpose === "check";
  // Calls that follow the chain go before those of callers, as far as the node itself did not forbid it.
  const mayPress =
    (isInsistent && budget.mayBeTried(cost)) ||
    (purpose === "follow" && budget.mayBeExceeded(cost));
  return mustGo || mayPress ? 0 : budget.waitMs(cost, now);
}

/** What a call's end tells about the node's health. @param call.isNoFault It is a probe, which the node may not be made for. */
export function endingOf(
  reply: Reply,
  { signal, isNoFault }: { readonly signal: Signal; readonly isNoFault: boolean },
): AttemptEnding {
  if (reply.kind === "aborted" && signal.reason === OUTRUN) return "outrun";
  if (reply.kind !== "failed" && reply.kind !== "timeout") return reply.kind;
  if (isNoFault) return "aborted";
  return reply.kind === "failed" && reply.isReported ? "failed inside" : reply.kind;
}

/** Whether the node may be another one by now, or gone. */
export const isSuspicious = (reply: Reply): boolean =>
  reply.kind === "timeout" || (reply.kind === "failed" && !reply.isReported);

/** Learns what the node has and how much it takes, as far as a reply tells. @param call.way See `AskOptions`. */
export function learnFrom(
  reply: Reply,
  call: { readonly way: string; readonly sentAtMs: number },
  node: {
    readonly missing: Pick<MissingMethods, "found" | "remember">;
    readonly budget: Pick<RateBudget, "answered" | "limited">;
  },
): void {
  if (reply.kind === "result") node.missing.found(call.way);
  if (reply.kind === "result" || reply.kind === "refused") node.budget.answered(call.sentAtMs);
  if (reply.kind === "busy") node.budget.limited(reply.retryAfterMs, call.sentAtMs);
  if (reply.kind === "missing" && !reply.isUnsure) node.missing.remember(call.way);
}
