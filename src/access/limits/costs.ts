// What a call costs in compute units: what the operator says, else what its declaration says.
import { BestMatch } from "../../lib/pattern.ts";

/** By name or pattern. */
export type CostSettings = Readonly<Record<string, number>>;

type Priced = { readonly name: string; readonly cost: number };

/** What an unknown call costs: asking is not free. */
const UNKNOWN_METHOD_COST = 1;

export class Costs {
  /** undefined: nothing is configured. */
  #prices: BestMatch<number> | undefined;

  constructor(settings: CostSettings) {
    this.configure(settings);
  }

  configure(settings: CostSettings): void {
    this.#prices = Object.keys(settings).length > 0 ? new BestMatch(settings) : undefined;
  }

  /** @param method undefined when the network has no such method. */
  of(method: Priced | undefined): number {
    return method ? (this.#prices?.of(method.name) ?? method.cost) : UNKNOWN_METHOD_COST;
  }
}

/** The names of settings that price no method that is served: they are misspelt, or not needed. */
export const unservedNames = (
  settings: CostSettings,
  isServed: (name: string) => boolean,
): string[] => Object.keys(settings).filter((name) => !name.includes("*") && !isServed(name));
