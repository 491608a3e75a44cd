// Sends requests to one upstream, reads and counts its replies, and learns its health, budget and methods from them.
// `ResultChecker` finds results that cannot be true: the log tells the first lie of an upstream, the metrics each one.

import type { Logger } from "pino";
import { findLongMembers } from "../jsonrpc/members.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget, MemoryHolder } from "../lib/memory-budget.ts";
import { atOnce, type Turns, type Work } from "../lib/turns.ts";
import { deadline, TIMED_OUT } from "../lib/waiting.ts";
import type { MethodTraits } from "../namespaces/known-method.ts";
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
  type Voice,
} from "./reply.ts";

export type Urgency = {
  /** The purpose of the call, for metrics: a caller's call, following the chain, checking or probing the node. */
  readonly purpose?: UpstreamRecord["purpose"] | undefined;
  /** The call exceeds the learned limit of its budget, since no other node can answer. */
  readonly exceedsLearnedLimit?: boolean;
};

export type NodeCallOptions = Urgency &
  ResultCheckOptions &
  Pick<NodeRequest, "maxBytes" | "headers"> & {
    /** As in `Connection.send`. */
    readonly reader?: BodyReader | undefined;
  };

export type NodeCall = {
  readonly method: string;
  readonly paramsJson: string;
  readonly signal: Signal;
  readonly options: NodeCallOptions;
  /** The traits of the method; left out: the call is not repeated. */
  readonly traits?: Pick<MethodTraits, "quotesCaller" | "isRepeatable">;
};

type Sending = Pick<NodeRequest, "turn"> & {
  /** The time of sending, by the clock's `now`. */
  readonly sentAtMs: number;
  /** A shorter timeout than that of the connection, in milliseconds. */
  readonly timeoutMs?: number | undefined;
};

/** @param prefix The prefix of the family's methods. */
export type NodeSubscription = { readonly prefix: "eth" | "cfx"; readonly paramsJson: string };

export type NodeRequestReply = {
  readonly reply: Reply;
  /** By the clock's `now`. */
  readonly sentAtMs: number;
  readonly cameAtMs: number;
};

/** An answer of more bytes takes a few milliseconds to read. */
const LONG = 1 << 22;

export type NodeRequestsParts = {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly turns: Pick<Turns, "do">;
  readonly metrics: Pick<Metrics, "upstreamAnswered">;
  readonly connection: Connection;
};

type Sent = NodeRequest &
  Pick<UpstreamRecord, "purpose"> & {
    readonly method: string;
    readonly voice: Voice;
    readonly sentAtMs: number;
  };

export class NodeRequests {
  #lastId = 0;
  readonly #options: { readonly network: string; readonly upstream: string };
  readonly #parts: NodeRequestsParts;

