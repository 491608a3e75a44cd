// Many calls at once over one socket of any kind; their ids tell the answers apart. The first call opens the socket,
// and the first call after a loss opens a new one.

import { findMembers, textOf } from "../../jsonrpc/members.ts";
import type { Signal } from "../../lib/cancellation.ts";
import type { Clock } from "../../lib/clock.ts";
import { requestJson, subscriptionIdIn } from "../reply.ts";
import {
  type BodyReader,
  type Connection,
  type Exchange,
  idOf,
  type NodeRequest,
  reasonOf,
  type SubscriptionListener,
  stopped,
} from "./connection.ts";

/** `open` may throw: then the wire counts as lost. */
type ConversationParts = {
  readonly clock: Pick<Clock, "after" | "now">;
  readonly open: (listener: WireListener) => Wire;
  /** A callback: a socket is open again after a loss. Behind it may be another node. */
  readonly onReopened?: (() => void) | undefined;
};

/** The pause between the loss of a socket and the next attempt to open one; calls in between fail at once. */
const FIRST_PAUSE_MS = 100;
/** Shorter than the pause between two identity checks, so that a check never comes too early. */
const LONGEST_PAUSE_MS = 400;

export class Conversation implements Connection {
  /** Calls whose answer has not come, by id: they were sent, or wait for the wire to open. */
  readonly #pending = new Map<number, { json: string; settle: (exchange: Exchange) => void }>();
  readonly #subscriptions = new Subscriptions({ say: (json) => this.#say(json) });
  #wire: Wire | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #mayConnectAt = 0;
  #wasOpen = false;
  #isClosed = false;
  readonly #timeoutMs: number;
  readonly #parts: ConversationParts;

  constructor(options: { readonly timeoutMs: number }, parts: ConversationParts) {
    this.#timeoutMs = options.timeoutMs;
    this.#parts = parts;
  }

