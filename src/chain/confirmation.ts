// A claim that some nodes make while others are silent. The claim is believed once nodes have repeated it for a while.
import type { Clock } from "../lib/clock.ts";

/** A claim is believed when it has been made for this time, in milliseconds. */
const LONG_MS = 5_000;
/** A claim that is not repeated within this time, in milliseconds, starts over. */
const FORGOTTEN_AFTER_MS = 15_000;

export class Confirmation {
  #times = 0;
  #sinceMs = 0;
  #lastMs = Number.NEGATIVE_INFINITY;
  readonly #clock: Pick<Clock, "now">;

  constructor(parts: { readonly clock: Pick<Clock, "now"> }) {
    this.#clock = parts.clock;
  }

  /** How often the claim was made in a row. */
  get times(): number {
    return this.#times;
  }

  get isLong(): boolean {
    return this.#times > 0 && this.#lastMs - this.#sinceMs >= LONG_MS;
  }

  /** Records that the claim was made. */
  say(): void {
    const nowMs = this.#clock.now();
    if (nowMs - this.#lastMs > FORGOTTEN_AFTER_MS) this.end();
    if (this.#times === 0) this.#sinceMs = nowMs;
    this.#times += 1;
    this.#lastMs = nowMs;
  }

  /** Records that the claim is no longer made. */
  end(): void {
    this.#times = 0;
  }
}
