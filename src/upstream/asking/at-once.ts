// The attempts of a call that several upstreams are asked at once, and one more when one fails.
import type { Upstream } from "../upstream.ts";
import { type Attempt, attemptAt } from "./decision.ts";

export class AtOnce {
  underWay = 0;
  #attempts = 0;
  /** How many are to be begun now. */
  #due: number;
  readonly #reserve: Upstream[];

  /** @param count How many are asked at once. */
  constructor(upstreams: readonly Upstream[], count: number) {
    this.#reserve = [...upstreams];
    this.#due = count;
  }

  /** How many were not asked yet. */
  get left(): number {
    return this.#reserve.length;
  }

  /** Another upstream is asked in the place of one that failed. */
  replace(): void {
    this.#due += 1;
  }

  /** @returns undefined when no more is due, or no upstream is left. */
  askDue(): Attempt | undefined {
    const upstream = this.#due > 0 ? this.#reserve.shift() : undefined;
    this.#due = upstream ? this.#due - 1 : 0;
    return upstream && this.ask(upstream, 1);
  }

  /** @param tries See `Attempt`. */
  ask(upstream: Upstream, tries: number): Attempt {
    this.underWay += 1;
    this.#attempts += 1;
    return { ...attemptAt(upstream, this.#attempts - 1), tries };
  }
}
