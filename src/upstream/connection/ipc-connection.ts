// Sends requests to a node on this machine over its Unix socket: a conversation of JSON values, one after the other.
import { connect as connectSocket, type Socket } from "node:net";
import { unescape as percentDecoded } from "node:querystring";
import { OPEN_BRACE, OPEN_BRACKET } from "../../jsonrpc/ascii.ts";
import { isSpace } from "../../jsonrpc/members.ts";
import { BROKEN, MORE, ValueScanner } from "../../jsonrpc/value-scanner.ts";
import type { Clock } from "../../lib/clock.ts";
import {
  type ConnectionOptions,
  idNearEnd,
  idNearStart,
  NEAR_THE_EDGE,
  reasonOf,
} from "./connection.ts";
import { Conversation, type Wire, type WireListener } from "./conversation.ts";
import { type ArrivingMemory, WholeBody } from "./whole-body.ts";

export const ipcConnection = (
  options: ConnectionOptions,
  {
    clock,
    memory,
    onReopened,
  }: {
    clock: Pick<Clock, "after" | "now">;
    memory?: ArrivingMemory | undefined;
    onReopened?: (() => void) | undefined;
  },
): Conversation =>
  new Conversation(options, {
    clock,
    onReopened,
    open: (listener) => openWire({ ...options, memory }, listener),
  });

function openWire(
  options: ConnectionOptions & { memory: ArrivingMemory | undefined },
  listener: WireListener,
): Wire {
  const socket = connectSocket({ path: pathOf(options.url) });
  let reason = "connection closed";
  const splitter = new MessageSplitter(options, {
    onMessage: (body) => listener.onMessage(body),
    onTooLarge: (callId) => {
      if (callId !== undefined) listener.onTooLarge(callId);
      // A call or a subscription would wait for this message in vain.
      else listener.onLost("message too large");
    },
  });
  socket.on("connect", () => listener.onOpen());
  socket.on("data", (chunk: Buffer) => {
    if (!splitter.add(chunk)) listener.onLost("malformed answer");
  });
  socket.on("error", (error) => {
    reason = reasonOf(error);
  });
  socket.on("close", () => {
    splitter.end();
    listener.onLost(reason);
  });
  return {
    state: () => stateOf(socket),
    send: (json) => socket.write(`${json}\n`),
    destroy: () => socket.destroy(),
  };
}

/** `ipc:///var/node.ipc` is an absolute path, `ipc:node.ipc` is relative to the working directory. */
function pathOf(url: string): string {
  const { host, pathname } = new URL(url);
  return percentDecoded(host + pathname);
}

function stateOf({ readyState }: Socket): "opening" | "open" | "ending" {
  return readyState === "opening" || readyState === "open" ? readyState : "ending";
}

type MessageListener = {
  onMessage(body: Buffer): void;
  /** A message was too long; `callId` is the id of the call that it answers, undefined when the id was not found. */
  onTooLarge(callId: number | undefined): void;
};

type SplitterOptions = {
  readonly responseBytes: number;
  /** Counts the bytes of messages while they arrive. */
  readonly memory?: ArrivingMemory | undefined;
};

/** Splits the bytes of a socket, JSON values with spaces at most between, into messages. Reads each byte once. */
export class MessageSplitter {
  readonly #value = new ValueScanner();
  /** The message that has begun and not ended. */
  #begun: BegunMessage | undefined;
  readonly #options: SplitterOptions;
  readonly #listener: MessageListener;

  constructor(options: SplitterOptions, listener: MessageListener) {
    this.#options = options;
    this.#listener = listener;
  }

  /** @returns false when the bytes are no JSON: then the socket is of no use any more. */
  add(chunk: Buffer): boolean {
    let at = 0;
    while (at >= 0 && at < chunk.length) at = this.#step(chunk, at);
    return at !== BROKEN;
  }

  /** To be called when no more bytes will come. */
  end(): void {
    this.#begun?.drop();
    this.#begun = undefined;
  }

  /** @returns The offset to go on from, MORE or BROKEN. */
  #step(chunk: Buffer, from: number): number {
    if (!this.#begun) {
      const byte = chunk[from] ?? 0;
      if (isSpace(byte)) return from + 1;
      if (byte !== OPEN_BRACE && byte !== OPEN_BRACKET) return BROKEN;
      this.#value.begin(byte);
    }
    const end = this.#value.scan(chunk, from);
    if (end === BROKEN) return BROKEN;
    const message = this.#begun ?? new BegunMessage(this.#options, this.#listener);
    message.add(chunk.subarray(from, end === MORE ? chunk.length : end));
    this.#begun = end === MORE ? message : undefined;
    if (end !== MORE) message.end();
    return end;
  }
}

/** A message as it arrives: held as a whole, or, of a message that is too large, only the ends that may have its id. */
class BegunMessage {
  /** The bytes of the message; undefined when it is too large. */
  #whole: WholeBody | undefined;
  #start: Buffer = Buffer.alloc(0);
  #end: Buffer = Buffer.alloc(0);
  #isReported = false;
  readonly #listener: MessageListener;

  constructor(options: SplitterOptions, listener: MessageListener) {
    this.#whole = new WholeBody(options, options.memory);
    this.#listener = listener;
  }

  add(piece: Buffer): void {
    if (this.#start.length < NEAR_THE_EDGE) this.#start = joined(this.#start, piece);
    this.#end = piece.length < NEAR_THE_EDGE ? joined(this.#end, piece) : piece;
    this.#end = this.#end.subarray(-NEAR_THE_EDGE);
    if (!this.#whole || this.#whole.add(piece)) return;
    this.drop();
    // The rest of the message may take long: the caller need not wait for it.
    const callId = idNearStart(this.#start);
    this.#isReported = callId !== undefined;
    if (this.#isReported) this.#listener.onTooLarge(callId);
  }

  drop(): void {
    this.#whole?.drop();
    this.#whole = undefined;
  }

  end(): void {
    if (this.#whole) this.#listener.onMessage(this.#whole.finish());
    else if (!this.#isReported) this.#listener.onTooLarge(idNearEnd(this.#end));
  }
}

/** Avoids a copy where there is nothing to join, which is nearly always. */
const joined = (before: Buffer, piece: Buffer): Buffer =>
  before.length === 0 ? piece : Buffer.concat([before, piece]);
