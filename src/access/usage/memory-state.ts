// For tests: a state in memory, that can be away or fail to say what it did; and a call to be counted.
import type { Clock } from "../../lib/clock.ts";
import type { Change, Entry, State } from "../../state/state.ts";
import type { CountedCall } from "./key-usage.ts";
import { dayOf } from "./usage-days.ts";

export class MemoryState implements State {
  readonly #texts = new Map<string, string>();
  /** Changes that were sent and come later. */
  readonly #late: (readonly Change[])[] = [];
  isAway = false;
  /** What becomes of the next changes whose answer is lost; taken from the front. */
  readonly lost: ("applied" | "never" | "late")[] = [];
  changes = 0;

  async get(key: string): Promise<string | undefined> {
    this.#check();
    return this.#texts.get(key);
  }

  async change(changes: readonly Change[]): Promise<boolean> {
    this.#check();
    this.changes += 1;
    const fate = this.lost.shift();
    if (fate === "late") this.#late.push(changes);
    const isDone = (fate === undefined || fate === "applied") && this.#apply(changes);
    if (fate) throw new Error("no answer");
    return isDone;
  }

  replace(key: string, expected: string | undefined, next: string | undefined): Promise<boolean> {
    return this.change([{ key, expected, next }]);
  }

  async list(prefix: string): Promise<readonly Entry[]> {
    this.#check();
    return [...this.#texts]
      .filter(([key]) => key.startsWith(prefix))
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, text]) => ({ key, text }));
  }

  async close(): Promise<void> {}

  /** What was on its way arrives. */
  arrive(): void {
    for (const changes of this.#late.splice(0)) this.#apply(changes);
  }

  #apply(changes: readonly Change[]): boolean {
    if (changes.some(({ key, expected }) => this.#texts.get(key) !== expected)) return false;
    for (const { key, next } of changes) {
      if (next === undefined) this.#texts.delete(key);
      else this.#texts.set(key, next);
    }
    return true;
  }

  #check(): void {
    if (this.isAway) throw new Error("away");
  }
}

export const okCall: CountedCall = {
  network: "eth",
  method: "eth_call",
  computeUnits: 3,
  bytes: 100,
  requestBytes: 40,
  outcome: "ok",
  saved: undefined,
  upstreamCalls: 1,
};

export const day = (clock: Pick<Clock, "wallTime">): string => dayOf(clock.wallTime());