  /** @param reader Gets the message once it is whole. */
  send(request: NodeRequest, signal: Signal, reader?: BodyReader): Promise<Exchange> {
    const sent = this.#send(request, signal);
    return reader ? sent.then((held) => readHeld(held, reader, this.#parts.clock)) : sent;
  }

  subscribe(
    request: NodeRequest,
    listener: SubscriptionListener,
    signal: Signal,
  ): Promise<Exchange> {
    return this.#send(request, signal, (exchange) =>
      this.#subscriptions.begin({ request, exchange }, listener, signal),
    );
  }

  /** @param onSettled Is called with the exchange before the promise resolves. */
  #send(
    { id, json }: NodeRequest,
    signal: Signal,
    onSettled?: (exchange: Exchange) => void,
  ): Promise<Exchange> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve({ kind: "aborted" });
      const wire = this.#connected();
      if (!wire) return resolve({ kind: "unreachable", reason: "waiting to reconnect" });
      const onAbort = (): void => settle({ kind: "aborted" });
      const cancelTimeout = this.#parts.clock.after(this.#timeoutMs, () =>
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
      if (wire.state() === "open") wire.send(json);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#lose("closed");
  }

  /** The wire, a new one after a loss; undefined during the pause after a loss. */
  #connected(): Wire | undefined {
    // The node has closed the conversation, but the socket has not ended yet: it would send nothing.
    if (this.#wire?.state() === "ending") this.#lose("connection closed");
    if (this.#wire || this.#isClosed || this.#parts.clock.now() < this.#mayConnectAt)
      return this.#wire;
    try {
      this.#wire = this.#open();
    } catch (error) {
      this.#lose(reasonOf(error)); // no socket takes this address or header
    }
    return this.#wire;
  }

  #open(): Wire {
    // Ignores a wire that was given up: its subscriptions may have the same ids as those of the next wire.
    const heard =
      <Values extends unknown[]>(act: (...values: Values) => void) =>
      (...values: Values): void => {
        if (this.#wire === wire) act(...values);
      };
    const wire: Wire = this.#parts.open({
      onOpen: heard(() => this.#begin(wire)),
      onMessage: heard((body: Buffer) => this.#receive(body)),
      onTooLarge: heard((id: number) => this.#pending.get(id)?.settle({ kind: "too large" })),
      onLost: heard((reason: string) => this.#lose(reason)),
    });
    return wire;
  }

  #begin(wire: Wire): void {
    this.#pauseMs = FIRST_PAUSE_MS;
    for (const { json } of this.#pending.values()) wire.send(json);
    if (this.#wasOpen) this.#parts.onReopened?.();
    this.#wasOpen = true;
  }

  #receive(body: Buffer): void {
    const id = idOf(body);
    const call = id === undefined ? undefined : this.#pending.get(id);
    if (call) call.settle({ kind: "answered", status: 200, body });
    else if (id === undefined) this.#subscriptions.notify(body);
    else this.#subscriptions.takeLate(body, id);
  }

  #say(json: string): void {
    if (this.#wire?.state() === "open") this.#wire.send(json);
  }

  #lose(reason: string): void {
    const wire = this.#wire;
    this.#wire = undefined;
    this.#mayConnectAt = this.#parts.clock.now() + this.#pauseMs;
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
    for (const call of [...this.#pending.values()]) call.settle({ kind: "unreachable", reason });
    this.#subscriptions.endAll();
    wire?.destroy();
  }
}

/** One socket, from the attempt to open it. */
export type Wire = {
  state(): "opening" | "open" | "ending";
  send(json: string): void;
  /** Ends the socket at once; may be called at any time, and again. */
  destroy(): void;
};

/** The events of a wire, never before `open` has returned it. The conversation ignores those of a wire given up. */
export type WireListener = {
  onOpen(): void;
  onMessage(body: Buffer): void;
  /** The answer to this call is longer than the connection takes, and was dropped. */
  onTooLarge(callId: number): void;
  onLost(reason: string): void;
};

/** The bytes that a reader gets at once, in a few milliseconds of work. */
const READ_AT_ONCE = 1 << 20;

/** Gives the answer to the reader in pieces, each in a turn of the event loop of its own. */
async function readHeld(
  exchange: Exchange,
  reader: BodyReader,
  clock: Pick<Clock, "after">,
): Promise<Exchange> {
  if (exchange.kind !== "answered") return exchange;
  for (let at = 0; at < exchange.body.length; at += READ_AT_ONCE) {
    if (!reader.add(exchange.body.subarray(at, at + READ_AT_ONCE))) return stopped(reader);
    await new Promise<void>((resolve) => clock.after(0, resolve));
  }
  return { ...exchange, body: reader.finish() ?? Buffer.alloc(0) };
}

/** The subscriptions over the present socket of a conversation: passes events to their listeners, and unsubscribes. */
class Subscriptions {
  /** The open subscriptions, by the node's subscription id as JSON text. */
  readonly #open = new Map<string, { listener: SubscriptionListener; end: () => void }>();
  /** Subscribing calls that were given up, by id: when a late answer opens a subscription, it is ended at once. */
  readonly #forsaken = new Map<number, NodeRequest>();
  readonly #say: (json: string) => void;

  /** @param parts.say Sends to the node, best effort: a subscription that goes on all the same has no listener. */
  constructor(parts: { say: (json: string) => void }) {
    this.#say = parts.say;
  }

  /** To be called with the outcome of each subscribing call, before the next message of the socket is read. */
  begin(
    { request, exchange }: { request: NodeRequest; exchange: Exchange },
    listener: SubscriptionListener,
    signal: Signal,
  ): void {
    const subscription = subscriptionIdIn(exchange, request.id);
    const isForsaken = exchange.kind === "aborted" || exchange.kind === "timeout";
    if (isForsaken) this.#forsaken.set(request.id, request);
    if (subscription === undefined) return;
    const cancel = (): void => {
      this.#open.delete(subscription);
      this.#unsubscribe(subscription, request);
    };
    signal.addEventListener("abort", cancel, { once: true });
    const end = (): void => {
      signal.removeEventListener("abort", cancel);
      listener.onEnd();
    };
    this.#open.set(subscription, { listener, end });
  }

  /** Takes an answer that no call waits for. */
  takeLate(body: Buffer, id: number): void {
    const request = this.#forsaken.get(id);
    if (!request) return;
    this.#forsaken.delete(id);
    const subscription = subscriptionIdIn({ kind: "answered", status: 200, body }, id);
    if (subscription !== undefined) this.#unsubscribe(subscription, request);
  }

  /** Takes a message that is no answer. */
  notify(body: Buffer): void {
    const [params] = findMembers(body, ["params"]) ?? [];
    const event = params && body.subarray(params.start, params.end);
    const [subscription, result] = (event && findMembers(event, ["subscription", "result"])) ?? [];
    if (!event || !subscription || !result) return;
    const listening = this.#open.get(textOf(event, subscription));
    listening?.listener.onEvent(event.subarray(result.start, result.end));
  }

  /** To be called when the socket is lost: all its subscriptions end. */
  endAll(): void {
    const ended = [...this.#open.values()];
    this.#open.clear();
    this.#forsaken.clear();
    for (const { end } of ended) end();
  }

  #unsubscribe(subscription: string, { unsubscribe = "eth_unsubscribe" }: NodeRequest): void {
    this.#say(requestJson(0, unsubscribe, `[${subscription}]`)); // no call has the id 0
  }
}
