// What calls cost at one upstream: one each, or its vendor's credits.
import { byPrecedence } from "../../lib/pattern.ts";

const DEFAULT_COST = 1;
/** Callers may invent names without end, and long ones. */
const MAX_REMEMBERED = 1024;
const MAX_REMEMBERED_LENGTH = 128;

export class CallCosts {
  /** Found before. Never more than `MAX_REMEMBERED`. */
  readonly #costByMethod = new Map<string, number>();
  /** The first that fits counts. */
  readonly #prices: ReturnType<typeof byPrecedence<number>>;

  /** @param costByPattern By method or pattern; see `byPrecedence`. */
  constructor(costByPattern: Readonly<Record<string, number>> = {}) {
    this.#prices = byPrecedence(costByPattern);
  }

  of(method: string): number {
    if (this.#prices.length === 0) return DEFAULT_COST;
    const remembered = this.#costByMethod.get(method);
    if (remembered !== undefined) return remembered;
    const cost = this.#prices.find(({ isOf }) => isOf(method))?.value ?? DEFAULT_COST;
    // The names that are really used are back at once.
    if (this.#costByMethod.size >= MAX_REMEMBERED) this.#costByMethod.clear();
    if (method.length <= MAX_REMEMBERED_LENGTH) this.#costByMethod.set(method, cost);
    return cost;
  }
}
