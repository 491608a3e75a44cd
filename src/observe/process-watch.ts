// Watches how much of its time this process works. It notices that the process stood still: because of work without pauses,
// a machine that swaps, a debugger. And it has V8 save memory while there is time to spare: else V8 keeps the pages that a
// storm of callers took (docs/decisions/0065-memory-is-given-back-when-it-is-calm.md).
import type { EventLoopUtilization } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import { Rounds } from "../lib/waiting.ts";
import type { Metrics } from "./metrics.ts";

export type ProcessWatchParts = {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly log: Pick<Logger, "warn">;
  readonly metrics: Pick<Metrics, "stoodStill">;
  /** How much of its time this thread has worked. */
  readonly worked?: () => EventLoopUtilization;
  /** Of V8, for all threads of the process. */
  readonly setFlag?: (flag: string) => void;
};

const LOOK_EVERY_MS = 500;
/** Callers notice a pause of this length, in milliseconds. */
const LONG_MS = 1_000;
const TELL_AGAIN_AFTER_MS = 60_000;

/** A thread that works no more than this share of the time between two looks has time to spare. */
const CALM = 0.25;
/** It saves memory after so many calm looks, and until the first that is not: a storm that begins must not be dearer. */
const CALM_LOOKS = 20;

/** V8 13 knows the flag. Node.js 22 has V8 12, which would say on the standard error that it does not. */
const V8_THAT_SAVES = 13;
const setWhereKnown = (flag: string): void => {
  if (Number.parseInt(process.versions.v8, 10) >= V8_THAT_SAVES) setFlagsFromString(flag);
};

export class ProcessWatch {
  #toldAt = Number.NEGATIVE_INFINITY;
  #calmLooks = 0;
  #before: Pick<EventLoopUtilization, "active" | "idle"> = { active: 0, idle: 0 };
  #savesMemory = false;
  /** When the next look is due, by the clock. */
  #dueAt = Number.POSITIVE_INFINITY;
  readonly #rounds: Rounds;
  readonly #parts: Required<ProcessWatchParts>;

  constructor(parts: ProcessWatchParts) {
    const worked = (): EventLoopUtilization => performance.eventLoopUtilization();
    this.#parts = { worked, setFlag: setWhereKnown, ...parts };
    const { clock } = parts;
    this.#rounds = new Rounds({ clock, everyMs: () => LOOK_EVERY_MS, round: () => this.#look() });
  }

  start(): void {
    this.#dueAt = this.#parts.clock.now() + LOOK_EVERY_MS;
    this.#rounds.begin();
  }

  close(): void {
    this.#rounds.stop();
  }

  #look(): boolean {
    const now = this.#parts.clock.now();
    this.#noteLate(now - this.#dueAt);
    this.#dueAt = now + LOOK_EVERY_MS;
    this.#saveMemoryWhileCalm();
    return true;
  }

  /** Logs one line a minute at most, and counts all pauses. */
  #noteLate(lateMs: number): void {
    if (lateMs < LONG_MS) return;
    const { clock, log, metrics } = this.#parts;
    metrics.stoodStill(lateMs / 1000);
    if (clock.now() - this.#toldAt < TELL_AGAIN_AFTER_MS) return;
    this.#toldAt = clock.now();
    log.warn({ ms: Math.round(lateMs) }, "the process stood still: nobody was answered meanwhile");
  }

  #saveMemoryWhileCalm(): void {
    const now = this.#parts.worked();
    const active = now.active - this.#before.active;
    const isCalm = active <= CALM * (active + now.idle - this.#before.idle);
    this.#before = now;
    this.#calmLooks = isCalm ? this.#calmLooks + 1 : 0;
    const saves = this.#calmLooks >= CALM_LOOKS;
    if (saves === this.#savesMemory) return;
    this.#savesMemory = saves;
    this.#parts.setFlag(saves ? "--memory-saver-mode" : "--no-memory-saver-mode");
  }
}
