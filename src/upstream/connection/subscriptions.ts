// What the present socket of a conversation pushes to whom, and how that is ended at the node.
import { findMembers, textOf } from "../../jsonrpc/members.ts";
import { requestJson } from "../request-json.ts";
import { subscriptionIdIn } from "../subscription-id.ts";
import type { Exchange, SubscriptionListener } from "./connection.ts";

type Open = { readonly listener: SubscriptionListener; readonly end: () => void };

export class Subscriptions {
  /** By the node's subscription id, as JSON text. */
  readonly #open = new Map<string, Open>();
  /** Subscribing calls that were given up: what a late answer still opens is closed at once. */
  readonly #forsaken = new Set<number>();
  readonly #say: (json: string) => void;

  /** @param parts.say Sends to the node, best effort: one that does not hear it goes on, and nobody listens. */
  constructor(parts: { say: (json: string) => void }) {
    this.#say = parts.say;
  }

  /** To be told what became of each subscribing call, before anything that came behind it is read. */
  begin(
    { id, exchange }: { id: number; exchange: Exchange },
    listener: SubscriptionListener,
    signal: AbortSignal,
  ): void {
    const subscription = subscriptionIdIn(exchange, id);
    if (subscription !== undefined) this.#listen(subscription, listener, signal);
    else if (exchange.kind === "aborted" || exchange.kind === "timeout") this.#forsaken.add(id);
  }

  #listen(subscription: string, listener: SubscriptionListener, signal: AbortSignal): void {
    const cancel = (): void => {
      this.#open.delete(subscription);
      this.#unsubscribe(subscription);
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
    if (!this.#forsaken.delete(id)) return;
    const subscription = subscriptionIdIn({ kind: "answered", status: 200, body }, id);
    if (subscription !== undefined) this.#unsubscribe(subscription);
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

  #unsubscribe(subscription: string): void {
    this.#say(requestJson(0, "eth_unsubscribe", `[${subscription}]`)); // no call has the id 0
  }
}
