// What the kinds of filters tell of blocks: their hashes, or their matching logs.
import { type LogFilter, matcherOf } from "../evm/log-filter.ts";
import { asRemoved } from "../evm/results.ts";
import { isQuantity, toNumber } from "../evm/values.ts";
import { type Formatter, type Formatters, itemsOf } from "./formatter.ts";

const asJson = (hash: string): string => `"${hash}"`;

/** The hash of each block that became canonical; nothing of those that no longer are. */
const hashesOfBlocks: Formatter = {
  dropped: () => [],
  added: ({ hash }) => [asJson(hash)],
  addedWithin: async ({ from, to }, most, view) => {
    const items: string[] = [];
    for (let number = from; number <= to; number += 1) {
      const hash = view.hashAt(number);
      if (hash === undefined) return undefined;
      items.push(asJson(hash));
      if (items.length > most) return { items, to: number };
    }
    return { items, to };
  },
};

/**
 * The matching logs, those of dropped blocks with `removed: true`. Where the filter names its place in
 * numbers or by a block hash, only logs of there.
 */
function logsOfBlocks(filter: LogFilter): Formatter {
  const matcher = matcherOf(filter);
  const place = placeOf(filter);
  const isWithin = (block: { number: number; hash: string }): boolean =>
    block.number >= place.from &&
    block.number <= place.to &&
    (place.hash === undefined || place.hash === block.hash);
  return {
    dropped: (block, view) => (isWithin(block) ? view.logsOf(block, matcher).map(asRemoved) : []),
    added: (block, view) => (isWithin(block) ? view.logsOf(block, matcher) : []),
    addedWithin: async (range, most, view) => {
      if (place.hash !== undefined) {
        const block = view.blockOf(place.hash);
        const isNew = block && block.number >= range.from && view.isOnChain(block);
        return { items: isNew ? view.logsOf(block, matcher) : [], to: range.to };
      }
      const wanted = {
        from: Math.max(range.from, place.from),
        to: Math.min(range.to, place.to),
      };
      if (wanted.from > wanted.to) return { items: [], to: range.to };
      const found = await view.logs({ matcher, range: wanted, most });
      if (!found) return undefined;
      return itemsOf(found, { most, to: range.to });
    },
  };
}

function placeOf({ fromBlock, toBlock, blockHash }: LogFilter) {
  const numberOr = (reference: string | null | undefined, other: number): number =>
    reference && isQuantity(reference) ? toNumber(reference) : other;
  return {
    from: numberOr(fromBlock, 0),
    to: numberOr(toBlock, Number.POSITIVE_INFINITY),
    hash: blockHash?.toLowerCase(),
  };
}

/** `eth_*`. */
export const blockFormatters: Formatters = {
  logs: (criteria) => logsOfBlocks(criteria as LogFilter),
  blocks: hashesOfBlocks,
};
