// Tasks that must not overlap, and the end of a thing that others still use.

/** Runs tasks one after the other, in the order in which they came. A task that fails holds up no other. */
export class Mutex {
  /** The task that came last. Never rejects. */
  #last: Promise<unknown> = Promise.resolve();
  /** Tasks that run or wait. */
  #tasks = 0;

  get isIdle(): boolean {
    return this.#tasks === 0;
  }

  /** @returns What the task gives. */
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

/** Counts the users of a thing that is to be taken away when it has none. */
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
