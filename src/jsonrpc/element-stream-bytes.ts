// Bytes that arrive piece by piece, up to a limit: one copy of each, in one buffer that grows.

const FIRST_CAPACITY = 1024;

export class GrowingBytes {
  readonly #maxBytes: number;
  #buffer = Buffer.alloc(0);
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** What it takes in memory, in bytes. */
  get heldBytes(): number {
    return this.#buffer.length;
  }

  /** @returns false when it would be more than the limit; then nothing is added. */
  append(chunk: Buffer, start: number, end: number): boolean {
    const length = this.#length + end - start;
    if (length > this.#maxBytes) return false;
    if (length > this.#buffer.length) this.#widen(length);
    chunk.copy(this.#buffer, this.#length, start, end);
    this.#length = length;
    return true;
  }

  /** What is there, from a place on. Valid until the next change. */
  view(from = 0): Buffer {
    return this.#buffer.subarray(from, this.#length);
  }

  /** Empties it; the room is kept for what comes next. */
  clear(): void {
    this.#length = 0;
  }

  #widen(needed: number): void {
    const doubled = Math.min(this.#maxBytes, this.#buffer.length * 2);
    const wider = Buffer.allocUnsafe(Math.max(needed, doubled, FIRST_CAPACITY));
    this.#buffer.copy(wider, 0, 0, this.#length);
    this.#buffer = wider;
  }
}
