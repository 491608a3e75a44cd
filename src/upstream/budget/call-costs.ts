// What calls cost at one upstream: one each, or its vendor's credits.
import { BestMatch } from "../../lib/pattern.ts";

const DEFAULT_COST = 1;

export class CallCosts {
  readonly #costs: BestMatch<number>;

  /** @param costByPattern By method or pattern. */
  constructor(costByPattern: Readonly<Record<string, number>> = {}) {
    this.#costs = new BestMatch(costByPattern);
  }

  of(method: string): number {
    return this.#costs.of(method) ?? DEFAULT_COST;
  }
}
