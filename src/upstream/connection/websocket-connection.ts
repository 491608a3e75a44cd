// Speaks to a node over one WebSocket: a conversation whose messages are frames.

import { type RawData, WebSocket } from "ws";
import type { Clock } from "../../lib/clock.ts";
import { Rounds } from "../../lib/waiting.ts";
import { type ConnectionOptions, reasonOf } from "./connection.ts";
import { Conversation, type Wire, type WireListener } from "./conversation.ts";
import type { ArrivingMemory } from "./http-connection.ts";

const HANDSHAKE_TIMEOUT_MS = 5_000;
const PING_EVERY_MS = 15_000;

type WebSocketParts = {
  readonly clock: Pick<Clock, "after" | "now">;
  /** Where what comes is counted. */
  readonly memory?: ArrivingMemory | undefined;
};

export const webSocketConnection = (
  options: ConnectionOptions,
  parts: WebSocketParts,
): Conversation =>
  new Conversation(options, {
    clock: parts.clock,
    open: (listener) => openWire(options, listener, parts),
  });

function openWire(
  options: ConnectionOptions,
  listener: WireListener,
  { clock, memory }: WebSocketParts,
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
  const arriving = new ArrivingFrames(options, { memory });
  // What the socket carries is counted before it is looked at.
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

/** A peer that vanished without a word is noticed by its missing pong. Returns how to stop. */
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
  const rounds = new Rounds({ clock, everyMs: () => PING_EVERY_MS, round });
  rounds.begin();
  return () => rounds.stop();
}

/** Of a control frame of a server, in bytes. */
const HEADER = 2;
/** Beyond the longest message, in bytes: frames have headers, and the next message may have begun. */
const SLACK = 1 << 20;

/** Counts the bytes of a WebSocket message while it comes: `ws` keeps them, and hands them over when they are whole. */
class ArrivingFrames {
  /** Since the last message. */
  #bytes = 0;
  /** Nothing is kept any more. */
  #isOver = false;
  readonly #most: number;
  readonly #memory: ArrivingMemory | undefined;

  /** @param options.responseBytes The longest message that is taken. */
  constructor(
    { responseBytes }: { readonly responseBytes: number },
    { memory }: { readonly memory: ArrivingMemory | undefined },
  ) {
    this.#most = responseBytes + SLACK;
    this.#memory = memory;
  }

  /** @returns false when it is no message that could be taken: empty frames without end, for example. */
  add(bytes: number): boolean {
    if (this.#isOver) return false;
    this.#bytes += bytes;
    this.#memory?.hold("arriving", bytes);
    return this.#bytes <= this.#most;
  }

  /** A ping or a pong came, between messages or within one: it is kept by nobody. */
  control(dataBytes: number): void {
    this.#release(Math.min(this.#bytes, HEADER + dataBytes));
  }

  /** A message is whole, and its reader's. */
  message(): void {
    this.#release(this.#bytes);
  }

  /** The socket is of no use any more. */
  end(): void {
    this.message();
    this.#isOver = true;
  }

  #release(bytes: number): void {
    this.#bytes -= bytes;
    this.#memory?.release("arriving", bytes);
  }
}
