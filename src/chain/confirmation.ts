// Something that some nodes say while others are silent. It is believed when they have said it for a while.
import type { Clock } from "../lib/clock.ts";

/** It is believed after this time, in milliseconds. */
const LONG_MS = 5_000;
/** After this time without being said again, it counts from the start, in milliseconds. */
const FORGOTTEN_AFTER_MS = 15_000;

export class Confirmation {
  #times = 0;
  #sinceMs = 0;
  #lastMs = Number.NEGATIVE_INFINITY;
  readonly #clock: Pick<Clock, "now">;

  constructor(parts: { readonly clock: Pick<Clock, "now"> }) {
    this.#clock = parts.clock;
  }

  /** How often it was said in a row. */
  get times(): number {
    return this.#times;
  }

  get isLong(): boolean {
    return this.#times > 0 && this.#lastMs - this.#sinceMs >= LONG_MS;
  }

  /** To be called when it is said again. */
  say(): void {
    const nowMs = this.#clock.now();
    if (nowMs - this.#lastMs > FORGOTTEN_AFTER_MS) this.end();
    if (this.#times === 0) this.#sinceMs = nowMs;
    this.#times += 1;
    this.#lastMs = nowMs;
  }

  /** To be called when it is no longer said. */
  end(): void {
    this.#times = 0;
  }
}
