// Watches how much of its time this process works. It notices that the process stood still, because of work without
// pauses, a swapping machine or a debugger. It also makes V8 save memory in calm times: otherwise V8 would keep the
// pages that many calls once took (docs/decisions/0065-memory-is-given-back-under-low-load.md).
import type { EventLoopUtilization } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import { PeriodicTimer } from "../lib/waiting.ts";
import type { Metrics } from "./metrics.ts";

export type ProcessWatchParts = {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly log: Pick<Logger, "warn">;
  readonly metrics: Pick<Metrics, "stoodStill">;
  /** The time for which this thread has worked. */
  readonly worked?: () => EventLoopUtilization;
  /** Sets a flag of V8, for all threads of the process. */
  readonly setFlag?: (flag: string) => void;
};

const LOOK_EVERY_MS = 500;
/** Milliseconds. Callers notice a pause of this length. */
const LONG_MS = 1_000;
const TELL_AGAIN_AFTER_MS = 60_000;

/** A thread that works no more than this share of the time between two looks is calm. */
const CALM = 0.25;
/** If a thread works no more than this share of its time, nobody notices a pause. */
const IDLE = 0.02;
/** V8 saves memory after this many calm looks, until the first busy look: the calls of a burst must not cost more. */
const CALM_LOOKS = 20;

/** V8 13 has the flags. V8 12, in Node.js 22, would complain about them on stderr. */
const V8_THAT_SAVES = 13;
const setWhereKnown = (flag: string): void => {
  if (Number.parseInt(process.versions.v8, 10) >= V8_THAT_SAVES) setFlagsFromString(flag);
};

/** The state of V8's flags when the process begins. */
const SETTINGS = { "memory-saver-mode": false, compact: true };

export class ProcessWatch {
  #toldAt = Number.NEGATIVE_INFINITY;
  #calmLooks = 0;
  #before: Pick<EventLoopUtilization, "active" | "idle"> = { active: 0, idle: 0 };
  readonly #settings = { ...SETTINGS };
  /** When the next look is due, in milliseconds of the clock. */
  #dueAt = Number.POSITIVE_INFINITY;
  readonly #timer: PeriodicTimer;
  readonly #parts: Required<ProcessWatchParts>;

  constructor(parts: ProcessWatchParts) {
    const worked = (): EventLoopUtilization => performance.eventLoopUtilization();
    this.#parts = { worked, setFlag: setWhereKnown, ...parts };
    const { clock } = parts;
    this.#timer = new PeriodicTimer({
      clock,
      everyMs: () => LOOK_EVERY_MS,
      round: () => this.#look(),
    });
  }

  start(): void {
    this.#dueAt = this.#parts.clock.now() + LOOK_EVERY_MS;
    this.#timer.begin();
  }

  close(): void {
    this.#timer.stop();
  }

  #look(): boolean {
    const now = this.#parts.clock.now();
    this.#noteLate(now - this.#dueAt);
    this.#dueAt = now + LOOK_EVERY_MS;
    this.#saveMemoryWhileCalm();
    return true;
  }

  /** Counts all long pauses, and logs at most one line a minute about them. */
  #noteLate(lateMs: number): void {
    if (lateMs < LONG_MS) return;
    const { clock, log, metrics } = this.#parts;
    metrics.stoodStill(lateMs / 1000);
    if (clock.now() - this.#toldAt < TELL_AGAIN_AFTER_MS) return;
    this.#toldAt = clock.now();
    log.warn(
      { ms: Math.round(lateMs) },
      "the process stood still: no caller was answered meanwhile",
    );
  }

  /** In this mode a collection also compacts the heap, for some 50 ms: not while a few calls still arrive. */
  #saveMemoryWhileCalm(): void {
    const now = this.#parts.worked();
    const active = now.active - this.#before.active;
    const share = active / (active + now.idle - this.#before.idle);
    this.#before = now;
    this.#calmLooks = share <= CALM ? this.#calmLooks + 1 : 0;
    this.#set("memory-saver-mode", this.#calmLooks >= CALM_LOOKS);
    this.#set("compact", share <= IDLE || share > CALM);
  }

  #set(setting: keyof typeof SETTINGS, isOn: boolean): void {
    if (isOn === this.#settings[setting]) return;
    this.#settings[setting] = isOn;
    this.#parts.setFlag(isOn ? `--${setting}` : `--no-${setting}`);
  }
}
