// What the filters of epoch networks tell, as conflux-rust does: the hashes of all blocks of new epochs, or
// matching logs; of a pivot change the first epoch of the new branch (`revertTo`), and no dropped logs.
import type { EpochLogFilter } from "../conflux/epoch-logs.ts";
import { epochMatcher } from "../conflux/epoch-logs.ts";
import { toQuantity } from "../evm/values.ts";
import { type Formatter, type Formatters, itemsOf } from "./formatter.ts";

const NOTHING: Formatter = {
  dropped: () => [],
  added: () => [],
  addedWithin: async ({ to }) => ({ items: [], to }),
};

const hashesOfEpochs: Formatter = {
  dropped: () => [],
  added: (epoch) => epoch.transactionHashes().map((hash) => JSON.stringify(hash)),
  addedWithin: async ({ from, to }, most, view) => {
    const items: string[] = [];
    for (let number = from; number <= to; number += 1) {
      const epoch = view.blockAt(number);
      if (!epoch) return undefined;
      items.push(...hashesOfEpochs.added(epoch, view).map(String));
      if (items.length > most) return { items, to: number };
    }
    return { items, to };
  },
};

function logsOfEpochs(filter: EpochLogFilter, networkId: number): Formatter {
  const matcher = epochMatcher(filter, networkId);
  const reverted: Formatter["reverted"] = ({ number }) => [
    JSON.stringify({ revertTo: toQuantity(number + 1) }),
  ];
  if (matcher === "nothing") return { ...NOTHING, reverted };
  return {
    reverted,
    dropped: () => [],
    added: (epoch, view) => view.logsOf(epoch, matcher),
    addedWithin: async (range, most, view) => {
      const found = await view.logs({ matcher, range, most });
      if (!found) return undefined;
      return itemsOf(found, { most, to: range.to });
    },
  };
}

/** `cfx_*`. */
export const epochFormatters = (networkId: number): Formatters => ({
  logs: (criteria) => logsOfEpochs(criteria as EpochLogFilter, networkId),
  blocks: hashesOfEpochs,
});
