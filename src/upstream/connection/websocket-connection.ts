// Sends requests to a node over one WebSocket: a conversation with one frame a message.

import { type RawData, WebSocket } from "ws";
import type { Clock } from "../../lib/clock.ts";
import { PeriodicTimer } from "../../lib/waiting.ts";
import { type ConnectionOptions, reasonOf } from "./connection.ts";
import { Conversation, type Wire, type WireListener } from "./conversation.ts";
import { handshakeHeaders } from "./node-headers.ts";
import type { ArrivingMemory } from "./whole-body.ts";

const HANDSHAKE_TIMEOUT_MS = 5_000;
const PING_EVERY_MS = 15_000;

type WebSocketParts = {
  readonly clock: Pick<Clock, "after" | "now">;
  /** Counts the bytes of messages while they arrive. */
  readonly memory?: ArrivingMemory | undefined;
  readonly onReopened?: (() => void) | undefined;
};

export const webSocketConnection = (
  options: ConnectionOptions,
  parts: WebSocketParts,
): Conversation =>
  new Conversation(options, {
    clock: parts.clock,
    onReopened: parts.onReopened,
    open: (listener) => openWire(options, listener, parts),
  });

function openWire(
  options: ConnectionOptions,
  listener: WireListener,
  { clock, memory }: WebSocketParts,
): Wire {
  const socket = new WebSocket(options.url, {
    headers: handshakeHeaders(options),
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
  const arriving = new ArrivingFrames(options, { memory });
  // The bytes of the socket count before `ws` reads them.
  socket.on("upgrade", ({ socket: carrier }) =>
    carrier.on("data", (chunk: Buffer) => {
      if (!arriving.add(chunk.length)) listener.onLost("message too large");
    }),
  );
  for (const kind of ["ping", "pong"] as const)
    socket.on(kind, (data: Buffer) => arriving.control(data.length));
  socket.on("message", (body: RawData) => {
    arriving.message();
    listener.onMessage(body as Buffer);
  });
  socket.on("error", (error) => {
    reason = reasonOf(error);
  });
  socket.on("close", () => {
    arriving.end();
    listener.onLost(reason);
  });
  return {
    state: () => stateOf(socket),
    send: (json) => socket.send(json),
    destroy: () => {
      stopWatching();
      arriving.end();
      socket.terminate();
    },
  };
}

function stateOf({ readyState }: WebSocket): "opening" | "open" | "ending" {
  if (readyState === WebSocket.CONNECTING) return "opening";
  return readyState === WebSocket.OPEN ? "open" : "ending";
}

/** Calls `onSilent` when a pong is missing: the node may vanish without closing. @returns A function that stops it. */
function watch(socket: WebSocket, onSilent: () => void, clock: Pick<Clock, "after">): () => void {
  let isAlive = true;
  socket.on("pong", () => {
    isAlive = true;
  });
  const round = (): boolean => {
    const wasAlive = isAlive;
    isAlive = false;
    if (wasAlive) socket.ping();
    else onSilent();
    return wasAlive;
  };
  const timer = new PeriodicTimer({ clock, everyMs: () => PING_EVERY_MS, round });
  timer.begin();
  return () => timer.stop();
}

/** The length of the header of a server's control frame, in bytes. */
const HEADER = 2;
/** The bytes that may arrive beyond the longest message: frames have headers, and the next message may have begun. */
const SLACK = 1 << 20;

/** Counts the bytes of a WebSocket message while it arrives: `ws` holds them until the message is whole. */
class ArrivingFrames {
  /** The bytes since the last message. */
  #bytes = 0;
  /** Whether the socket has ended, so that `ws` holds no bytes any more. */
  #isOver = false;
  readonly #most: number;
  readonly #memory: ArrivingMemory | undefined;

  /** @param options.responseBytes The longest message that the connection takes. */
  constructor(
    { responseBytes }: { readonly responseBytes: number },
    { memory }: { readonly memory: ArrivingMemory | undefined },
  ) {
    this.#most = responseBytes + SLACK;
    this.#memory = memory;
  }

  /** @returns false when the bytes are more than any message may have, as of empty frames without end. */
  add(bytes: number): boolean {
    if (this.#isOver) return false;
    this.#bytes += bytes;
    this.#memory?.hold("arriving", bytes);
    return this.#bytes <= this.#most;
  }

  /** To be called for a ping or a pong, between messages or within one: `ws` does not hold its bytes. */
  control(dataBytes: number): void {
    this.#release(Math.min(this.#bytes, HEADER + dataBytes));
  }

  /** To be called when a message is whole: from now on its bytes are its reader's. */
  message(): void {
    this.#release(this.#bytes);
  }

  /** To be called when the socket is lost. */
  end(): void {
    this.message();
    this.#isOver = true;
  }

  #release(bytes: number): void {
    this.#bytes -= bytes;
    this.#memory?.release("arriving", bytes);
  }
}
