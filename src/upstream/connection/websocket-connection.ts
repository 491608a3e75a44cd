// Speaks to a node over one WebSocket: many calls at once, told apart by their ids; reconnects.
import { type RawData, WebSocket } from "ws";
import { findMembers, textOf } from "../../jsonrpc/members.ts";
import type { Clock } from "../../lib/clock.ts";
import { requestJson } from "../request-json.ts";
import { subscriptionIdIn } from "../subscription-id.ts";
import {
  type BodyReader,
  type Connection,
  type ConnectionOptions,
  type Exchange,
  reasonOf,
  type SubscriptionListener,
  stopped,
} from "./connection.ts";

const HANDSHAKE_TIMEOUT_MS = 5_000;
const PING_EVERY_MS = 15_000;
/** After a socket was lost, the next attempt waits; calls in between are told so at once. */
const FIRST_PAUSE_MS = 100;
/** Shorter than the pause between two checks, so that none of them comes too early. */
const LONGEST_PAUSE_MS = 400;

export class WebSocketConnection implements Connection {
  /** Calls whose answer has not come, by id. All of them were sent, or wait for the socket to open. */
  readonly #pending = new Map<number, { json: string; settle: (exchange: Exchange) => void }>();
  /** What the present socket pushes to whom, by the node's subscription id (as JSON text). */
  readonly #subscriptions = new Map<string, { listener: SubscriptionListener; end: () => void }>();
  /** Subscribing calls that were given up: what a late answer still opens is closed at once. */
  readonly #forsaken = new Set<number>();
  #socket: WebSocket | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #mayConnectAt = 0;
  #isClosed = false;
  #stopWatching: () => void = () => undefined;
  readonly #options: ConnectionOptions;
  readonly #clock: Pick<Clock, "after" | "now">;

  constructor(options: ConnectionOptions, parts: { clock: Pick<Clock, "after" | "now"> }) {
    this.#options = options;
    this.#clock = parts.clock;
  }

