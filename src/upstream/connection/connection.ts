// What a connection to one node is, whatever it is made of; and which call a message answers, found without parsing it.

import type { NetworkSettings, UpstreamSettings } from "../../config/schema.ts";
import { findMembers, type Span, textOf } from "../../jsonrpc/members.ts";
import type { Signal } from "../../lib/cancellation.ts";
import type { MemoryHolder } from "../../lib/memory-budget.ts";
import type { Turn } from "../node-turns.ts";

export type ConnectionOptions = Pick<
  UpstreamSettings,
  "url" | "headers" | "connections" | "timeoutMs" | "batch"
> &
  Pick<NetworkSettings["limits"], "responseBytes">;

export type AnsweredExchange = Extract<Exchange, { kind: "answered" }>;

/** What became of a request. Reasons are plain words: never a URL, a header or a key. */
export type Exchange =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly body: Buffer;
      /** Where the members of a long body stand, when they were looked for already: see `ENVELOPE`. */
      readonly members?: readonly (Span | undefined)[] | undefined;
      /** How long the node wants to be left alone, by its `Retry-After`. */
      readonly retryAfterMs?: number | undefined;
    }
  | { readonly kind: "unreachable"; readonly reason: string }
  | { readonly kind: "timeout" }
  | { readonly kind: "too large" }
  /** It was not read to its end: too much waits in memory. */
  | { readonly kind: "crowded" }
  | { readonly kind: "aborted" };

/** What calls have in common that may go as one request: see `Turn`. */
export type SharedTurn = Pick<Turn, "group" | "calls" | "room">;

/** One JSON-RPC request: the whole envelope, and the number that is the `id` in it. */
export type NodeRequest = {
  readonly id: number;
  readonly json: string;
  /** It may be sent with others that have the same; left out: it goes by itself. */
  readonly turn?: SharedTurn | undefined;
  /** The longest answer that is taken to this one, in bytes, where that is less than the connection takes. */
  readonly maxBytes?: number | undefined;
  /** Its answer need not be read to its end while too much waits in memory. */
  readonly isForCaller?: boolean | undefined;
  /** The key that it is asked for. */
  readonly holder?: MemoryHolder | undefined;
  /** Over HTTP, sent beside those of the configuration: where the call stands in a trace. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The method that ends the subscription which it opens; left out: `eth_unsubscribe`. */
  readonly unsubscribe?: string | undefined;
};

/** Reads a body while it comes, where it is too large to be held. */
export type BodyReader = {
  /** Why no more is wanted; left out: it has what it wants. */
  readonly whenStopped?: "too large" | "crowded" | "malformed" | undefined;
  /** Told before the first chunk; NaN when the node does not say. @returns as `add`. */
  announce?(bytes: number): boolean;
  /** @returns false when no more is wanted. */
  add(chunk: Buffer): boolean;
  /** What stands for the body in the exchange; undefined when it was malformed or cut off. */
  finish(): Buffer | undefined;
};

export type SubscriptionListener = {
  onEvent(result: Buffer): void;
  /** The socket is lost or closed: nothing more will come. Called once; not when the signal ended it. */
  onEnd(): void;
};

export type Connection = {
  /**
   * Never rejects.
   *
   * @param reader For this answer: then its length is not limited, and its time only by how long the
   * node is silent.
   */
  send(request: NodeRequest, signal: Signal, reader?: BodyReader): Promise<Exchange>;
  /**
   * Only where the node can push: a request that subscribes, and the `result` of each event from then
   * on, until the signal aborts (which tells the node, best effort) or the socket ends. Not renewed by
   * itself. Never rejects.
   *
   * @returns What became of the request; when it opened no subscription, the listener is never called.
   * Events may come before this resolves.
   */
  subscribe?(
    request: NodeRequest,
    listener: SubscriptionListener,
    signal: Signal,
  ): Promise<Exchange>;
  /** Ends all sockets; what was pending becomes unreachable. */
  close(): Promise<void>;
};

/** What became of a request whose reader wanted no more. */
export function stopped({ whenStopped }: BodyReader): Exchange {
  if (whenStopped === "malformed") return { kind: "unreachable", reason: "malformed answer" };
  return { kind: whenStopped ?? "aborted" };
}

/** The code of a socket's or TLS error is all that is told of it: its message may hold an address. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  const status = /^Unexpected server response: (\d{3})$/.exec(message ?? "")?.[1]; // a refused handshake
  return code ?? (status ? `HTTP ${status}` : "connection failed");
}

/** In bytes: enough for a version and an id. */
export const NEAR_THE_EDGE = 64;

const FIRST = /^\s*\{\s*("jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*[,}]/;
/** A quote behind a comma or a brace opens a name: within a string it would be escaped. */
const LAST = /[{,]\s*"id"\s*:\s*(\d+)\s*(,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}$/;

/** undefined when it answers none; NaN when the id is none of ours. */
export function idOf(body: Buffer): number | undefined {
  // Most nodes write the id first; only for the others the whole message is searched.
  const early = idNearStart(body);
  if (early !== undefined) return early;
  const [span] = findMembers(body, ["id"]) ?? [];
  return span && Number(textOf(body, span));
}

export function idNearStart(body: Buffer): number | undefined {
  const id = FIRST.exec(body.toString("latin1", 0, NEAR_THE_EDGE))?.[2];
  return id === undefined ? undefined : Number(id);
}

/** @param body Ends where the message ends. */
export function idNearEnd(body: Buffer): number | undefined {
  const from = Math.max(0, body.length - NEAR_THE_EDGE);
  const id = LAST.exec(body.toString("latin1", from))?.[1];
  return id === undefined ? undefined : Number(id);
}
