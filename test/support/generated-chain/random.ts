// Random values from a seed.

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** From 0 up to, not including, `limit`. (mulberry32) */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  between([least, most]: readonly [number, number]): number {
    return least + this.below(most - least + 1);
  }

  hex(bytes: number): string {
    let digits = "";
    for (let at = 0; at < bytes; at += 4)
      digits += this.below(2 ** 32)
        .toString(16)
        .padStart(8, "0");
    return `0x${digits.slice(0, bytes * 2)}`;
  }

  /** A number of at most so many bytes, never zero. */
  quantity(bytes: number): string {
    return `0x${(BigInt(this.hex(bytes)) + 1n).toString(16)}`;
  }

  one<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }
}
