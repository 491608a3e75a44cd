// Counts the bytes of a WebSocket's message that is still arriving, since they wait in memory until the message is whole.
import type { RequestScope } from "../calls/caller.ts";
import type { Clock } from "../lib/clock.ts";

export type ArrivingMessageParts = {
  /** A `WebSocket` of `ws`. */
  readonly socket: object;
  /** Counts the waiting bytes until the socket ends. */
  readonly scope: Pick<RequestScope, "hold" | "end">;
  /** Whether the memory budget admits a new request of the socket's key. */
  readonly hasRoom: () => boolean;
  readonly clock: Pick<Clock, "now">;
};

/** The private fields in which `ws` keeps an arriving message. A test fails when `ws` renames them. */
type Receiving = {
  readonly _receiver: {
    /** The bytes that were read from the connection, and not parsed yet. */
    readonly _buffers: readonly Buffer[];
    readonly _bufferedBytes: number;
    /** The whole fragments, decompressed. */
    readonly _fragments: readonly Buffer[];
    readonly _messageLength: number;
  };
};

/** The bytes that a Buffer takes in memory beside its content. */
const BUFFER_BYTES = 256;
/** In bytes: a message of this size may always arrive, also when memory is scarce. */
const SMALL = 16_384;

export class ArrivingMessage {
  #bytes = 0;
  /** When the first bytes of the message came; undefined while none have. */
  #begunAtMs: number | undefined;
  readonly #parts: ArrivingMessageParts;

  constructor(parts: ArrivingMessageParts) {
    this.#parts = parts;
  }

  /** Counts the bytes that `ws` holds after it parsed a read. @returns Whether the memory budget has room for them. */
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

  /** To be called when the message is whole: the next bytes belong to another message. */
  restart(): void {
    this.#begunAtMs = undefined;
  }

  /** Whether the message takes too long. @param mostMs The time that a message may take to arrive. */
  isLate(mostMs: number): boolean {
    return this.#begunAtMs !== undefined && this.#parts.clock.now() - this.#begunAtMs >= mostMs;
  }

  /** Releases the counted bytes. To be called when the socket has ended. */
  end(): void {
    this.#parts.scope.end(false);
  }
}
