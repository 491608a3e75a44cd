// How much a process asks of one limit: so that it reserves what it needs for the next moments, and no more.

/** For how long a reservation should last. The next one is asked for when half of it is gone. */
const RESERVATION_MS = 200;

export class Demand {
  #askedUnits = 0;
  #calls = 0;
  /** A look lasts as long as a reservation at least: shorter ones take a batch for a stream. */
  #sinceMs: number;
  /** Units a millisecond, of the look before. */
  #before = 0;
  #waitingUnits = 0;
  #leastWaiting = Number.POSITIVE_INFINITY;
  /** What a reservation should hold; grows to the double at most from one reservation to the next. */
  #target = 0;
  /** A process that holds less asks ahead. */
  lowWater = 0;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** A call took so much, or was refused it. */
  add(units: number): void {
    this.#calls += 1;
    this.#askedUnits += units;
  }

  /** A call waits for the reservation. */
  wait(units: number): void {
    this.#waitingUnits += units;
    this.#leastWaiting = Math.min(this.#leastWaiting, units);
  }

  get waitingUnits(): number {
    return this.#waitingUnits;
  }

  /** What to ask for, holding `held`, of a limit that gives `most` in the long run. */
  wanted(held: number, nowMs: number, most: number): { least: number; wanted: number } {
    const waiting = this.#waitingUnits;
    const lookMs = nowMs - this.#sinceMs;
    const before = lookMs > 2 * RESERVATION_MS ? 0 : this.#before;
    const perMs = Math.max(before, this.#askedUnits / Math.max(lookMs, RESERVATION_MS));
    const steady = Math.min(perMs, most / 1000) * RESERVATION_MS;
    const target = Math.min(steady, 2 * this.#target + waiting);
    const least = waiting > 0 ? Math.max(0, this.#leastWaiting - held) : 0;
    return { least, wanted: Math.ceil(Math.max(target, waiting) - held) };
  }

  /** The reservation has ended: who still waits asks again. */
  ended(nowMs: number, most: number): void {
    const { wanted } = this.wanted(0, nowMs, most);
    this.#target = wanted;
    // A call now and then is not worth a reservation ahead, which would only go back unused.
    this.lowWater = this.#calls > 1 ? wanted / 2 : 0;
    this.#waitingUnits = 0;
    this.#leastWaiting = Number.POSITIVE_INFINITY;
    const lookMs = nowMs - this.#sinceMs;
    if (lookMs < RESERVATION_MS) return;
    this.#before = this.#askedUnits / lookMs;
    this.#calls = 0;
    this.#askedUnits = 0;
    this.#sinceMs = nowMs;
  }
}
