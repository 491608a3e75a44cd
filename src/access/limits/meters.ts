// The meters of all keys by name, and what keeps their reservations in order.

import { isLongOver } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import type { State } from "../../state/state.ts";
import { Members } from "./members.ts";
import { type LimitSettings, Meter } from "./meter.ts";

export type MetersOptions = {
  /** Of this process among all that share the state, those of other machines too. */
  readonly memberId: string;
  /** No other process shares the limits: then rates need no state. */
  readonly isAlone: boolean;
};

export type MetersParts = {
  readonly state: Pick<State, "take" | "update" | "replace" | "list">;
  readonly clock: Pick<Clock, "now" | "wallTime" | "after">;
};

const TENDED_EVERY_MS = 1000;
const SWEPT_EVERY_MS = 3_600_000;

export class Meters {
  readonly #meters = new Map<string, Meter>();
  readonly #members: Members | undefined;
  #cancelTending: (() => void) | undefined;
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  readonly #options: MetersOptions;
  readonly #parts: MetersParts;

  constructor(options: MetersOptions, parts: MetersParts) {
    this.#options = options;
    this.#parts = parts;
    this.#members = options.isAlone ? undefined : new Members({ id: options.memberId }, parts);
  }

  /** One meter for each name, whatever becomes of its limits: what was taken stays taken. */
  of(name: string, settings: LimitSettings): Meter {
    const known = this.#meters.get(name);
    known?.configure(settings);
    if (known) return known;
    const { isAlone } = this.#options;
    const members = (): number => this.#members?.count ?? 1;
    const meter = new Meter({ name, settings, isAlone }, { ...this.#parts, members });
    this.#meters.set(name, meter);
    return meter;
  }

  /** Resolves when it is known who else is there, or that nobody can tell. */
  async start(): Promise<void> {
    this.#tendLater();
    await this.#members?.beat();
  }

  /** Gives back what this process holds. */
  async close(): Promise<void> {
    this.#cancelTending?.();
    this.#cancelTending = undefined;
    await Promise.all([...this.#meters.values()].map((meter) => meter.close()));
    await this.#members?.close();
  }

  #tendLater(): void {
    this.#cancelTending = this.#parts.clock.after(TENDED_EVERY_MS, () => {
      this.#tend();
      this.#tendLater();
    });
  }

  #tend(): void {
    const nowMs = this.#parts.clock.now();
    void this.#members?.beat(); // never rejects
    for (const meter of this.#meters.values()) meter.tend(nowMs);
    if (nowMs - this.#sweptAtMs < SWEPT_EVERY_MS) return;
    this.#sweptAtMs = nowMs;
    // What could not be removed is found the next time.
    this.#sweep().catch(() => undefined);
  }

  /** Counts of days and months that are long over. */
  async #sweep(): Promise<void> {
    const { state, clock } = this.#parts;
    for (const { key, text } of await state.list("limits ")) {
      const label = key.slice(key.lastIndexOf(" ") + 1);
      if (label !== "rate" && isLongOver(label, clock.wallTime()))
        await state.replace(key, text, undefined);
    }
  }
}
