// Many calls at once over one socket of whatever kind, told apart by their ids; the socket is opened
// for the first call, and again after it was lost.
import type { Clock } from "../../lib/clock.ts";
import {
  type BodyReader,
  type Connection,
  type Exchange,
  type NodeRequest,
  reasonOf,
  type SubscriptionListener,
} from "./connection.ts";
import { idOf } from "./message-id.ts";
import { readHeld } from "./read-held.ts";
import { Subscriptions } from "./subscriptions.ts";
import type { Wire, WireListener } from "./wire.ts";

/** `open` may throw: then the wire is lost as it was made. */
type ConversationParts = {
  readonly clock: Pick<Clock, "after" | "now">;
  readonly open: (listener: WireListener) => Wire;
};
type Call = { readonly json: string; readonly settle: (exchange: Exchange) => void };

/** After a socket was lost, the next attempt waits; calls in between are told so at once. */
const FIRST_PAUSE_MS = 100;
/** Shorter than the pause between two checks, so that none of them comes too early. */
const LONGEST_PAUSE_MS = 400;

export class Conversation implements Connection {
  /** Calls whose answer has not come, by id. All of them were sent, or wait for the wire to open. */
  readonly #pending = new Map<number, Call>();
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
  send(request: NodeRequest, signal: AbortSignal, reader?: BodyReader): Promise<Exchange> {
    const sent = this.#send(request, signal);
    return reader ? sent.then((held) => readHeld(held, reader, this.#parts.clock)) : sent;
  }

  subscribe(
    request: NodeRequest,
    listener: SubscriptionListener,
    signal: AbortSignal,
  ): Promise<Exchange> {
    return this.#send(request, signal, (exchange) =>
      this.#subscriptions.begin({ id: request.id, exchange }, listener, signal),
    );
  }

  /** @param onSettled Called at once with what the promise will give later. */
  #send(
    { id, json }: NodeRequest,
    signal: AbortSignal,
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
      <Told extends unknown[]>(act: (...told: Told) => void) =>
      (...told: Told): void => {
        if (this.#wire === wire) act(...told);
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
