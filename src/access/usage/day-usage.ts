// One key's counts of one day, and what the state is known to hold of them. There is one writer of each
// entry, so its text is a total, and writing it again is no harm.
import type { Change } from "../../state/state.ts";
import {
  addTotals,
  type Counts,
  countsIn,
  type Totals,
  textOfTotals,
  totalsOfText,
} from "./counts.ts";

export class DayUsage {
  readonly day: string;
  /** Under which key it is in the state. */
  readonly entryKey: string;
  readonly #totals: Totals = new Map();
  /** Whether there is more than was written. */
  isChanged = false;
  /** false once it was written and put away: another one is opened for calls that still come. */
  isOpen = true;
  /** What the state held when it was looked at or changed last. */
  #known: string | undefined;
  /** Whether that is certain; after a start and after a failure it is not. */
  isSure = false;
  /** What was sent, and may be there or come to be there: nobody said. */
  readonly #unanswered = new Set<string>();
  #proposed = "";

  constructor(options: { day: string; entryKey: string }) {
    this.day = options.day;
    this.entryKey = options.entryKey;
  }

  /** To be counted up by whoever asks for it. */
  countsOf(network: string, method: string): Counts {
    this.isChanged = true;
    return countsIn(this.#totals, network, method);
  }

  /** Takes note of what the state holds. What an earlier process, or one of the same name, counted is kept. */
  found(there: string | undefined): void {
    const isOwn = there === this.#known || (there !== undefined && this.#unanswered.has(there));
    // An entry that is gone was lost, not counted down: it is written again as a whole.
    if (!isOwn && there !== undefined) {
      // Whether something unanswered is in it, nobody can tell: rather too little than counted twice.
      const [counted = this.#known] = [...this.#unanswered].slice(-1);
      addTotals(this.#totals, totalsOfText(there));
      addTotals(this.#totals, totalsOfText(counted), -1);
      this.#unanswered.clear(); // it expects what is not there any more
    }
    this.#known = there;
    this.isSure = true;
  }

  /** The change that brings the state up to date; then one of `written`, `refused` and `unknown` is called. */
  propose(): Change {
    this.isChanged = false;
    this.#proposed = textOfTotals(this.#totals);
    return { key: this.entryKey, expected: this.#known, next: this.#proposed };
  }

  written(): void {
    this.#known = this.#proposed;
    this.#unanswered.clear();
  }

  /** Something else was there, here or at another entry of the same step: it is looked at again. */
  refused(): void {
    this.isChanged = true;
    this.isSure = false;
  }

  /** The state did not say whether it took it. It may even take it later. */
  unknown(): void {
    this.#unanswered.add(this.#proposed);
    this.refused();
  }
}
