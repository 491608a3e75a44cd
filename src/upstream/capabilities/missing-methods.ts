// What a node said it lacks, for a while.
import type { Clock } from "../../lib/clock.ts";

/** A method that is lacked is asked for again after so long: nodes are upgraded … */
const FIRST_REST_MS = 600_000;
/** … and each time that it is still lacked, after twice as long. */
const LONGEST_REST_MS = 86_400_000;
/** Allow lists have wildcards, so callers may invent names without end, and of any length. */
const MAX_REMEMBERED = 512;
const LONGEST_NAME = 128;
/** The newest, for the same reason: these outlive the process. */
const MAX_RECORDED = 100;

/** A name, the wall clock's time until which it is taken to be lacked, and for how long that was. */
export type MissingRecord = readonly (readonly [name: string, untilMs: number, restMs: number])[];

export class MissingMethods {
  /** By method, until when the node is taken to lack it. Never more than `MAX_REMEMBERED`, oldest first. */
  readonly #lacks = new Map<string, { readonly untilMs: number; readonly restMs: number }>();
  readonly #clock: Pick<Clock, "now" | "wallTime">;
  readonly #onChange: () => void;

  constructor(parts: { clock: Pick<Clock, "now" | "wallTime">; onChange: () => void }) {
    this.#clock = parts.clock;
    this.#onChange = parts.onChange;
  }

  /** How many are taken to be lacked now. */
  get count(): number {
    const nowMs = this.#clock.now();
    return [...this.#lacks.values()].filter(({ untilMs }) => nowMs < untilMs).length;
  }

  has(method: string): boolean {
    const lack = this.#lacks.get(method);
    return lack !== undefined && this.#clock.now() < lack.untilMs;
  }

  /** The name that was remembered longest ago makes room. */
  remember(method: string): void {
    // Calls that were under way together say the same once.
    if (method.length > LONGEST_NAME || this.has(method)) return;
    const before = this.#lacks.get(method);
    const restMs = before ? Math.min(LONGEST_REST_MS, before.restMs * 2) : FIRST_REST_MS;
    this.#lacks.delete(method); // so that it stands last, as the newest
    const [oldest] = this.#lacks.keys();
    if (oldest !== undefined && this.#lacks.size >= MAX_REMEMBERED) this.#lacks.delete(oldest);
    this.#lacks.set(method, { untilMs: this.#clock.now() + restMs, restMs });
    this.#onChange();
  }

  /** The node answered it. */
  found(method: string): void {
    if (this.#lacks.size > 0 && this.#lacks.delete(method)) this.#onChange();
  }

  forget(): void {
    this.#lacks.clear();
    this.#onChange();
  }

  toRecord(): MissingRecord {
    const aheadMs = this.#clock.wallTime() - this.#clock.now();
    return [...this.#lacks]
      .slice(-MAX_RECORDED)
      .map(([name, { untilMs, restMs }]) => [name, Math.round(untilMs + aheadMs), restMs]);
  }

  /** A clock that was set wrong makes no lack longer than it would be otherwise. */
  restore(record: MissingRecord): void {
    const nowMs = this.#clock.now();
    const aheadMs = this.#clock.wallTime() - nowMs;
    for (const [name, untilWallMs, ownMs] of record.slice(-MAX_RECORDED)) {
      const restMs = Math.min(Math.max(ownMs, FIRST_REST_MS), LONGEST_REST_MS);
      this.#lacks.set(name, { untilMs: Math.min(untilWallMs - aheadMs, nowMs + restMs), restMs });
    }
  }
}
