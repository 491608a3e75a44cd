// An answer as one buffer, up to a length.
import type { BodyReader, ConnectionOptions } from "./connection.ts";

export class WholeBody implements BodyReader {
  readonly whenStopped = "too large";
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor({ responseBytes }: Pick<ConnectionOptions, "responseBytes">) {
    this.#maxBytes = responseBytes;
  }

  announce(bytes: number): boolean {
    return !(bytes > this.#maxBytes);
  }

  add(chunk: Buffer): boolean {
    this.#bytes += chunk.length;
    this.#chunks.push(chunk);
    return this.#bytes <= this.#maxBytes;
  }

  finish(): Buffer {
    const [only] = this.#chunks;
    // The chunks and the one buffer: the only moment at which two copies of an answer are there.
    const whole =
      only && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks, this.#bytes);
    this.#chunks = [];
    return whole;
  }
}
