// Collects the last of many logs, counted from the end (specification, cfx_getLogs). Callers add older and older runs;
// the collection keeps only the logs that the answer will have, and only the positions of stored logs.
import type { LogSelection } from "../chain/log-selection.ts";
import { isSelection, type LogRun } from "./log-lists.ts";

/** The most bytes of stored logs whose copies are kept; with more bytes, all are read again when they are sent. */
const WORTH_COPYING = 131_072;

export class NewestLogs {
  /** Newest first. */
  readonly #kept: LogRun[] = [];
  #count = 0;
  #storedBytes = 0;
  #skipped = 0;
  #hasMore = false;
  readonly #options: { skip: number; most: number; looksFurther: boolean };

  /**
   * @param options.skip How many of the last logs are left out.
   * @param options.most How many logs before these are wanted at most.
   * @param options.looksFurther Whether to find out if there are more than `most`.
   */
  constructor(options: { skip: number; most: number; looksFurther: boolean }) {
    this.#options = options;
  }

  /** @param logs In chain order, and all of them older than the logs that were added before. */
  add(logs: LogRun): void {
    const { skip, most, looksFurther } = this.#options;
    const all = isSelection(logs) ? logs.count : logs.length;
    const skipped = Math.min(all, skip - this.#skipped);
    const end = all - skipped;
    const taken = Math.min(end, most - this.#count);
    this.#skipped += skipped;
    this.#count += taken;
    this.#hasMore ||= looksFurther && end > taken;
    if (taken === 0) return;
    const wanted = taken === all ? logs : logs.slice(end - taken, end);
    this.#kept.push(wanted);
    if (isSelection(wanted)) this.#dropCopies(wanted);
  }

  /** Each selection has copies of only a few logs, but all selections together may have many. */
  #dropCopies(added: LogSelection): void {
    this.#storedBytes += added.length;
    if (this.#storedBytes > WORTH_COPYING)
      for (const run of this.#kept) if (isSelection(run)) run.dropCopies();
  }

  /** Whether older logs cannot change the answer. */
  get isFull(): boolean {
    return this.isEnough && (this.#hasMore || !this.#options.looksFurther);
  }

  /** Whether the collection has as many logs as are wanted. It may still be unknown whether there are more. */
  get isEnough(): boolean {
    return this.#count >= this.#options.most;
  }

  /** Assumes that there are more logs, when no further call looks for them. */
  assumeMore(): void {
    this.#hasMore = true;
  }

  /** Whether there is, or is assumed to be, at least one more log than is wanted. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** The bytes of the logs that come from the store. */
  get storedBytes(): number {
    return this.#storedBytes;
  }

  /** The logs in chain order. */
  inOrder(): readonly LogRun[] {
    return this.#kept.toReversed();
  }
}
