// One key's counts of one day that were not sent to the state yet.
import type { Addition, CounterTree } from "../../state/state.ts";
import { type Counts, countsIn, type Totals, treeOf } from "./counts.ts";

export class DayUsage {
  readonly day: string;
  /** Under which key its counters are in the state. */
  readonly entryKey: string;
  #counted: Totals = new Map();
  /** false once it was sent and put away: another one is opened for calls that still come. */
  isOpen = true;

  constructor(options: { day: string; entryKey: string }) {
    this.day = options.day;
    this.entryKey = options.entryKey;
  }

  get isEmpty(): boolean {
    return this.#counted.size === 0;
  }

  /** To be counted up by whoever asks for it, at once. */
  countsOf(network: string, method: string): Counts {
    return countsIn(this.#counted, network, method);
  }

  /** Takes out what was counted since the last time. */
  takeOut(): Addition {
    const counts: CounterTree = treeOf(this.#counted);
    this.#counted = new Map();
    return { key: this.entryKey, counts };
  }
}
