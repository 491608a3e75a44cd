// A mutex for tasks, and a counter of users that tells when nobody uses a thing any more.

/** Runs tasks one after the other, in the order in which they came. A task that fails does not stop the next. */
export class Mutex {
  /** The end of the task that came last. Never rejects. */
  #last: Promise<unknown> = Promise.resolve();
  /** Tasks that run or wait. */
  #tasks = 0;

  get isIdle(): boolean {
    return this.#tasks === 0;
  }

  /** @returns What the task returns. */
  run<Value>(task: () => Promise<Value>): Promise<Value> {
    const running = this.#last.then(task);
    const end = (): void => {
      this.#tasks -= 1;
    };
    this.#tasks += 1;
    this.#last = running.then(end, end);
    return running;
  }

  /** Resolves when all tasks have ended that came before. Never rejects. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

/** Counts the users of a thing that is to be closed once it has none. */
export class Occupancy {
  #inside = 0;
  #waiting: (() => void)[] = [];

  enter(): void {
    this.#inside += 1;
  }

  leave(): void {
    this.#inside -= 1;
    if (this.#inside === 0) for (const done of this.#waiting.splice(0)) done();
  }

  /** Resolves when it has no user. */
  async empty(): Promise<void> {
    if (this.#inside > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
