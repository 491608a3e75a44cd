// Notices that the process stood still: because of work without pauses, a machine that swaps, a debugger.
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "./metrics.ts";

export type StallWatchParts = {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly log: Pick<Logger, "warn">;
  readonly metrics: Pick<Metrics, "stoodStill">;
};

const LOOK_EVERY_MS = 500;
/** Callers notice a pause of this length, in milliseconds. */
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

  /** Logs one line a minute at most, and counts all pauses. */
  #look(lateMs: number): void {
    if (lateMs < LONG_MS) return;
    const { clock, log, metrics } = this.#parts;
    metrics.stoodStill(lateMs / 1000);
    if (clock.now() - this.#toldAt < TELL_AGAIN_AFTER_MS) return;
    this.#toldAt = clock.now();
    log.warn({ ms: Math.round(lateMs) }, "the process stood still: nobody was answered meanwhile");
  }
}
