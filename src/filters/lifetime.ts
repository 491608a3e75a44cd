// How long filters live that nobody polls. While the gateway or the state is away nobody can poll: that
// time does not count.
import type { Clock } from "../lib/clock.ts";

/** A filter that is not polled for so long ends (docs/decisions/0035), in milliseconds. */
const LIFE_MS = 300_000;

export class Lifetime {
  /** By wall time, as far as is known here. */
  #awayUntilMs = Number.NEGATIVE_INFINITY;
  readonly #clock: Pick<Clock, "wallTime">;

  constructor(parts: { readonly clock: Pick<Clock, "wallTime"> }) {
    this.#clock = parts.clock;
  }

  /** Until now nobody could poll. */
  begin(): void {
    this.#awayUntilMs = this.#clock.wallTime();
  }

  isOver(usedAtMs: number): boolean {
    return this.#clock.wallTime() - Math.max(usedAtMs, this.#awayUntilMs) > LIFE_MS;
  }

  /** What is asked of the state: when it is away, this begins anew. */
  async noting<Value>(asked: Promise<Value>): Promise<Value> {
    try {
      return await asked;
    } catch (error) {
      this.begin();
      throw error;
    }
  }
}
