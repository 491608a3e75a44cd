// How many filters each key has, over all networks; a very large one counts as several.

export class FilterCount {
  readonly #counts = new Map<string, number>();

  of(holder: string): number {
    return this.#counts.get(holder) ?? 0;
  }

  add(holder: string, by: number): void {
    const count = this.of(holder) + by;
    if (count > 0) this.#counts.set(holder, count);
    else this.#counts.delete(holder);
  }
}
