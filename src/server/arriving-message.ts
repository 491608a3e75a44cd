// A message of a WebSocket that is still arriving: the bytes that have come wait in memory, and are counted.
import type { RequestScope } from "../calls/caller.ts";
import type { Clock } from "../lib/clock.ts";

export type ArrivingMessageParts = {
  /** A WebSocket of `ws`. */
  readonly socket: object;
  /** Counts the bytes until the socket ends. */
  readonly scope: Pick<RequestScope, "hold" | "end">;
  /** Whether anything may be begun for the socket's key. */
  readonly hasRoom: () => boolean;
  readonly clock: Pick<Clock, "now">;
};

/** The private fields in which `ws` keeps an arriving message. A test fails when `ws` renames them. */
type Receiving = {
  readonly _receiver: {
    /** Read from the socket, not parsed yet. */
    readonly _buffers: readonly Buffer[];
    readonly _bufferedBytes: number;
    /** Whole fragments, decompressed. */
    readonly _fragments: readonly Buffer[];
    readonly _messageLength: number;
  };
};

/** What a buffer takes in memory beside its bytes. */
const BUFFER_BYTES = 256;
/** In bytes: a message of this size may always arrive, however much waits. */
const SMALL = 16_384;

export class ArrivingMessage {
  #bytes = 0;
  /** undefined: no part of a message has come. */
  #begunAtMs: number | undefined;
  readonly #parts: ArrivingMessageParts;

  constructor(parts: ArrivingMessageParts) {
    this.#parts = parts;
  }

  /** Counts what `ws` holds after it parsed a read. @returns Whether there is room for it. */
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

  /** The message is whole: the next bytes belong to another one. */
  restart(): void {
    this.#begunAtMs = undefined;
  }

  /** @param mostMs How long a message may take to arrive. */
  isLate(mostMs: number): boolean {
    return this.#begunAtMs !== undefined && this.#parts.clock.now() - this.#begunAtMs >= mostMs;
  }

  /** No more bytes come. */
  end(): void {
    this.#parts.scope.end(false);
  }
}
