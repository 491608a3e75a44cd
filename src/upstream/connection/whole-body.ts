// Collects an answer's body in memory. Its bytes count in the memory budget while they arrive.
import type { MemoryBudget, MemoryHolder } from "../../lib/memory-budget.ts";
import type { BodyReader, ConnectionOptions } from "./connection.ts";

export type ArrivingMemory = Pick<MemoryBudget, "hold" | "release" | "admitLargeAnswer">;

export type WholeBodyOptions = Pick<ConnectionOptions, "responseBytes"> & {
  /** A caller waits for the answer: the caller can be told to try again later. */
  readonly isForCaller?: boolean | undefined;
  /** The key for which the bytes count; left out: the gateway itself, or several keys. */
  readonly holder?: MemoryHolder | undefined;
};

/** An answer of more bytes is large. */
const LARGE_BYTES = 65_536;
/** The longest announced length for which a buffer is allocated before the bytes arrive, in bytes. */
const MOST_AT_ONCE = 1 << 22;

/** Collects a body in memory, and counts its bytes there until `finish` or `drop`. */
export class WholeBody implements BodyReader {
  whenStopped: "too large" | "crowded" = "too large";
  /** A buffer of the announced length, which the chunks fill; undefined: `finish` joins the chunks. */
  #whole: Buffer | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  readonly #options: WholeBodyOptions;
  readonly #memory: ArrivingMemory | undefined;

  constructor(options: WholeBodyOptions, memory?: ArrivingMemory) {
    this.#options = options;
    this.#memory = memory;
  }

  /** The number of bytes that have arrived. */
  get bytes(): number {
    return this.#bytes;
  }

  announce(bytes: number): boolean {
    if (bytes > LARGE_BYTES && bytes <= MOST_AT_ONCE) this.#whole = Buffer.allocUnsafeSlow(bytes);
    return !(bytes > this.#options.responseBytes);
  }

  add(chunk: Buffer): boolean {
    if (this.#whole && this.#bytes + chunk.length <= this.#whole.length)
      chunk.copy(this.#whole, this.#bytes);
    else this.#keep(chunk);
    this.#bytes += chunk.length;
    const { isForCaller, holder } = this.#options;
    this.#memory?.hold("arriving", chunk.length, holder);
    if (this.#bytes > this.#options.responseBytes) return false;
    const isSmall = !isForCaller || this.#bytes <= LARGE_BYTES;
    if (isSmall || this.#memory?.admitLargeAnswer(holder) !== false) return true;
    this.whenStopped = "crowded";
    return false;
  }

  finish(): Buffer {
    const whole = this.#whole ? this.#whole.subarray(0, this.#bytes) : this.#joined();
    this.drop();
    return whole;
  }

  /** Forgets the body. */
  drop(): void {
    this.#memory?.release("arriving", this.#bytes, this.#options.holder);
    this.#bytes = 0;
    this.#chunks = [];
    this.#whole = undefined;
  }

  #keep(chunk: Buffer): void {
    // More bytes came than the node announced.
    if (this.#whole) this.#chunks.push(this.#whole.subarray(0, this.#bytes));
    this.#whole = undefined;
    this.#chunks.push(chunk);
  }

  #joined(): Buffer {
    const [only] = this.#chunks;
    // This is the only moment at which memory holds two copies of an answer.
    return only && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks, this.#bytes);
  }
}
