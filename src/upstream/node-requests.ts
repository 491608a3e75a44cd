// What one node is sent, and what it says to that: numbered, and counted.

import { findLongMembers } from "../jsonrpc/members.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryHolder } from "../lib/memory-budget.ts";
import type { Turns } from "../lib/turns.ts";
import { deadline, TOO_LATE } from "../lib/waiting.ts";
import type { Metrics, UpstreamRecord } from "../observe/metrics.ts";
import type {
  BodyReader,
  Connection,
  Exchange,
  NodeRequest,
  SubscriptionListener,
} from "./connection/connection.ts";
import { ENVELOPE, type Reply, readReply } from "./reply.ts";
import { requestJson } from "./request-json.ts";
import { subscriptionIdIn } from "./subscription-id.ts";

export type NodeCall = {
  readonly method: string;
  readonly paramsJson: string;
  /** See `NodeRequest`. */
  readonly isBatchable: boolean;
  readonly purpose: UpstreamRecord["purpose"];
  /** See `Connection.send`. */
  readonly reader?: BodyReader | undefined;
  /** Less than the connection has. */
  readonly timeoutMs?: number | undefined;
  /** See `NodeRequest`. */
  readonly maxBytes?: number | undefined;
  /** See `NodeRequest`. */
  readonly holder?: MemoryHolder | undefined;
};

export type NodeRequestReply = {
  readonly exchange: Exchange["kind"];
  readonly reply: Reply;
  /** By the clock's `now`. */
  readonly sentAtMs: number;
};

/** In bytes: a few milliseconds' reading. */
const LONG = 1 << 22;

export type NodeRequestsParts = {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly turns: Pick<Turns, "do">;
  readonly metrics: Pick<Metrics, "upstreamAnswered">;
  readonly connection: Connection;
};

type Sent = NodeRequest & Pick<NodeCall, "method" | "purpose"> & { readonly sentAtMs: number };

export class NodeRequests {
  #nextId = 0;
  readonly #options: { readonly network: string; readonly upstream: string };
  readonly #parts: NodeRequestsParts;

  constructor(options: { network: string; upstream: string }, parts: NodeRequestsParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Never rejects. */
  async send(wanted: NodeCall, signal: AbortSignal): Promise<NodeRequestReply> {
    const request = this.#request(wanted);
    const exchange = await this.#exchange(request, wanted, signal);
    if (isTooLong(exchange, wanted)) return this.#read({ kind: "too large" }, request);
    const isLong = exchange.kind === "answered" && exchange.body.length > LONG;
    return this.#read(isLong ? await this.#withMembers(exchange) : exchange, request);
  }

  /** What follows has not to look through all of it while others wait. */
  async #withMembers(exchange: Extract<Exchange, { kind: "answered" }>): Promise<Exchange> {
    const members = await this.#parts.turns.do(findLongMembers(exchange.body, ENVELOPE));
    return { ...exchange, members };
  }

  /** Whether the node can announce things at all. */
  get canSubscribe(): boolean {
    return this.#parts.connection.subscribe !== undefined;
  }

  /** @returns What it said, and whether a subscription is open; undefined when it cannot push. */
  async subscribe(
    paramsJson: string,
    listener: SubscriptionListener,
    signal: AbortSignal,
  ): Promise<{ readonly reply: Reply; readonly isOpen: boolean } | undefined> {
    const request = this.#request({
      ...{ method: "eth_subscribe", paramsJson, purpose: "follow", isBatchable: false },
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

  async #exchange(
    request: Sent,
    { reader, timeoutMs }: NodeCall,
    signal: AbortSignal,
  ): Promise<Exchange> {
    const { clock, connection } = this.#parts;
    if (timeoutMs === undefined) return connection.send(request, signal, reader);
    const limited = deadline(timeoutMs, signal, clock);
    const exchange = await connection.send(request, limited.signal, reader);
    limited.done();
    const isLate = exchange.kind === "aborted" && limited.signal.reason === TOO_LATE;
    return isLate ? { kind: "timeout" } : exchange;
  }

  #request({ method, paramsJson, purpose, maxBytes, holder, isBatchable }: NodeCall): Sent {
    this.#nextId += 1;
    const id = this.#nextId;
    const json = requestJson(id, method, paramsJson);
    const isForCaller = purpose === "call";
    const sentAtMs = this.#parts.clock.now();
    return { id, method, purpose, json, isBatchable, isForCaller, holder, maxBytes, sentAtMs };
  }

  #read(exchange: Exchange, { id, method, purpose, sentAtMs }: Sent): NodeRequestReply {
    const { clock, metrics } = this.#parts;
    const reply = readReply(exchange, id, method);
    metrics.upstreamAnswered({
      ...this.#options,
      ...{ kind: reply.kind, purpose },
      seconds: (clock.now() - sentAtMs) / 1000,
      bytes: exchange.kind === "answered" ? exchange.body.length : 0,
    });
    return { exchange: exchange.kind, reply, sentAtMs };
  }
}

/** Where it came as one message, or among others, its length was not looked at before. */
const isTooLong = (exchange: Exchange, { maxBytes }: NodeCall): boolean =>
  maxBytes !== undefined && exchange.kind === "answered" && exchange.body.length > maxBytes;
