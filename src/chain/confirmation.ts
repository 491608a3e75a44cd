// What some nodes say while others are silent: it counts when they have said it for a while.
import type { Clock } from "../lib/clock.ts";

/** It counts after so long, in milliseconds. */
const LONG_MS = 5_000;
/** What was not said for so long is said anew, in milliseconds. */
const FORGOTTEN_AFTER_MS = 15_000;

export class Confirmation {
  #times = 0;
  #sinceMs = 0;
  #lastMs = Number.NEGATIVE_INFINITY;
  readonly #clock: Pick<Clock, "now">;

  constructor(parts: { readonly clock: Pick<Clock, "now"> }) {
    this.#clock = parts.clock;
  }

  /** How often it was said, in a row. */
  get times(): number {
    return this.#times;
  }

  get isLong(): boolean {
    return this.#times > 0 && this.#lastMs - this.#sinceMs >= LONG_MS;
  }

  /** It is said once more. */
  say(): void {
    const nowMs = this.#clock.now();
    if (nowMs - this.#lastMs > FORGOTTEN_AFTER_MS) this.end();
    if (this.#times === 0) this.#sinceMs = nowMs;
    this.#times += 1;
    this.#lastMs = nowMs;
  }

  /** It is said no longer. */
  end(): void {
    this.#times = 0;
  }
}
