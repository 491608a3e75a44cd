// The last half an hour of what events tell, a value every three seconds: as much as a page may hold, however long it
// is open.

const POINTS = 600;
/** Rates are over ten seconds. */
const STEP_SECONDS = 3;
/** Seconds that are kept. */
export const HISTORY_SECONDS = POINTS * STEP_SECONDS;

/** Of one figure; the oldest value leaves for the newest. */
export class Series {
  readonly #seconds = new Float64Array(POINTS);
  readonly #values = new Float64Array(POINTS);
  #next = 0;
  #count = 0;
  #last = Number.NEGATIVE_INFINITY;

  /** What comes too soon after the last value, or is older, is left out. @param second Since 1970. @param value undefined: it is not known. */
  add(second: number, value: number | undefined): void {
    if (second < this.#last + STEP_SECONDS) return;
    this.#last = second;
    this.#seconds[this.#next] = second;
    this.#values[this.#next] = value ?? Number.NaN;
    this.#next = (this.#next + 1) % POINTS;
    this.#count = Math.min(this.#count + 1, POINTS);
  }

  /** The oldest first, of the last half an hour before `now`; a gap of more than some seconds is a null. */
  read(now: number): { readonly seconds: number[]; readonly values: (number | null)[] } {
    const seconds: number[] = [];
    const values: (number | null)[] = [];
    const first = (this.#next - this.#count + POINTS) % POINTS;
    for (let at = 0; at < this.#count; at += 1) {
      const index = (first + at) % POINTS;
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

/** What the gateway tells of the time before has a value every ten seconds. */
const GAP_SECONDS = 15;

/** Series by name. */
export class History {
  readonly #series = new Map<string, Series>();

  #newest = Number.NEGATIVE_INFINITY;

  /** What is so now. When this machine's clock was set back, what is held is of a time that has not come. */
  add(second: number, values: ReadonlyMap<string, number | undefined>): void {
    if (second < this.#newest) this.#series.clear();
    this.#newest = second;
    this.recall(second, values);
  }

  /** What was so then. Whoever is not named any more leaves: networks and nodes come and go with reloads. */
  recall(second: number, values: ReadonlyMap<string, number | undefined>): void {
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
