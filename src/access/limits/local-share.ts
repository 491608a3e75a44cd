// One process's part of a limit while the state is away.
import { type Bounds, type Taken, takenAt } from "../../lib/token-bucket.ts";

export class LocalShare {
  readonly #bounds: Bounds;
  #taken: Taken;

  /** @param options.left What is known to be left of the whole, for all members together. */
  constructor(options: { bounds: Bounds; left: number; members: number }, nowMs: number) {
    const { bounds, members } = options;
    const [size, perSecond] = [bounds.size / members, bounds.perSecond / members];
    this.#bounds = { size, perSecond };
    this.#taken = { units: size - Math.max(0, options.left) / members, atMs: nowMs };
  }

  left(nowMs: number): number {
    return this.#bounds.size - takenAt(this.#taken, this.#bounds, nowMs);
  }

  /** A call dearer than a full share of a rate takes all of it: it would never pass otherwise. */
  take(units: number, nowMs: number): boolean {
    const { size, perSecond } = this.#bounds;
    const taken = takenAt(this.#taken, this.#bounds, nowMs);
    const price = perSecond > 0 ? Math.min(units, size) : units;
    if (price > size - taken) return false;
    this.#taken = { units: taken + price, atMs: nowMs };
    return true;
  }
}
