// What calls would have cost at a provider.
import { byPrecedence } from "../../lib/pattern.ts";
import type { Counts } from "./counts.ts";

export type PriceSettings = {
  readonly currency: string;
  /** For a million compute units, where the method has no price of its own. */
  readonly computeUnits: number;
  /** For a million calls, by method or pattern. */
  readonly methods: Readonly<Record<string, number>>;
};

export type Cost = {
  /** Of all calls. */
  readonly cost: number;
  /** Of those that no node was asked for. */
  readonly savedCost: number;
};

export type PriceList = {
  readonly currency: string;
  costOf(counts: Readonly<Counts> & { readonly method: string }): Cost;
};

/** A method's own price wins over patterns, of these the longest, and all of them over compute units. */
export function priceList({ currency, computeUnits, methods }: PriceSettings): PriceList {
  const patterns = byPrecedence(methods);
  const known = new Map<string, number | undefined>();
  const priceOf = (method: string): number | undefined => {
    if (!known.has(method)) {
      known.set(method, patterns.find(({ isOf }) => isOf(method))?.value);
    }
    return known.get(method);
  };
  return {
    currency,
    costOf: (row) => {
      const price = priceOf(row.method);
      const { calls, savedComputeUnits } = row;
      if (price === undefined) {
        return costs(computeUnits, row.computeUnits, savedComputeUnits);
      }
      return costs(price, calls, savedCalls(row));
    },
  };
}

const savedCalls = ({ savedByStore, savedByMerging, savedHere }: Readonly<Counts>): number =>
  savedByStore + savedByMerging + savedHere;

const costs = (perMillion: number, all: number, saved: number): Cost => ({
  cost: rounded((all * perMillion) / 1_000_000),
  savedCost: rounded((saved * perMillion) / 1_000_000),
});

/** To a billionth of the currency: what is behind is noise of floating point. */
export const rounded = (amount: number): number => Math.round(amount * 1e9) / 1e9;
