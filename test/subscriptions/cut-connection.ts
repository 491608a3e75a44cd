// A connection that ends, or goes silent, after a number of bytes, even within a frame.
import { connect, type Socket } from "node:net";
import { Duplex } from "node:stream";

export type Cut = {
  /** The number of bytes that still reach the client before the connection breaks. Left out: all. */
  readonly inBytes?: number;
  /** The number of bytes that still leave the client; later ones are lost silently. Left out: all. */
  readonly outBytes?: number;
};

export class CutConnection extends Duplex {
  #in = Number.POSITIVE_INFINITY;
  #out = Number.POSITIVE_INFINITY;
  #isHeld = false;
  readonly #socket: Socket;

  constructor(port: number) {
    super();
    this.#socket = connect(port, "127.0.0.1");
    this.#socket.on("data", (bytes) => this.#hear(bytes));
    this.#socket.on("error", () => this.destroy());
    this.#socket.on("close", () => this.destroy());
  }

  cut({ inBytes = Number.POSITIVE_INFINITY, outBytes = Number.POSITIVE_INFINITY }: Cut): void {
    this.#in = inBytes;
    this.#out = outBytes;
  }

  /** Stops reading: bytes wait in the system's buffers, and then at the gateway. */
  hold(): void {
    this.#isHeld = true;
    this.#socket.pause();
  }

  goOn(): void {
    this.#isHeld = false;
    this.#socket.resume();
  }

  override _read(): void {
    if (!this.#isHeld) this.#socket.resume();
  }

  override _write(bytes: Buffer, _: BufferEncoding, done: () => void): void {
    const some = bytes.subarray(0, this.#out);
    this.#out -= some.length;
    this.#socket.write(some);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.resetAndDestroy();
    done(error);
  }

  #hear(bytes: Buffer): void {
    const some = bytes.subarray(0, this.#in);
    this.#in -= some.length;
    if (!this.push(some)) this.#socket.pause();
    if (this.#in === 0) this.destroy();
  }
}
