// Many calls at once over one socket of whatever kind, told apart by their ids; the socket is opened
// for the first call, and again after it was lost.

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

/** `open` may throw: then the wire is lost as it was made. */
type ConversationParts = {
  readonly clock: Pick<Clock, "after" | "now">;
  readonly open: (listener: WireListener) => Wire;
};

/** After a socket was lost, the next attempt waits; calls in between are told so at once. */
const FIRST_PAUSE_MS = 100;
/** Shorter than the pause between two checks, so that none of them comes too early. */
const LONGEST_PAUSE_MS = 400;

export class Conversation implements Connection {
  /** Calls whose answer has not come, by id. All of them were sent, or wait for the wire to open. */
  readonly #pending = new Map<number, { json: string; settle: (exchange: Exchange) => void }>();
  readonly #subscriptions = new Subscriptions({ say: (json) => this.#say(json) });
  #wire: Wire | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #mayConnectAt = 0;
  #isClosed = false;
  readonly #timeoutMs: number;
  readonly #parts: ConversationParts;

  constructor(options: { readonly timeoutMs: number }, parts: ConversationParts) {
    this.#timeoutMs = options.timeoutMs;
    this.#parts = parts;
  }

  /** @param reader Gets the whole message: a socket has nothing smaller. */
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

  /** @param onSettled Called at once with what the promise will give later. */
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

  /** The wire, a new one when it was lost; undefined while the pause after a loss lasts. */
  #connected(): Wire | undefined {
    // The node said goodbye, but the socket is not gone yet: nothing would be sent on it.
    if (this.#wire?.state() === "ending") this.#lose("connection closed");
    if (this.#wire || this.#isClosed || this.#parts.clock.now() < this.#mayConnectAt)
      return this.#wire;
    try {
      this.#wire = this.#open();
    } catch (error) {
      this.#lose(reasonOf(error)); // an address or a header that no socket can be opened with
    }
    return this.#wire;
  }

  #open(): Wire {
    // Not from one that was given up: its subscriptions may have the ids of the next one's.
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

/** One socket, from the attempt to open it on. */
export type Wire = {
  state(): "opening" | "open" | "ending";
  send(json: string): void;
  /** Ends it at once; may be called at any time, and again. */
  destroy(): void;
};

/** What a wire tells, never before it was returned. Nothing of one that was given up is heard. */
export type WireListener = {
  onOpen(): void;
  onMessage(body: Buffer): void;
  /** The answer to this call is longer than what is taken, and was not kept. */
  onTooLarge(callId: number): void;
  onLost(reason: string): void;
};

/** In bytes: a few milliseconds of work. */
const READ_AT_ONCE = 1 << 20;

/** Hands the answer to the reader piece by piece, with others' turns between. */
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

/** What the present socket of a conversation pushes to whom, and how that is ended at the node. */
class Subscriptions {
  /** By the node's subscription id, as JSON text. */
  readonly #open = new Map<string, { listener: SubscriptionListener; end: () => void }>();
  /** Subscribing calls that were given up: what a late answer still opens is closed at once. */
  readonly #forsaken = new Map<number, NodeRequest>();
  readonly #say: (json: string) => void;

  /** @param parts.say Sends to the node, best effort: one that does not hear it goes on, and nobody listens. */
  constructor(parts: { say: (json: string) => void }) {
    this.#say = parts.say;
  }

  /** To be told what became of each subscribing call, before anything that came behind it is read. */
  begin(
    { request, exchange }: { request: NodeRequest; exchange: Exchange },
    listener: SubscriptionListener,
    signal: Signal,
  ): void {
    const { id } = request;
    const subscription = subscriptionIdIn(exchange, id);
    if (subscription !== undefined) this.#listen({ subscription, request }, listener, signal);
    else if (exchange.kind === "aborted" || exchange.kind === "timeout")
      this.#forsaken.set(id, request);
  }

  #listen(
    { subscription, request }: { subscription: string; request: NodeRequest },
    listener: SubscriptionListener,
    signal: Signal,
  ): void {
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

  /** An answer that no call waits for. */
  takeLate(body: Buffer, id: number): void {
    const request = this.#forsaken.get(id);
    if (!request) return;
    this.#forsaken.delete(id);
    const subscription = subscriptionIdIn({ kind: "answered", status: 200, body }, id);
    if (subscription !== undefined) this.#unsubscribe(subscription, request);
  }

  /** A message that is no answer. */
  notify(body: Buffer): void {
    const [params] = findMembers(body, ["params"]) ?? [];
    const event = params && body.subarray(params.start, params.end);
    const [subscription, result] = (event && findMembers(event, ["subscription", "result"])) ?? [];
    if (!event || !subscription || !result) return;
    const listening = this.#open.get(textOf(event, subscription));
    listening?.listener.onEvent(event.subarray(result.start, result.end));
  }

  /** With the socket, all that it carried is gone. */
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
