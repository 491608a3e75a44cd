// A message of a WebSocket that is not whole yet: what has come of it waits in memory, and counts.
import type { RequestScope } from "../calls/caller.ts";
import type { Clock } from "../lib/clock.ts";

export type ArrivingMessageParts = {
  /** A WebSocket of `ws`. */
  readonly socket: object;
  /** Counts what waits, until the socket ends. */
  readonly scope: Pick<RequestScope, "hold" | "end">;
  /** Whether anything may be begun for the socket's key. */
  readonly hasRoom: () => boolean;
  readonly clock: Pick<Clock, "now">;
};

/** `ws` keeps for itself what it has of a message. A test tells when these are called otherwise. */
type Receiving = {
  readonly _receiver: {
    /** Read, and not looked at yet. */
    readonly _buffers: readonly Buffer[];
    readonly _bufferedBytes: number;
    /** Whole fragments, inflated. */
    readonly _fragments: readonly Buffer[];
    readonly _messageLength: number;
  };
};

/** Of a buffer beside its bytes. */
const BUFFER_BYTES = 256;
/** In bytes: so much of a message is in nobody's way, however much waits. */
const SMALL = 16_384;

export class ArrivingMessage {
  #bytes = 0;
  /** undefined: nothing of it has come. */
  #begunAtMs: number | undefined;
  readonly #parts: ArrivingMessageParts;

  constructor(parts: ArrivingMessageParts) {
    this.#parts = parts;
  }

  /** Something was read, and `ws` has looked at it. @returns Whether there is room for it. */
  count(): boolean {
    const { socket, scope, clock, hasRoom } = this.#parts;
    const { _receiver: receiver } = socket as Receiving;
    const { _buffers: unread, _bufferedBytes, _fragments: fragments, _messageLength } = receiver;
    const bytes =
      _bufferedBytes + _messageLength + BUFFER_BYTES * (unread.length + fragments.length);
    if (bytes !== this.#bytes) scope.hold("bodies", bytes - this.#bytes);
    this.#bytes = bytes;
    if (bytes > 0) this.#begunAtMs ??= clock.now();
    else this.#begunAtMs = undefined;
    return bytes <= SMALL || hasRoom();
  }

  /** A message is whole: what comes is another one. */
  restart(): void {
    this.#begunAtMs = undefined;
  }

  /** @param mostMs It is to be whole after so long. */
  isLate(mostMs: number): boolean {
    return this.#begunAtMs !== undefined && this.#parts.clock.now() - this.#begunAtMs >= mostMs;
  }

  /** Nothing more comes. */
  end(): void {
    this.#parts.scope.end(false);
  }
}
