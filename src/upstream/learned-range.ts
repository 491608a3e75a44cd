// The widest range that the nodes of a network take in one query, as their replies show.

/** The answered queries of full width before the width is doubled: the node that told the limit may be gone. */
const WIDER_AFTER = 64;
/** The largest number of queries before the next doubling: each doubled width that nodes refuse doubles the number. */
const WIDER_AFTER_AT_MOST = 1024;

/** Learns the width of range queries: narrower when a node refuses one, wider after many answers. */
export class LearnedRange {
  #width: number;
  #fitted = 0;
  #widerAfter: number;
  /** Whether the width was doubled, and no node has refused or answered it since. */
  #isGuess = false;
  readonly #most: number;
  readonly #firstWiderAfter: number;

  /**
   * @param most The first and largest width, in blocks or epochs.
   * @param widerAfter The answered queries before the first doubling.
   */
  constructor(most: number, widerAfter = WIDER_AFTER) {
    this.#width = most;
    this.#most = most;
    this.#widerAfter = widerAfter;
    this.#firstWiderAfter = widerAfter;
  }

  /** The widths of one query's pieces: some parts of the query may have more logs than others, so that it widens soon. */
  ofQuery(): LearnedRange {
    return new LearnedRange(this.#width, 1);
  }

  get width(): number {
    return this.#width;
  }

  /** To be called when a node said that it takes no wider range than this, or refused a wider one. */
  limitedTo(width: number): void {
    this.#fitted = 0;
    if (this.#isGuess) this.#widerAfter = Math.min(WIDER_AFTER_AT_MOST, this.#widerAfter * 2);
    this.#isGuess = false;
    this.#width = Math.max(1, Math.min(this.#width, width));
  }

  /** To be called when a node answered a range of this width. */
  fitted(width: number): void {
    if (width < this.#width || this.#width >= this.#most) return;
    this.#fitted += 1;
    if (this.#isGuess) this.#widerAfter = this.#firstWiderAfter;
    this.#isGuess = false;
    if (this.#fitted < this.#widerAfter) return;
    this.#fitted = 0;
    this.#isGuess = true;
    this.#width = Math.min(this.#most, this.#width * 2);
  }
}
