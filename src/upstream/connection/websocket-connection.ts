// Speaks to a node over one WebSocket: a conversation whose messages are frames.
import { type RawData, WebSocket } from "ws";
import type { Clock } from "../../lib/clock.ts";
import {
  type BodyReader,
  type Connection,
  type ConnectionOptions,
  type Exchange,
  type NodeRequest,
  reasonOf,
  type SubscriptionListener,
} from "./connection.ts";
import { Conversation } from "./conversation.ts";
import type { Wire, WireListener } from "./wire.ts";

const HANDSHAKE_TIMEOUT_MS = 5_000;
const PING_EVERY_MS = 15_000;

export class WebSocketConnection implements Connection {
  readonly #conversation: Conversation;

  constructor(options: ConnectionOptions, { clock }: { clock: Pick<Clock, "after" | "now"> }) {
    const open = (listener: WireListener): Wire => openWire(options, listener, clock);
    this.#conversation = new Conversation(options, { clock, open });
  }

  /** @param reader Gets the whole message. */
  send(request: NodeRequest, signal: AbortSignal, reader?: BodyReader): Promise<Exchange> {
    return this.#conversation.send(request, signal, reader);
  }

  subscribe(
    request: NodeRequest,
    listener: SubscriptionListener,
    signal: AbortSignal,
  ): Promise<Exchange> {
    return this.#conversation.subscribe(request, listener, signal);
  }

  close(): Promise<void> {
    return this.#conversation.close();
  }
}

function openWire(
  options: ConnectionOptions,
  listener: WireListener,
  clock: Pick<Clock, "after">,
): Wire {
  const socket = new WebSocket(options.url, {
    headers: { ...options.headers },
    handshakeTimeout: Math.min(HANDSHAKE_TIMEOUT_MS, options.timeoutMs),
    maxPayload: options.responseBytes,
    perMessageDeflate: false,
  });
  let reason = "connection closed";
  let stopWatching = (): void => undefined;
  socket.on("open", () => {
    listener.onOpen();
    stopWatching = watch(socket, () => listener.onLost("no sign of life"), clock);
  });
  socket.on("message", (body: RawData) => listener.onMessage(body as Buffer));
  socket.on("error", (error) => {
    reason = reasonOf(error);
  });
  socket.on("close", () => listener.onLost(reason));
  return {
    state: () => stateOf(socket),
    send: (json) => socket.send(json),
    destroy: () => {
      stopWatching();
      socket.terminate();
    },
  };
}

function stateOf({ readyState }: WebSocket): "opening" | "open" | "ending" {
  if (readyState === WebSocket.CONNECTING) return "opening";
  return readyState === WebSocket.OPEN ? "open" : "ending";
}

/** A peer that vanished without a word is noticed by its missing pong. Returns how to stop. */
function watch(socket: WebSocket, onSilent: () => void, clock: Pick<Clock, "after">): () => void {
  let isAlive = true;
  socket.on("pong", () => {
    isAlive = true;
  });
  const beat = (): void => {
    if (!isAlive) {
      onSilent();
      return;
    }
    isAlive = false;
    socket.ping();
    cancel = clock.after(PING_EVERY_MS, beat);
  };
  let cancel = clock.after(PING_EVERY_MS, beat);
  return () => cancel();
}
