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
/** Nobody notices when a thread stands still that works no more than this share of its time. */
const IDLE = 0.02;
/** It saves memory after so many calm looks, and until the first that is not: a storm that begins must not be dearer. */
const CALM_LOOKS = 20;

/** V8 13 knows the flags. Node.js 22 has V8 12, which would say on the standard error that it does not. */
const V8_THAT_SAVES = 13;
const setWhereKnown = (flag: string): void => {
  if (Number.parseInt(process.versions.v8, 10) >= V8_THAT_SAVES) setFlagsFromString(flag);
};

/** Of V8: as they are when the process begins. */
const SETTINGS = { "memory-saver-mode": false, compact: true };

export class ProcessWatch {
  #toldAt = Number.NEGATIVE_INFINITY;
  #calmLooks = 0;
  #before: Pick<EventLoopUtilization, "active" | "idle"> = { active: 0, idle: 0 };
  readonly #settings = { ...SETTINGS };
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

  /** A collection that saves memory moves what is in use together, for some 50 ms: not while calls come all the same. */
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
