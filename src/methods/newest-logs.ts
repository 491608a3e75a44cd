// The last of many logs, counted from the end (specification, cfx_getLogs): what comes in older and older
// pieces is kept only as far as it is answered, and what the store has only as where it stands.
import type { LogSelection } from "../chain/log-selection.ts";
import { isSelection, type LogRun } from "./log-lists.ts";

/** In bytes: more than that is read again when it is sent. */
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
   * @param options.skip So many of the last are left out.
   * @param options.most So many before them are wanted.
   * @param options.looksFurther It is asked whether there are still more.
   */
  constructor(options: { skip: number; most: number; looksFurther: boolean }) {
    this.#options = options;
  }

  /** @param logs All older than those that came before. */
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

  /** Each has copies of a few logs, and all of them together are many. */
  #dropCopies(added: LogSelection): void {
    this.#storedBytes += added.length;
    if (this.#storedBytes > WORTH_COPYING)
      for (const run of this.#kept) if (isSelection(run)) run.dropCopies();
  }

  /** Nothing older changes the answer. */
  get isFull(): boolean {
    return this.isEnough && (this.#hasMore || !this.#options.looksFurther);
  }

  /** As many as are wanted. Whether there are still more may not be known. */
  get isEnough(): boolean {
    return this.#count >= this.#options.most;
  }

  /** Nobody looks whether there are more: it is taken for so. */
  endEarly(): void {
    this.#hasMore = true;
  }

  /** There was at least one more than are wanted. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** In chain order. */
  inOrder(): readonly LogRun[] {
    return this.#kept.toReversed();
  }
}
