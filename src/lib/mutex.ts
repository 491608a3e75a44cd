// Who waits for whom: tasks that must not overlap, and whoever takes away what others still use.

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

/** Counts those who use a thing, for whoever takes it away when nobody uses it any more. */
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

  /** Resolves when nobody is inside. */
  async empty(): Promise<void> {
    if (this.#inside > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
