// What a call costs in compute units: what the operator says, else what its declaration says.
import { byPrecedence } from "../../lib/pattern.ts";

/** By name or pattern. */
export type CostSettings = Readonly<Record<string, number>>;

type Priced = { readonly name: string; readonly cost: number };

/** What an unknown call costs: asking is not free. */
const UNKNOWN_METHOD_COST = 1;

export class Costs {
  /** Declarations are few and live long; those that do not are not kept for it. */
  #costByMethod = new WeakMap<Priced, number>();
  /** The first that fits counts. */
  #prices: ReturnType<typeof byPrecedence<number>> = [];

  constructor(settings: CostSettings) {
    this.configure(settings);
  }

  configure(settings: CostSettings): void {
    this.#costByMethod = new WeakMap();
    this.#prices = byPrecedence(settings);
  }

  /** @param method undefined when the network has no such method. */
  of(method: Priced | undefined): number {
    if (!method) return UNKNOWN_METHOD_COST;
    if (this.#prices.length === 0) return method.cost;
    const known = this.#costByMethod.get(method);
    if (known !== undefined) return known;
    const cost = this.#prices.find(({ isOf }) => isOf(method.name))?.value ?? method.cost;
    this.#costByMethod.set(method, cost);
    return cost;
  }
}

/** The names of settings that price no method that is served: they are misspelt, or not needed. */
export const unservedNames = (
  settings: CostSettings,
  isServed: (name: string) => boolean,
): string[] => Object.keys(settings).filter((name) => !name.includes("*") && !isServed(name));
