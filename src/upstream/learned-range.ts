// How wide a range the nodes of a network take in one query, as they said.

/** Doubled again after so many that fitted: another node may have said it, or one that is gone. */
const WIDER_AFTER = 64;

export class LearnedRange {
  #width: number;
  #fitted = 0;
  readonly #most: number;

  /** @param most To begin with, in blocks or epochs. */
  constructor(most: number) {
    this.#width = most;
    this.#most = most;
  }

  get width(): number {
    return this.#width;
  }

  /** A node said that it takes no more than this. */
  limitedTo(width: number): void {
    this.#fitted = 0;
    this.#width = Math.max(1, Math.min(this.#width, width));
  }

  /** A range of this width was answered. */
  fitted(width: number): void {
    if (width < this.#width || this.#width >= this.#most) return;
    this.#fitted += 1;
    if (this.#fitted < WIDER_AFTER) return;
    this.#fitted = 0;
    this.#width = Math.min(this.#most, this.#width * 2);
  }
}