  constructor(options: { network: string; upstream: string }, parts: NodeRequestsParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /**
   * Sends a request. Rejects only where `heard` does.
   * @param heard Turns the reply into the result; a further promise would cost as much as reading the reply.
   */
  send<Heard>(
    call: NodeCall,
    sending: Sending,
    heard: (came: NodeRequestReply) => Heard | Promise<Heard>,
  ): Promise<Heard> {
    const request = this.#request(call, sending);
    const { timeoutMs } = sending;
    const { reader, maxBytes } = call.options;
    const exchange =
      timeoutMs === undefined
        ? this.#parts.connection.send(request, call.signal, reader)
        : this.#sendWithin(timeoutMs, request, call);
    return exchange.then((came) => {
      if (isTooLong(came, maxBytes)) return heard(this.#read({ kind: "too large" }, request));
      const isLong = came.kind === "answered" && came.body.length > LONG;
      return isLong ? this.#readLong(came, request).then(heard) : heard(this.#read(came, request));
    });
  }

  /** Reads a long answer in steps, so that other work has its turn. */
  async #readLong(exchange: AnsweredExchange, request: Sent): Promise<NodeRequestReply> {
    const members = await this.#parts.turns.do(findLongMembers(exchange.body, ENVELOPE));
    return this.#read({ ...exchange, members }, request);
  }

  /** Whether the node's connection can push. */
  get canSubscribe(): boolean {
    return this.#parts.connection.subscribe !== undefined;
  }

  /** Subscribes. @returns The reply, and whether a subscription is open; undefined when the connection cannot push. */
  async subscribe(
    { prefix, paramsJson }: NodeSubscription,
    listener: SubscriptionListener,
    signal: Signal,
  ): Promise<{ readonly reply: Reply; readonly isOpen: boolean } | undefined> {
    const options = { purpose: "follow" } as const;
    const call = { method: `${prefix}_subscribe`, paramsJson, signal, options };
    const sent = this.#request(call, { sentAtMs: this.#parts.clock.now() });
    const request = { ...sent, unsubscribe: `${prefix}_unsubscribe` };
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
    request: Sent,
    { signal, options }: NodeCall,
  ): Promise<Exchange> {
    const { clock, connection } = this.#parts;
    const limited = deadline(timeoutMs, signal, clock);
    const exchange = await connection.send(request, limited.signal, options.reader);
    limited.done();
    const isLate = exchange.kind === "aborted" && limited.signal.reason === TIMED_OUT;
    return isLate ? { kind: "timeout" } : exchange;
  }

  #request(call: NodeCall, { turn, sentAtMs }: Sending): Sent {
    const { method, paramsJson, options, traits } = call;
    const { purpose = "call", maxBytes, headers, asker } = options;
    const voice = voiceOf(call);
    const id = nextRequestId(this.#lastId);
    this.#lastId = id;
    const json = requestJson(id, method, paramsJson);
    const isForCaller = purpose === "call";
    const holder = asker?.memory;
    const isRepeatable = traits?.isRepeatable;
    return {
      id,
      method,
      purpose,
      voice,
      json,
      turn,
      isForCaller,
      isRepeatable,
      holder,
      maxBytes,
      headers,
      sentAtMs,
    };
  }

  #read(exchange: Exchange, request: Sent): NodeRequestReply {
    const { id, purpose, sentAtMs } = request;
    const { clock, metrics } = this.#parts;
    const reply = readReply(exchange, id, request);
    const { network, upstream } = this.#options;
    const cameAtMs = clock.now();
    const seconds = (cameAtMs - sentAtMs) / 1000;
    const bytes = exchange.kind === "answered" ? exchange.body.length : 0;
    metrics.upstreamAnswered({ network, upstream, kind: reply.kind, purpose, seconds, bytes });
    return { reply, sentAtMs, cameAtMs };
  }
}

/** Tells whose words an error of the call may carry. */
export function voiceOf({ traits, options }: Pick<NodeCall, "traits" | "options">): Voice {
  if ((options.purpose ?? "call") !== "call") return "node to gateway";
  return traits?.quotesCaller ? "anyone" : "node";
}

/** Whether an answer is longer than `maxBytes`: connections check that only over HTTP, and not for calls in a batch. */
const isTooLong = (exchange: Exchange, maxBytes: number | undefined): boolean =>
  maxBytes !== undefined && exchange.kind === "answered" && exchange.body.length > maxBytes;

/** Whether a result cannot be true; as work in steps where the result may be long. */
export type IsFalse = (json: Buffer, upstream: string) => boolean | Work<boolean>;

export type ResultCheckerParts = {
  readonly log: Pick<Logger, "warn">;
  readonly metrics: Pick<Metrics, "upstreamLied">;
  readonly turns: Pick<Turns, "do">;
  /** Counts the bytes of results that wait for `IsFalse`. */
  readonly memory?: Pick<MemoryBudget, "hold" | "release"> | undefined;
  /** Is called with the name of an upstream whose result was impossible. */
  readonly onLie?: ((upstream: string) => void) | undefined;
};

/** Results of up to this many bytes are checked at once, in a fifth of a millisecond at most. */
const CHECKED_AT_ONCE = 32_768;

/** The number of bytes of an impossible result that become evidence, which is cut after secrets were removed. */
const SAID_BYTES = 4_096;
const NOT_SO = "the answer contradicts the call, or facts that are proven about these blocks";

const FALSE: Reply = { kind: "failed", reason: "its answer is false", isReported: true };

export type ResultCheckOptions = {
  /** Finds a result that cannot be true: then the upstream is reported as a liar, and the call goes to the next one. */
  readonly isFalse?: IsFalse | undefined;
  /** Is called for each result that cannot be true. */
  readonly onFalse?: (() => void) | undefined;
  /** The asker of the request, for whom the bytes count. */
  readonly asker?: { readonly memory?: MemoryHolder | undefined } | undefined;
};

