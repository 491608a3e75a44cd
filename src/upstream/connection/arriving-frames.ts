// The bytes of a WebSocket message while it comes: `ws` keeps them, and tells of them when they are whole.
import type { ArrivingMemory } from "./whole-body.ts";

/** Of a control frame of a server, in bytes. */
const HEADER = 2;
/** Beyond the longest message, in bytes: frames have headers, and the next message may have begun. */
const SLACK = 1 << 20;

export class ArrivingFrames {
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
