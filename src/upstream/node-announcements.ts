// Subscriptions at an upstream: to its new heads, to pending transactions, and to other events.

import { isHash, numberIn } from "../evm/values.ts";
import { parsed } from "../jsonrpc/raw-json.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Family } from "../namespaces/known-method.ts";
import type { MissingMethods } from "./capabilities/capabilities.ts";
import type { SubscriptionListener } from "./connection/connection.ts";
import type { NodeRequests, NodeSubscription } from "./node-requests.ts";

type AnnouncedHead = { readonly number: number; readonly hash: string };

/** The number of a node's head, and its hash where that is known. */
export type NodeHead = { readonly number: number; readonly hash: string | undefined };

type HeadListener = { onHead(head: AnnouncedHead): void; onEnd(): void };
type PendingListener = { onHash(hash: string): void; onEnd(): void };

export type NodeAnnouncementsParts = {
  readonly requests: Pick<NodeRequests, "canSubscribe" | "subscribe">;
  /** Remembers which subscriptions the node refused. */
  readonly missing: Pick<MissingMethods, "has" | "remember">;
  /** Is called for each new head, before the listener. */
  readonly onHead: (head: AnnouncedHead) => void;
};

const NEW_HEADS = '["newHeads"]';
const NEW_PENDING = '["newPendingTransactions"]';

/** The name under which `MissingMethods` remembers that a node lacks this subscription, but perhaps not others. */
const subscribing = (paramsJson: string): string => `eth_subscribe ${paramsJson}`;

export class NodeAnnouncements {
  readonly #isEvm: boolean;
  readonly #parts: NodeAnnouncementsParts;

  constructor(options: { readonly family: Family }, parts: NodeAnnouncementsParts) {
    this.#isEvm = options.family === "evm";
    this.#parts = parts;
  }

  /** Whether the connection can push, and the node has not refused to push new heads. */
  get canSubscribe(): boolean {
    return this.#parts.requests.canSubscribe && this.#mayHave(NEW_HEADS);
  }

  /**
   * Passes on the new heads that the node announces, until its socket is lost (`onEnd`) or the signal aborts.
   * @returns false when the node pushes no heads; then the listener is never called.
   */
  watchHeads(listener: HeadListener, signal: Signal): Promise<boolean> {
    const onEvent = (event: Buffer): void => {
      const head = headIn(event);
      if (!head) return;
      this.#parts.onHead(head);
      listener.onHead(head);
    };
    return this.#subscribe(NEW_HEADS, { onEvent, onEnd: () => listener.onEnd() }, signal);
  }

  /** As `watchHeads`, for the hashes of pending transactions. */
  async watchPending(listener: PendingListener, signal: Signal): Promise<boolean> {
    if (!this.#mayHave(NEW_PENDING)) return false;
    const onEvent = (event: Buffer): void => {
      const hash = hashIn(event);
      if (hash !== undefined) listener.onHash(hash);
    };
    return this.#subscribe(NEW_PENDING, { onEvent, onEnd: () => listener.onEnd() }, signal);
  }

  /** As `watchHeads`, for the events of a subscription with these parameters. */
  async watch(
    paramsJson: string,
    listener: SubscriptionListener,
    signal: Signal,
  ): Promise<boolean> {
    const { requests } = this.#parts;
    return (await requests.subscribe(this.#of(paramsJson), listener, signal))?.isOpen === true;
  }

  #of(paramsJson: string): NodeSubscription {
    return { prefix: this.#isEvm ? "eth" : "cfx", paramsJson };
  }

  #mayHave(paramsJson: string): boolean {
    return this.#isEvm && !this.#parts.missing.has(subscribing(paramsJson));
  }

  /** Subscribes, and remembers a refusal. @returns false when the node opened no subscription. */
  async #subscribe(
    paramsJson: string,
    listener: SubscriptionListener,
    signal: Signal,
  ): Promise<boolean> {
    const { requests, missing } = this.#parts;
    const subscribed = await requests.subscribe(this.#of(paramsJson), listener, signal);
    if (!subscribed || subscribed.isOpen) return subscribed !== undefined;
    const { kind } = subscribed.reply;
    // A result that is no id is a refusal too: the node would push nothing.
    if (kind === "missing" || kind === "refused" || kind === "result")
      missing.remember(subscribing(paramsJson));
    return false;
  }
}

/** The head in an event; undefined when the event is no block header. */
function headIn(event: Buffer): AnnouncedHead | undefined {
  const header = parsed(event) as { number?: unknown; hash?: unknown } | null | undefined;
  const number = numberIn(header?.number);
  const { hash } = header ?? {};
  return number !== undefined && isHash(hash) ? { number, hash: hash.toLowerCase() } : undefined;
}

function hashIn(event: Buffer): string | undefined {
  const hash = parsed(event);
  return isHash(hash) ? hash.toLowerCase() : undefined;
}
