// Who is still inside: for whoever takes something away that others are using.

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
  empty(): Promise<void> {
    return this.#inside === 0
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.#waiting.push(resolve);
        });
  }
}
