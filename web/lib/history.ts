// The last half hour of the event stream's figures, one value every three seconds: bounded, however long the page is
// open.

const POINTS = 600;
/** The gateway averages rates over ten seconds. */
const STEP_SECONDS = 3;
/** The span of the history, in seconds. */
export const HISTORY_SECONDS = POINTS * STEP_SECONDS;

/** The values of one figure in a ring buffer: a new value replaces the oldest. */
export class Series {
  readonly #seconds = new Float64Array(POINTS);
  readonly #values = new Float64Array(POINTS);
  #next = 0;
  #count = 0;
  #last = Number.NEGATIVE_INFINITY;

  /** Adds a value, at most one in STEP_SECONDS. @param second Since 1970. @param value undefined: unknown. */
  add(second: number, value: number | undefined): void {
    if (second < this.#last + STEP_SECONDS) return;
    this.#last = second;
    this.#seconds[this.#next] = second;
    this.#values[this.#next] = value ?? Number.NaN;
    this.#next = (this.#next + 1) % POINTS;
    this.#count = Math.min(this.#count + 1, POINTS);
  }

  /** The values of the half hour before `now`, the oldest first; a null marks a gap of more than GAP_SECONDS. */
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

/** The gateway's own history, which it sends first, has a value every ten seconds. */
const GAP_SECONDS = 15;

export class History {
  readonly #series = new Map<string, Series>();

  #newest = Number.NEGATIVE_INFINITY;

  /** Adds the present values. When this machine's clock was set back, the held values are of the future: they go. */
  add(second: number, values: ReadonlyMap<string, number | undefined>): void {
    if (second < this.#newest) this.#series.clear();
    this.#newest = second;
    this.recall(second, values);
  }

  /** Adds values of `second`. Series without a value are removed: networks and nodes come and go with reloads. */
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
