// A mutex for tasks, and a counter of a thing's users that tells when the last user has left.

/** Runs tasks one after the other, in the order in which they came. A task that fails does not stop the next. */
export class Mutex {
  /** The end of the task that came last. Never rejects. */
  #last: Promise<unknown> = Promise.resolve();
  /** The number of tasks that run or wait. */
  #tasks = 0;

  get isIdle(): boolean {
    return this.#tasks === 0;
  }

  /** Runs the task after all earlier tasks. @returns The task's result; rejects when the task does. */
  run<Value>(task: () => Promise<Value>): Promise<Value> {
    const running = this.#last.then(task);
    const end = (): void => {
      this.#tasks -= 1;
    };
    this.#tasks += 1;
    this.#last = running.then(end, end);
    return running;
  }

  /** Waits for all earlier tasks, and begins one. @returns The function that ends it. */
  enter(): Promise<() => void> {
    return new Promise((entered) => {
      void this.run(() => new Promise<void>((leave) => entered(leave)));
    });
  }

  /** Resolves when all earlier tasks have ended. Never rejects. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

/** Counts the users of a thing, for an owner that closes the thing once it has no user. */
export class UseCount {
  #inside = 0;
  #waiting: (() => void)[] = [];

  enter(): void {
    this.#inside += 1;
  }

  leave(): void {
    this.#inside -= 1;
    if (this.#inside === 0) for (const done of this.#waiting.splice(0)) done();
  }

  /** Resolves when the thing has no user. */
  async empty(): Promise<void> {
    if (this.#inside > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
