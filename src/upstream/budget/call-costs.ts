// What calls cost at one upstream: one each, or its vendor's credits.
import { matcherOf } from "../../lib/pattern.ts";

type Price = { readonly isOf: (method: string) => boolean; readonly cost: number };

const DEFAULT_COST = 1;
/** Callers may invent names without end, and long ones. */
const MAX_REMEMBERED = 1024;
const MAX_REMEMBERED_LENGTH = 128;

export class CallCosts {
  /** Found before. Never more than `MAX_REMEMBERED`. */
  readonly #costByMethod = new Map<string, number>();
  /** The first that fits counts. */
  readonly #prices: readonly Price[];

  /** @param costByPattern A name goes before patterns, and the longest pattern before shorter ones. */
  constructor(costByPattern: Readonly<Record<string, number>> = {}) {
    this.#prices = Object.entries(costByPattern)
      .sort(([one], [other]) => rankOf(other) - rankOf(one))
      .map(([pattern, cost]) => ({ isOf: matcherOf([pattern]), cost }));
  }

  of(method: string): number {
    if (this.#prices.length === 0) return DEFAULT_COST;
    const remembered = this.#costByMethod.get(method);
    if (remembered !== undefined) return remembered;
    const cost = this.#prices.find(({ isOf }) => isOf(method))?.cost ?? DEFAULT_COST;
    // The names that are really used are back at once.
    if (this.#costByMethod.size >= MAX_REMEMBERED) this.#costByMethod.clear();
    if (method.length <= MAX_REMEMBERED_LENGTH) this.#costByMethod.set(method, cost);
    return cost;
  }
}

const rankOf = (pattern: string): number =>
  pattern.includes("*") ? pattern.replaceAll("*", "").length : Number.POSITIVE_INFINITY;
