// The last of many logs, counted from the end (specification, cfx_getLogs). Logs come in older and older pieces, and
// are kept only as far as they are answered; of stored logs only their positions are kept.
import type { LogSelection } from "../chain/log-selection.ts";
import { isSelection, type LogRun } from "./log-lists.ts";

/** Up to this many bytes logs are copied; others are read again when they are sent. */
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
   * @param options.most How many before them are wanted.
   * @param options.looksFurther Whether to find out if there are still more.
   */
  constructor(options: { skip: number; most: number; looksFurther: boolean }) {
    this.#options = options;
  }

  /** @param logs All of them are older than those that came before. */
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

  /** Each selection has copies of a few logs, and all of them together are many. */
  #dropCopies(added: LogSelection): void {
    this.#storedBytes += added.length;
    if (this.#storedBytes > WORTH_COPYING)
      for (const run of this.#kept) if (isSelection(run)) run.dropCopies();
  }

  /** Whether older logs cannot change the answer. */
  get isFull(): boolean {
    return this.isEnough && (this.#hasMore || !this.#options.looksFurther);
  }

  /** Whether there are as many as are wanted. Whether there are still more may not be known. */
  get isEnough(): boolean {
    return this.#count >= this.#options.most;
  }

  /** To be called when nobody looks whether there are more: it is assumed. */
  endEarly(): void {
    this.#hasMore = true;
  }

  /** Whether there was at least one more than is wanted. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** In chain order. */
  inOrder(): readonly LogRun[] {
    return this.#kept.toReversed();
  }
}
