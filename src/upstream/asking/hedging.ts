// When a call that is not answered is given to a second node as well, and how often that may be.

export type HedgingOptions = {
  /** Extra calls, as a share of all calls; 0: never. */
  readonly share: number;
  /** A call waits at least so long, in milliseconds, and at most. */
  readonly leastMs: number;
  readonly mostMs: number;
};

/** Before a method's times are known. */
const UNKNOWN_MS = 500;

/** @param p95Ms Of this method's answers; undefined when there are too few. */
export const hedgeDelayMs = (p95Ms: number | undefined, options: HedgingOptions): number =>
  Math.min(options.mostMs, Math.max(options.leastMs, p95Ms ?? UNKNOWN_MS));

/** Saved up for a moment in which a node becomes slow with many calls under way. */
const MOST_SAVED = 50;

/** So many hedges for so many calls. */
export class HedgeBudget {
  /** 0 to `MOST_SAVED` hedges. */
  #saved = MOST_SAVED;
  readonly #share: number;

  constructor({ share }: Pick<HedgingOptions, "share">) {
    this.#share = share;
  }

  /** A call was begun. */
  earn(): void {
    this.#saved = Math.min(MOST_SAVED, this.#saved + this.#share);
  }

  /** It is not used up. */
  get hasLeft(): boolean {
    return this.#share > 0 && this.#saved >= 1;
  }

  /** @returns false when it is used up. */
  spend(): boolean {
    if (!this.hasLeft) return false;
    this.#saved -= 1;
    return true;
  }
}
