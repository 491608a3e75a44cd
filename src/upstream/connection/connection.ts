// The type of a connection to one node, over any transport; and finds the id of the call that a message answers,
// without parsing the message.

import type { NetworkSettings, UpstreamSettings } from "../../config/schema.ts";
import { findMembers, type Span, textOf } from "../../jsonrpc/members.ts";
import type { Signal } from "../../lib/cancellation.ts";
import type { MemoryHolder } from "../../lib/memory-budget.ts";
import type { Turn } from "../node-turns.ts";

export type ConnectionOptions = Pick<
  UpstreamSettings,
  "url" | "headers" | "connections" | "timeoutMs" | "batch"
> &
  Partial<Pick<UpstreamSettings, "compression">> &
  Pick<NetworkSettings["limits"], "responseBytes">;

export type AnsweredExchange = Extract<Exchange, { kind: "answered" }>;

/** The outcome of a request. Reasons are plain words: never a URL, a header or a key. */
export type Exchange =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly body: Buffer;
      /** The spans of the members of `ENVELOPE` in the body; left out: nobody has looked for them yet. */
      readonly members?: readonly (Span | undefined)[] | undefined;
      /** The pause that the node asks for with `Retry-After`. */
      readonly retryAfterMs?: number | undefined;
    }
  | { readonly kind: "unreachable"; readonly reason: string }
  | { readonly kind: "timeout" }
  | { readonly kind: "too large" }
  /** The connection did not read the answer to its end: too many bytes wait in memory. */
  | { readonly kind: "crowded" }
  | { readonly kind: "aborted" };

/** The turn of the calls that may go as one request. */
export type SharedTurn = Pick<Turn, "group" | "calls" | "room">;

/** One JSON-RPC request: `json` is the whole envelope, `id` the id in it. */
export type NodeRequest = {
  readonly id: number;
  readonly json: string;
  /** Calls of the same turn may go as one request; left out: the call goes by itself. */
  readonly turn?: SharedTurn | undefined;
  /** The longest answer, in bytes, where this request takes less than the connection. */
  readonly maxBytes?: number | undefined;
  /** A caller waits for the answer: the connection may stop reading it while too many bytes wait in memory. */
  readonly isForCaller?: boolean | undefined;
  /** The key for which the answer's bytes count. */
  readonly holder?: MemoryHolder | undefined;
  /** Asking twice has no other effect than asking once, as in `MethodTraits`. */
  readonly isRepeatable?: boolean | undefined;
  /** Headers for HTTP beside those of the configuration: the position of the call in a trace. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The method that ends the subscription which the request opens; left out: `eth_unsubscribe`. */
  readonly unsubscribe?: string | undefined;
};

/** Reads a body while it arrives, where the body is too large to be held. */
export type BodyReader = {
  /** The reason why the reader stopped; left out: it has read enough. */
  readonly whenStopped?: "too large" | "crowded" | "malformed" | undefined;
  /** Is called before the first chunk; `bytes` is NaN when the node announces no length. @returns As `add`. */
  announce?(bytes: number): boolean;
  /** @returns false when the reader wants no more chunks. */
  add(chunk: Buffer): boolean;
  /** Returns the body for the exchange; undefined when the body was malformed or cut off. */
  finish(): Buffer | undefined;
};

export type SubscriptionListener = {
  onEvent(result: Buffer): void;
  /** Is called once, when the socket is lost or closed; not when the signal ended the subscription. */
  onEnd(): void;
};

export type Connection = {
  /**
   * Never rejects.
   *
   * @param reader Reads the answer over HTTP as it arrives: then its length has no limit, and the timeout runs between
   * two chunks. Over a socket the reader gets the whole message in pieces, within both limits.
   */
  send(request: NodeRequest, signal: Signal, reader?: BodyReader): Promise<Exchange>;
  /**
   * Sends a request that subscribes; left out where the node cannot push. The listener gets the `result` of each event
   * until the signal aborts, which ends the subscription at the node (best effort), or the socket ends. No connection
   * renews a subscription. Never rejects.
   *
   * @returns The outcome of the request; when it opened no subscription, the listener is never called. Events may come
   * before this resolves.
   */
  subscribe?(
    request: NodeRequest,
    listener: SubscriptionListener,
    signal: Signal,
  ): Promise<Exchange>;
  /** Ends all sockets; pending requests end as unreachable. */
  close(): Promise<void>;
};

/** The outcome of a request whose reader stopped. */
export function stopped({ whenStopped }: BodyReader): Exchange {
  if (whenStopped === "malformed") return { kind: "unreachable", reason: "malformed answer" };
  return { kind: whenStopped ?? "aborted" };
}

/** The code of a socket or TLS error, or the status of a refused handshake. The message may hold an address. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  const status = /^Unexpected server response: (\d{3})$/.exec(message ?? "")?.[1]; // of `ws`
  return code ?? (status ? `HTTP ${status}` : "connection failed");
}

/** The reasons with which a request fails when the node closes its socket while it reads or answers. */
const CUT_OFF: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

export const isCutOff = (reason: string): boolean => CUT_OFF.has(reason);

/** The number of bytes that hold a version and an id, at the start or the end of a message. */
export const NEAR_THE_EDGE = 64;

const FIRST = /^\s*\{\s*("jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*[,}]/;
/** A quote behind a comma or a brace opens a name, since within a string it would be escaped. */
const LAST = /[{,]\s*"id"\s*:\s*(\d+)\s*(,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}$/;

/** The id of the call that a message answers; undefined: the message has no id; NaN: no id that the gateway sends. */
export function idOf(body: Buffer): number | undefined {
  // Most nodes write the id first; only other messages are searched as a whole.
  const early = idNearStart(body);
  if (early !== undefined) return early;
  const [span] = findMembers(body, ["id"]) ?? [];
  return span && Number(textOf(body, span));
}

export function idNearStart(body: Buffer): number | undefined {
  const id = FIRST.exec(body.toString("latin1", 0, NEAR_THE_EDGE))?.[2];
  return id === undefined ? undefined : Number(id);
}

/** @param body The end of the message, or all of it. */
export function idNearEnd(body: Buffer): number | undefined {
  const from = Math.max(0, body.length - NEAR_THE_EDGE);
  const id = LAST.exec(body.toString("latin1", from))?.[1];
  return id === undefined ? undefined : Number(id);
}
