// A call that waits until some node has budget for it: not for long, and not among too many.
import type { Clock } from "../../lib/clock.ts";

export type BudgetWaitParts = {
  readonly clock: Pick<Clock, "after" | "now">;
  /** Counts calls that wait. @returns false when too many do. */
  readonly onWaiting: (count: 1 | -1) => boolean;
};

/** In all, in milliseconds. */
const PATIENCE_MS = 1_000;
/** A node that refuses each time is not asked without end. */
const MOST_WAITS = 20;

export class BudgetWait {
  #since: number | undefined;
  #waits = 0;
  #stop: () => void = () => undefined;
  readonly #parts: BudgetWaitParts;

  constructor(parts: BudgetWaitParts) {
    this.#parts = parts;
  }

  /**
   * Calls `task` after the time.
   *
   * @param patienceMs Less than usual, in all waits together.
   * @returns false, and never calls it, when that is too long.
   */
  begin(ms: number, task: () => void, patienceMs = PATIENCE_MS): boolean {
    const { clock, onWaiting } = this.#parts;
    const now = clock.now();
    this.#since ??= now;
    const isTooLong =
      now + ms > this.#since + Math.min(patienceMs, PATIENCE_MS) || this.#waits >= MOST_WAITS;
    if (isTooLong || !onWaiting(1)) return false;
    this.#waits += 1;
    const cancel = clock.after(ms, () => {
      this.stop();
      task();
    });
    this.#stop = () => {
      cancel();
      onWaiting(-1);
    };
    return true;
  }

  stop(): void {
    const stop = this.#stop;
    this.#stop = () => undefined;
    stop();
  }
}
