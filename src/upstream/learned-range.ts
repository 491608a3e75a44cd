// How wide a range the nodes of a network take in one query, by their own words.

/**
 * The width is doubled again after so many queries that fitted: the limit may be another node's, or that of one that is
 * gone.
 */
const WIDER_AFTER = 64;
/** When the same limit is told again and again, a wider one is tried less and less often. */
const WIDER_AFTER_AT_MOST = 1024;

export class LearnedRange {
  #width: number;
  #fitted = 0;
  #widerAfter = WIDER_AFTER;
  /** Whether the width was doubled, and nodes have neither refused nor answered it since. */
  #isGuess = false;
  readonly #most: number;

  /** @param most The first width, in blocks or epochs. */
  constructor(most: number) {
    this.#width = most;
    this.#most = most;
  }

  get width(): number {
    return this.#width;
  }

  /** To be called when a node told that it takes no more than this, or refused more. */
  limitedTo(width: number): void {
    this.#fitted = 0;
    if (this.#isGuess) this.#widerAfter = Math.min(WIDER_AFTER_AT_MOST, this.#widerAfter * 2);
    this.#isGuess = false;
    this.#width = Math.max(1, Math.min(this.#width, width));
  }

  /** To be called when a range of this width was answered. */
  fitted(width: number): void {
    if (width < this.#width || this.#width >= this.#most) return;
    this.#fitted += 1;
    if (this.#isGuess) this.#widerAfter = WIDER_AFTER;
    this.#isGuess = false;
    if (this.#fitted < this.#widerAfter) return;
    this.#fitted = 0;
    this.#isGuess = true;
    this.#width = Math.min(this.#most, this.#width * 2);
  }
}
