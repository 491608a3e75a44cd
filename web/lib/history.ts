// The last ten minutes of what events tell, a value a second: as much as a page may hold, however long it is open.

/** Seconds that are kept. */
export const HISTORY_SECONDS = 600;

/** Of one figure; the oldest value leaves for the newest. */
export class Series {
  readonly #seconds = new Float64Array(HISTORY_SECONDS);
  readonly #values = new Float64Array(HISTORY_SECONDS);
  #next = 0;
  #count = 0;

  /** @param second Since 1970. @param value undefined: it is not known. */
  add(second: number, value: number | undefined): void {
    this.#seconds[this.#next] = second;
    this.#values[this.#next] = value ?? Number.NaN;
    this.#next = (this.#next + 1) % HISTORY_SECONDS;
    this.#count = Math.min(this.#count + 1, HISTORY_SECONDS);
  }

  /** The oldest first, of the last ten minutes before `now`; a gap of more than some seconds is a null. */
  read(now: number): { readonly seconds: number[]; readonly values: (number | null)[] } {
    const seconds: number[] = [];
    const values: (number | null)[] = [];
    const first = (this.#next - this.#count + HISTORY_SECONDS) % HISTORY_SECONDS;
    for (let at = 0; at < this.#count; at += 1) {
      const index = (first + at) % HISTORY_SECONDS;
      const second = this.#seconds[index] ?? 0;
      if (second < now - HISTORY_SECONDS) continue;
      const before = seconds.at(-1);
      if (before !== undefined && second - before > GAP_SECONDS) {
        seconds.push(before + 1);
        values.push(null);
      }
      const value = this.#values[index] ?? Number.NaN;
      seconds.push(second);
      values.push(Number.isNaN(value) ? null : value);
    }
    return { seconds, values };
  }
}

const GAP_SECONDS = 5;

/** Series by name. */
export class History {
  readonly #series = new Map<string, Series>();

  /** Whoever is not named any more leaves: networks and nodes come and go with reloads. */
  add(second: number, values: ReadonlyMap<string, number | undefined>): void {
    for (const name of this.#series.keys()) if (!values.has(name)) this.#series.delete(name);
    for (const [name, value] of values) {
      const series = this.#series.get(name) ?? new Series();
      this.#series.set(name, series);
      series.add(second, value);
    }
  }

  read(name: string, now: number): ReturnType<Series["read"]> {
    return this.#series.get(name)?.read(now) ?? { seconds: [], values: [] };
  }
}
