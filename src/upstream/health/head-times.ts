// When the network's head first reached a number, as far as this gateway saw it. This tells how old a node's head is.
import type { Clock } from "../../lib/clock.ts";
import { keepNewest } from "../../lib/keep-newest.ts";

const REMEMBERED = 1_024;
/** How many of the newest heads the time between blocks is measured over. */
const MEASURED = 16;

export class HeadTimes {
  /** By number, rising. Never more than `REMEMBERED`. */
  readonly #reachedAt = new Map<number, number>();
  #highest = -1;
  readonly #clock: Pick<Clock, "now">;

  constructor(parts: { clock: Pick<Clock, "now"> }) {
    this.#clock = parts.clock;
  }

  get highest(): number {
    return this.#highest;
  }

  /** To be called when some node's head is at this number. */
  saw(number: number): void {
    if (number <= this.#highest) return;
    this.#highest = number;
    keepNewest(this.#reachedAt, [number, this.#clock.now()], REMEMBERED);
  }

  /** The mean time between the newest blocks, in milliseconds; undefined before two were seen. */
  get blockMs(): number | undefined {
    const newest = [...this.#reachedAt].slice(-MEASURED);
    const [[number, at] = [0, 0]] = newest;
    const [last, lastAt] = newest.at(-1) ?? [0, 0];
    return last > number ? (lastAt - at) / (last - number) : undefined;
  }

  /** For how many seconds there has been a newer block than this; when it is very old, at least so many. */
  secondsBehind(number: number): number {
    if (number >= this.#highest) return 0;
    for (const [reached, at] of this.#reachedAt)
      if (reached > number) return (this.#clock.now() - at) / 1000;
    return 0;
  }
}
