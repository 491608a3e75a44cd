// Notices that the process stood still: work that was not cut into pieces, a machine that swaps, a debugger.
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "./metrics.ts";

export type StallWatchParts = {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly log: Pick<Logger, "warn">;
  readonly metrics: Pick<Metrics, "stoodStill">;
};

const LOOK_EVERY_MS = 500;
/** Callers notice so much, in milliseconds. */
const LONG_MS = 1_000;
const TELL_AGAIN_AFTER_MS = 60_000;

export class StallWatch {
  #toldAt = Number.NEGATIVE_INFINITY;
  #cancel: () => void = () => undefined;
  readonly #parts: StallWatchParts;

  constructor(parts: StallWatchParts) {
    this.#parts = parts;
  }

  start(): void {
    const { clock } = this.#parts;
    const dueAt = clock.now() + LOOK_EVERY_MS;
    this.#cancel = clock.after(LOOK_EVERY_MS, () => {
      this.#look(clock.now() - dueAt);
      this.start();
    });
  }

  close(): void {
    this.#cancel();
  }

  /** One line a minute at most; all is counted. */
  #look(lateMs: number): void {
    if (lateMs < LONG_MS) return;
    const { clock, log, metrics } = this.#parts;
    metrics.stoodStill(lateMs / 1000);
    if (clock.now() - this.#toldAt < TELL_AGAIN_AFTER_MS) return;
    this.#toldAt = clock.now();
    log.warn({ ms: Math.round(lateMs) }, "the process stood still: nobody was answered meanwhile");
  }
}