export class ResultChecker {
  #hasLied = false;
  readonly #options: { readonly network: string; readonly upstream: string };
  readonly #parts: ResultCheckerParts;

  constructor(options: { network: string; upstream: string }, parts: ResultCheckerParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Returns the reply, or a failure in place of a result that cannot be true; a promise where the check takes long. */
  checked(
    reply: Reply,
    method: string,
    { isFalse, onFalse, asker }: ResultCheckOptions,
  ): Reply | Promise<Reply> {
    if (reply.kind !== "result" || !isFalse) return reply;
    const { json } = reply;
    const verdict = (isCaught: boolean): Reply => {
      if (!isCaught) return reply;
      onFalse?.();
      return this.#caught(method, json);
    };
    const found = isFalse(json, this.#options.upstream);
    if (typeof found !== "boolean" && json.length > CHECKED_AT_ONCE)
      return this.#inTurns(found, json.length, asker?.memory).then(verdict);
    return verdict(typeof found === "boolean" ? found : atOnce(found));
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
    if (!this.#hasLied) log.warn({ upstream, method }, "an upstream gave a false answer");
    this.#hasLied = true;
    return FALSE;
  }
}

/** The reason with which an attempt is aborted when another upstream replied first. */
export const LOST_RACE = new Error("another node answered first");

/** How long a call of this cost has to wait for the budget, in milliseconds; 0: the call may go. */
export function budgetWaitMs(
  budget: Pick<RateBudget, "waitMs" | "mayExceedLearnedLimit" | "mayBeExceeded">,
  cost: number,
  { purpose, exceedsLearnedLimit = false }: Urgency,
  now?: number,
): number {
  const mustGo = purpose === "check";
  // Calls that follow the chain go before those of callers, where the budget's limit is only learned.
  const mayPress =
    (exceedsLearnedLimit && budget.mayExceedLearnedLimit(cost)) ||
    (purpose === "follow" && budget.mayBeExceeded(cost));
  return mustGo || mayPress ? 0 : budget.waitMs(cost, now);
}

/** The ending of a call for the node's health. @param call.isNoFault A probe: its failure is no fault of the node. */
export function endingOf(
  reply: Reply,
  { signal, isNoFault }: { readonly signal: Signal; readonly isNoFault: boolean },
): AttemptEnding {
  if (reply.kind === "aborted" && signal.reason === LOST_RACE) return "superseded";
  // The node replied, in words that are no evidence.
  if (isHearsayReply(reply)) return "missing";
  if (reply.kind !== "failed" && reply.kind !== "timeout") return reply.kind;
  if (isNoFault) return "aborted";
  return reply.kind === "failed" && reply.isReported ? "reported failure" : reply.kind;
}

/** Whether a reply says nothing about the node, since the caller may have chosen its words. */
const isHearsayReply = (reply: Reply): boolean =>
  (reply.kind === "refused" && reply.doubt !== undefined && reply.doubt !== "unknown") ||
  (reply.kind === "failed" && reply.isHearsay === true);

/** Whether a reply suggests that the node is gone, or has been replaced by another one. */
export const isSuspicious = (reply: Reply): boolean =>
  reply.kind === "timeout" || (reply.kind === "failed" && !reply.isReported);

/** Learns the node's methods and its budget from a reply. @param call.variant As in `AskOptions`. */
export function learnFrom(
  reply: Reply,
  call: { readonly variant: string; readonly sentAtMs: number },
  node: {
    readonly missing: Pick<MissingMethods, "found" | "remember">;
    readonly budget: Pick<RateBudget, "answered" | "limited">;
  },
): void {
  if (reply.kind === "result") node.missing.found(call.variant);
  if (reply.kind === "result" || (reply.kind === "refused" && !reply.doubt))
    node.budget.answered(call.sentAtMs);
  if (reply.kind === "busy" && reply.byWords !== "to a caller")
    node.budget.limited(reply.retryAfterMs, call.sentAtMs, reply.byWords ? "words" : "status");
  if (reply.kind === "missing" && !reply.isUnsure) node.missing.remember(call.variant);
}
