// A connection that ends, or goes silent, after so many bytes, wherever in a frame that is.
import { connect, type Socket } from "node:net";
import { Duplex } from "node:stream";

export type Cut = {
  /** So many bytes reach the client from now on; then the connection breaks. Left out: all. */
  readonly inBytes?: number;
  /** So many bytes of the client's leave from now on; the others are lost, and nobody is told. Left out: all. */
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

  /** What comes waits in the machine's buffers, and then at the other end. */
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