  /** @param reader Gets the whole message: a socket has nothing smaller. */
  send(
    request: { id: number; json: string },
    signal: AbortSignal,
    reader?: BodyReader,
  ): Promise<Exchange> {
    const sent = this.#send(request, signal);
    return reader ? sent.then((exchange) => this.#readBy(reader, exchange)) : sent;
  }

  async #readBy(reader: BodyReader, exchange: Exchange): Promise<Exchange> {
    if (exchange.kind !== "answered") return exchange;
    for (let at = 0; at < exchange.body.length; at += READ_AT_ONCE) {
      if (!reader.add(exchange.body.subarray(at, at + READ_AT_ONCE))) return stopped(reader);
      await new Promise<void>((resolve) => this.#clock.after(0, resolve)); // others' turn
    }
    return { ...exchange, body: reader.finish() ?? Buffer.alloc(0) };
  }

  /** @param onSettled Called at once with what the promise will give later. */
  #send(
    { id, json }: { id: number; json: string },
    signal: AbortSignal,
    onSettled?: (exchange: Exchange) => void,
  ): Promise<Exchange> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve({ kind: "aborted" });
      const socket = this.#connected();
      if (!socket) return resolve({ kind: "unreachable", reason: "waiting to reconnect" });
      const onAbort = (): void => settle({ kind: "aborted" });
      const cancelTimeout = this.#clock.after(this.#options.timeoutMs, () =>
        settle({ kind: "timeout" }),
      );
      const settle = (exchange: Exchange): void => {
        if (!this.#pending.delete(id)) return;
        cancelTimeout();
        signal.removeEventListener("abort", onAbort);
        onSettled?.(exchange);
        resolve(exchange);
      };
      this.#pending.set(id, { json, settle });
      signal.addEventListener("abort", onAbort, { once: true });
      if (socket.readyState === WebSocket.OPEN) socket.send(json);
    });
  }

  subscribe(
    request: { id: number; json: string },
    listener: SubscriptionListener,
    signal: AbortSignal,
  ): Promise<Exchange> {
    return this.#send(request, signal, (exchange) => {
      const subscription = subscriptionIdIn(exchange, request.id);
      // The first event may be in the same packet as the answer: it is read right after this.
      if (subscription !== undefined) this.#listen(subscription, listener, signal);
      else if (exchange.kind === "aborted" || exchange.kind === "timeout")
        this.#forsaken.add(request.id);
    });
  }

  #listen(subscription: string, listener: SubscriptionListener, signal: AbortSignal): void {
    const cancel = (): void => {
      this.#subscriptions.delete(subscription);
      this.#unsubscribe(subscription);
    };
    signal.addEventListener("abort", cancel, { once: true });
    const end = (): void => {
      signal.removeEventListener("abort", cancel);
      listener.onEnd();
    };
    this.#subscriptions.set(subscription, { listener, end });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#socket) this.#drop(this.#socket, "closed");
  }

  /** The socket, a new one when it was lost; undefined while the pause after a loss lasts. */
  #connected(): WebSocket | undefined {
    // The node said goodbye, but the socket is not gone yet: nothing would be sent on it.
    if (this.#socket?.readyState === WebSocket.CLOSING)
      this.#drop(this.#socket, "connection closed");
    if (this.#socket || this.#isClosed || this.#clock.now() < this.#mayConnectAt)
      return this.#socket;
    try {
      this.#socket = this.#open();
    } catch (error) {
      this.#lose(reasonOf(error)); // a URL or a header that no socket can be opened with
    }
    return this.#socket;
  }

  #open(): WebSocket {
    const socket = new WebSocket(this.#options.url, {
      headers: { ...this.#options.headers },
      handshakeTimeout: Math.min(HANDSHAKE_TIMEOUT_MS, this.#options.timeoutMs),
      maxPayload: this.#options.responseBytes,
      perMessageDeflate: false,
    });
    let reason = "connection closed";
    socket.on("open", () => {
      this.#pauseMs = FIRST_PAUSE_MS;
      for (const { json } of this.#pending.values()) socket.send(json);
      this.#watch(socket);
    });
    socket.on("message", (data: RawData) => {
      // Not from one that was given up: its subscriptions may have the ids of the next one's.
      if (this.#socket === socket) this.#receive(data as Buffer);
    });
    socket.on("error", (error) => {
      reason = reasonOf(error);
    });
    socket.on("close", () => {
      if (this.#socket === socket) this.#lose(reason);
    });
    return socket;
  }

  /** A peer that vanished without a word is noticed by its missing pong. */
  #watch(socket: WebSocket): void {
    let isAlive = true;
    socket.on("pong", () => {
      isAlive = true;
    });
    const beat = (): void => {
      if (!isAlive) {
        this.#drop(socket, "no sign of life");
        return;
      }
      isAlive = false;
      socket.ping();
      this.#stopWatching = this.#clock.after(PING_EVERY_MS, beat);
    };
    this.#stopWatching = this.#clock.after(PING_EVERY_MS, beat);
  }

  #receive(body: Buffer): void {
    const id = idOf(body);
    const call = id === undefined ? undefined : this.#pending.get(id);
    if (call) call.settle({ kind: "answered", status: 200, body });
    else if (id === undefined) this.#notify(body);
    else if (this.#forsaken.delete(id)) this.#giveBack(body, id);
    // else: an answer that nobody waits for any more
  }

  #giveBack(body: Buffer, id: number): void {
    const subscription = subscriptionIdIn({ kind: "answered", status: 200, body }, id);
    if (subscription !== undefined) this.#unsubscribe(subscription);
  }

  #notify(body: Buffer): void {
    const [params] = findMembers(body, ["params"]) ?? [];
    const event = params && body.subarray(params.start, params.end);
    const [subscription, result] = (event && findMembers(event, ["subscription", "result"])) ?? [];
    if (!event || !subscription || !result) return;
    const listening = this.#subscriptions.get(textOf(event, subscription));
    listening?.listener.onEvent(event.subarray(result.start, result.end));
  }

  /** Best effort: a node that does not hear it goes on until the socket ends, and nobody listens. */
  #unsubscribe(subscription: string): void {
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#socket.send(requestJson(0, "eth_unsubscribe", `[${subscription}]`)); // no call has the id 0
  }

  #drop(socket: WebSocket, reason: string): void {
    this.#lose(reason);
    socket.terminate();
  }

  #lose(reason: string): void {
    this.#stopWatching();
    this.#socket = undefined;
    this.#mayConnectAt = this.#clock.now() + this.#pauseMs;
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
    for (const { settle } of [...this.#pending.values()]) settle({ kind: "unreachable", reason });
    const ended = [...this.#subscriptions.values()];
    this.#subscriptions.clear();
    this.#forsaken.clear();
    for (const { end } of ended) end();
  }
}

const NEAR_THE_START = 64;
/** In bytes: a few milliseconds of work. */
const READ_AT_ONCE = 1 << 20;

/** Most nodes write the id first; only for the others the whole message is searched. */
function idOf(body: Buffer): number | undefined {
  const start = body.toString("latin1", 0, NEAR_THE_START);
  const early = /^\s*\{\s*("jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*[,}]/.exec(start);
  if (early) return Number(early[2]);
  const [span] = findMembers(body, ["id"]) ?? [];
  return span && Number(textOf(body, span));
}
