// When this gateway first saw the network's head at each number. A node's lag in seconds follows from it.
import type { Clock } from "../../lib/clock.ts";
import { keepNewest } from "../../lib/keep-newest.ts";

const REMEMBERED = 1_024;
/** The number of newest heads over which the time between blocks is measured. */
const MEASURED = 16;

export class HeadTimes {
  /** By number, ascending. At most `REMEMBERED` entries. */
  readonly #reachedAt = new Map<number, number>();
  #highest = -1;
  readonly #clock: Pick<Clock, "now">;

  constructor(parts: { clock: Pick<Clock, "now"> }) {
    this.#clock = parts.clock;
  }

  get highest(): number {
    return this.#highest;
  }

  /** Must be called when some node's head is at this number. */
  saw(number: number): void {
    if (number <= this.#highest) return;
    this.#highest = number;
    keepNewest(this.#reachedAt, [number, this.#clock.now()], REMEMBERED);
  }

  /** The mean time between the newest blocks, in milliseconds; undefined before two heads were seen. */
  get blockMs(): number | undefined {
    const newest = [...this.#reachedAt].slice(-MEASURED);
    const [[number, at] = [0, 0]] = newest;
    const [last, lastAt] = newest.at(-1) ?? [0, 0];
    return last > number ? (lastAt - at) / (last - number) : undefined;
  }

  /** For how many seconds there has been a newer block; for a very old block, a lower bound. */
  secondsBehind(number: number): number {
    if (number >= this.#highest) return 0;
    for (const [reached, at] of this.#reachedAt)
      if (reached > number) return (this.#clock.now() - at) / 1000;
    return 0;
  }
}
