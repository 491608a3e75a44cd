// The last of many logs, counted from the end (specification, cfx_getLogs): what comes in older and older
// pieces is kept only as far as it is answered.

export class NewestLogs {
  /** Newest first. */
  readonly #kept: Buffer[] = [];
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

  /** @param logs In chain order, all older than those that came before. */
  add(logs: readonly Buffer[]): void {
    const { skip, most } = this.#options;
    for (let at = logs.length - 1; at >= 0 && !this.isFull; at -= 1) {
      const log = logs[at] as Buffer;
      if (this.#skipped < skip) this.#skipped += 1;
      else if (this.#kept.length < most) this.#kept.push(log);
      else this.#hasMore = true;
    }
  }

  /** Nothing older changes the answer. */
  get isFull(): boolean {
    const { most, looksFurther } = this.#options;
    return this.#kept.length >= most && (this.#hasMore || !looksFurther);
  }

  /** As many as are wanted. Whether there are still more may not be known. */
  get isEnough(): boolean {
    return this.#kept.length >= this.#options.most;
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
  inOrder(): Buffer[] {
    return this.#kept.toReversed();
  }
}
