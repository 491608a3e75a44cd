// One limit's entry in the state as one process sees and changes it, by compare-and-set.
import type { Clock } from "../../lib/clock.ts";
import type { State } from "../../state/state.ts";
import {
  type Bounds,
  NOTHING_TAKEN,
  readTaken,
  type Taken,
  takenAt,
  textOfTaken,
} from "./taken.ts";

export type EntryParts = {
  readonly state: Pick<State, "get" | "replace">;
  readonly clock: Pick<Clock, "now" | "wallTime">;
};

/** Others are faster now and then; so often in a row only when something is wrong. */
const MOST_TRIES = 32;

export class SharedEntry {
  bounds: Bounds;
  /** When the state was last seen, by our clock; never at first. */
  seenAtMs = Number.NEGATIVE_INFINITY;
  /** When the state last said anything. */
  answeredAtMs = Number.NEGATIVE_INFINITY;
  #taken: Taken = NOTHING_TAKEN;
  #text: string | undefined;
  /** Whether `#text` may be what is there: then one round trip is enough. */
  #isKnown = false;
  /** Others change it too: asking first costs less than being refused. */
  #isContended = false;
  /**
   * What the limit's time is ahead of our clock. It begins with the wall time, and whoever is behind the
   * entry adopts the entry's. So it goes on as fast as real time, whatever the clocks of the machines
   * show: one that is far ahead moves it once, and then never again.
   */
  #aheadMs: number;
  /** Changes that nobody said yes or no to, by the text they would leave. */
  readonly #unanswered = new Map<string, number>();
  /** Of these, what turned out to have happened, until somebody is told. */
  #found = 0;
  #writes = 0;
  readonly #key: string;
  readonly #mark: string;
  readonly #parts: EntryParts;

  /** @param options.mark Of this process alone. */
  constructor(options: { key: string; bounds: Bounds; mark: string }, parts: EntryParts) {
    this.#key = options.key;
    this.#mark = options.mark;
    this.bounds = options.bounds;
    this.#parts = parts;
    this.#aheadMs = parts.clock.wallTime() - parts.clock.now();
  }

  /** What is left, as far as is known here. */
  left(nowMs: number): number {
    return this.bounds.size - takenAt(this.#taken, this.bounds, nowMs + this.#aheadMs);
  }

  /** The most that was taken by changes that nobody said yes or no to. */
  get unclear(): number {
    return [...this.#unanswered.values()].reduce((sum, units) => sum + Math.max(0, units), 0);
  }

  /**
   * Takes what `plan` says of what is left; gives back when that is negative. The plan is told what an
   * earlier change took that was thought to have failed, and asked again when another process was faster.
   *
   * @returns What was taken, with what was found.
   * @throws When the state is away. Then nothing was taken, or it is found by a later call.
   */
  async move(plan: (left: number, found: number) => number): Promise<number> {
    let isFresh = false;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      if (!this.#isKnown || (this.#isContended && !isFresh)) {
        await this.#look();
        isFresh = true;
      }
      const nowMs = this.#parts.clock.now();
      const units = plan(this.left(nowMs), this.#found);
      if (units === 0 && isFresh) return this.#withFound(0);
      if (units !== 0 && (await this.#write(units, nowMs))) return this.#withFound(units);
      if (units !== 0 && !isFresh) this.#isContended = true;
      this.#isKnown = false;
      isFresh = false;
    }
    return this.#withFound(0);
  }

  #withFound(units: number): number {
    const sum = units + this.#found;
    this.#found = 0;
    return sum;
  }

  async #look(): Promise<void> {
    const before = this.#isKnown ? this.#text : undefined;
    this.#isKnown = false;
    const text = await this.#parts.state.get(this.#key);
    this.answeredAtMs = this.#parts.clock.now();
    this.#found += Math.max(0, this.#unanswered.get(text ?? "") ?? 0);
    this.#unanswered.delete(text ?? "");
    if (before !== undefined && before === text) this.#isContended = false;
    this.#adopt(text);
  }

  async #write(units: number, nowMs: number): Promise<boolean> {
    const atMs = nowMs + this.#aheadMs;
    const taken = Math.max(0, takenAt(this.#taken, this.bounds, atMs) + units);
    this.#writes += 1;
    const next = textOfTaken({ units: taken, atMs }, `${this.#mark}.${this.#writes}`);
    this.#unanswered.set(next, units);
    this.#isKnown = false;
    const isDone = await this.#parts.state.replace(this.#key, this.#text, next);
    this.answeredAtMs = this.#parts.clock.now();
    this.#unanswered.delete(next);
    if (!isDone) return false;
    this.#unanswered.clear(); // what was expected there can never be there again
    this.#adopt(next);
    return true;
  }

  #adopt(text: string | undefined): void {
    this.#text = text;
    this.#isKnown = true;
    this.#taken = readTaken(text);
    this.seenAtMs = this.#parts.clock.now();
    this.#aheadMs = Math.max(this.#aheadMs, this.#taken.atMs - this.seenAtMs);
  }
}
