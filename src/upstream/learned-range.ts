// How wide a range the nodes of a network take in one query, learned from what they say.

/** Halved when it was too wide; doubled again after so many that fitted. */
const WIDER_AFTER = 8;

export class LearnedRange {
  #width: number;
  /** The widest that a node said it takes. */
  #most: number;
  #fitted = 0;

  /** @param most To begin with, in blocks or epochs. */
  constructor(most: number) {
    this.#width = most;
    this.#most = most;
  }

  get width(): number {
    return this.#width;
  }

  /** @param most What the node said that it takes, if it said so. */
  tooWide(width: number, most?: number): void {
    this.#fitted = 0;
    if (most !== undefined && most >= 1) this.#most = Math.min(this.#most, most);
    const half = Math.max(1, Math.floor(width / 2));
    this.#width = Math.min(this.#most, most ?? half);
  }

  fitted(): void {
    this.#fitted += 1;
    if (this.#fitted < WIDER_AFTER || this.#width >= this.#most) return;
    this.#fitted = 0;
    this.#width = Math.min(this.#most, this.#width * 2);
  }
}
