// How wide a range the nodes of a network take in one query, as they said.

/** Doubled again after so many that fitted: another node may have said it, or one that is gone. */
const WIDER_AFTER = 64;
/** The same limit said again and again is looked for less and less often. */
const WIDER_AFTER_AT_MOST = 1024;

export class LearnedRange {
  #width: number;
  #fitted = 0;
  #widerAfter = WIDER_AFTER;
  /** Whether the width is a guess: doubled, and neither refused nor found to fit since. */
  #isGuess = false;
  readonly #most: number;

  /** @param most To begin with, in blocks or epochs. */
  constructor(most: number) {
    this.#width = most;
    this.#most = most;
  }

  get width(): number {
    return this.#width;
  }

  /** Nodes take no more than this: one said so, or refused more. */
  limitedTo(width: number): void {
    this.#fitted = 0;
    if (this.#isGuess) this.#widerAfter = Math.min(WIDER_AFTER_AT_MOST, this.#widerAfter * 2);
    this.#isGuess = false;
    this.#width = Math.max(1, Math.min(this.#width, width));
  }

  /** A range of this width was answered. */
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
