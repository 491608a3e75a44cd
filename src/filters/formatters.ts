// Formatters turn blocks that came or went into the items of a filter: one for each kind of filter of each family.
// Those of block networks do what geth does, those of epoch networks what conflux-rust does.
import type { ChainView } from "../chain/chain-view.ts";
import type { LogSelection } from "../chain/log-selection.ts";
import type { Position, StoredBlock } from "../chain/stored-block.ts";
import { type EpochLogFilter, epochMatcher } from "../conflux/epoch-logs.ts";
import { type LogFilter, type LogMatcher, type LogRange, matcherOf } from "../evm/log-filter.ts";
import { asRemoved, asRestored, headerOf } from "../evm/results.ts";
import { isQuantity, toNumber, toQuantity } from "../evm/values.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import type { Criteria } from "./filter-record.ts";

/** The filters of one family. */
export type Formatters = {
  logs(criteria: Criteria): Formatter;
  readonly blocks: Formatter;
  /** The header of each block that became canonical; nothing for blocks that no longer are. */
  readonly heads: Formatter;
  /** The formatter of log subscriptions, where they are told other things than polled filters. */
  pushedLogs?(criteria: Criteria): Formatter;
  readonly whole: WholeItems;
};

/** How whole transactions, or blocks of epochs, are fetched for items that are hashes. */
type WholeItems = {
  readonly method: string;
  /** The parameters after the hash. */
  readonly params: readonly unknown[];
  /** @param result undefined: no node has it any more. @returns undefined when a node must have it. */
  told(result: Buffer | undefined, hash: string): RawJson | undefined;
};

/** Turns blocks into a filter's items. */
export type Formatter = {
  /** Which logs, where the items are logs. */
  readonly matcher?: LogMatcher | "nothing";
  /** Used instead of the removed blocks' items, where the family tells only the fork of a reorganisation. */
  reverted?(fork: Position): readonly RawJson[];
  /**
   * An item of a removed block as it was when the block was added; left out where nothing is told of removed blocks.
   */
  restored?(dropped: RawJson): RawJson;
  /** The items of a block that is no longer canonical. */
  dropped(block: StoredBlock, view: ChainView): readonly RawJson[];
  /** The items of a canonical block. */
  added(block: StoredBlock, view: ChainView): readonly RawJson[];
  /**
   * The items of the canonical blocks from one number to another, all within the window. If they have more than `most`
   * items, those of the first blocks only. Undefined when some block cannot be had.
   */
  addedWithin(range: LogRange, most: number, view: ChainView): Promise<BlockItems | undefined>;
};

/** The items of blocks up to the block `to`, with it. */
export type BlockItems = {
  readonly items: readonly RawJson[];
  /** More logs after the items, too many to be held. */
  readonly more?: LogSelection | undefined;
  readonly to: number;
};

/** `eth_*`. */
export const blockFormatters: Formatters = {
  logs: (criteria) => logsOfBlocks(criteria as LogFilter),
  // The hash of each block that became canonical; nothing for blocks that no longer are.
  blocks: {
    dropped: () => [],
    added: ({ hash }) => [asJson(hash)],
    addedWithin: async (range, most, view) =>
      oneByOne(range, most, (number) => {
        const hash = view.hashAt(number);
        return hash === undefined ? undefined : [asJson(hash)];
      }),
  },
  heads: headsAs((block) => headerOf(block.withHashes())),
  whole: {
    method: "eth_getTransactionByHash",
    params: [],
    // The transaction was replaced, so only its hash is left.
    told: (result, hash) =>
      result ?? `{"hash":${hash},"blockHash":null,"blockNumber":null,"transactionIndex":null}`,
  },
};

/** A formatter with one item for each block. */
function headsAs(itemOf: (block: StoredBlock) => string): Formatter {
  // Kept, since all subscriptions are told of the same few blocks.
  let last: { readonly hash: string; readonly item: string } | undefined;
  const itemFor = (block: StoredBlock): string => {
    if (last?.hash !== block.hash) last = { hash: block.hash, item: itemOf(block) };
    return last.item;
  };
  return eachAs((block) => [itemFor(block)]);
}

/** A formatter with the same items for a block whenever it is added, and none when it is removed. */
function eachAs(told: (block: StoredBlock) => readonly string[]): Formatter {
  return {
    dropped: () => [],
    added: told,
    addedWithin: async (range, most, view) =>
      oneByOne(range, most, (number) => {
        const block = view.blockAt(number);
        return block && told(block);
      }),
  };
}

/** An epoch as `cfx_subscribe` tells it. */
const epochOf = (epoch: StoredBlock): string =>
  JSON.stringify({
    epochNumber: toQuantity(epoch.number),
    epochHashesOrdered: epoch.transactionHashes(),
  });

/**
 * `cfx_*`: the hashes of all blocks of new epochs, or matching logs. Of a pivot change only its epoch is told
 * (`revertTo`), and no removed logs.
 */
export const epochFormatters = (networkId: number): Formatters => ({
  logs: (criteria) => logsOfEpochs(criteria as EpochLogFilter, networkId),
  blocks: eachAs(blockHashesOf),
  heads: headsAs(epochOf),
  // A subscription is told the last epoch that stays, a polled filter the first one that is removed.
  pushedLogs: (criteria) => ({
    ...logsOfEpochs(criteria as EpochLogFilter, networkId),
    reverted: ({ number }) => [revertTo(number)],
  }),
  whole: {
    method: "cfx_getBlockByHash",
    params: [false],
    told: (result) => result && headerOf(result, ["gasUsed"]),
  },
});

const revertTo = (epoch: number): string => JSON.stringify({ revertTo: toQuantity(epoch) });

const asJson = (hash: string): string => `"${hash}"`;

/** An epoch has the hashes of its blocks in the place of a block's transaction hashes. */
const blockHashesOf = (epoch: StoredBlock): string[] =>
  epoch.transactionHashes().map((hash) => asJson(hash));

function oneByOne(
  { from, to }: LogRange,
  most: number,
  itemsAt: (number: number) => readonly string[] | undefined,
): BlockItems | undefined {
  const items: string[] = [];
  for (let number = from; number <= to; number += 1) {
    const found = itemsAt(number);
    if (!found) return undefined;
    items.push(...found);
    if (items.length > most) return { items, to: number };
  }
  return { items, to };
}

/**
 * The matching logs; those of removed blocks with `removed: true`. A filter that names its range in numbers or by a
 * block hash gets logs of that range only.
 */
function logsOfBlocks(filter: LogFilter): Formatter {
  const matcher = matcherOf(filter);
  const named = rangeOf(filter);
  const isWithin = (block: { number: number; hash: string }): boolean =>
    block.number >= named.from &&
    block.number <= named.to &&
    (named.hash === undefined || named.hash === block.hash);
  return {
    matcher,
    restored: (log) => asRestored(Buffer.from(log)),
    dropped: (block, view) => (isWithin(block) ? view.logsOf(block, matcher).map(asRemoved) : []),
    added: (block, view) => (isWithin(block) ? view.logsOf(block, matcher) : []),
    addedWithin: async (range, most, view) => {
      if (named.hash !== undefined) {
        const block = view.blockOf(named.hash);
        const isNew = block && block.number >= range.from && view.isOnChain(block);
        return { items: isNew ? view.logsOf(block, matcher) : [], to: range.to };
      }
      const wanted = {
        from: Math.max(range.from, named.from),
        to: Math.min(range.to, named.to),
      };
      if (wanted.from > wanted.to) return { items: [], to: range.to };
      const found = await view.logs({ matcher, range: wanted, most });
      return found && itemsOf(found, { most, to: range.to });
    },
  };
}

function rangeOf({ fromBlock, toBlock, blockHash }: LogFilter) {
  const numberOr = (reference: string | null | undefined, other: number): number =>
    reference && isQuantity(reference) ? toNumber(reference) : other;
  return {
    from: numberOr(fromBlock, 0),
    to: numberOr(toBlock, Number.POSITIVE_INFINITY),
    hash: blockHash?.toLowerCase(),
  };
}

function logsOfEpochs(filter: EpochLogFilter, networkId: number): Formatter {
  const matcher = epochMatcher(filter, networkId);
  return {
    matcher,
    reverted: ({ number }) => [revertTo(number + 1)],
    dropped: () => [],
    added: (epoch, view) => (matcher === "nothing" ? [] : view.logsOf(epoch, matcher)),
    addedWithin: async (range, most, view) => {
      if (matcher === "nothing") return { items: [], to: range.to };
      const found = await view.logs({ matcher, range, most });
      return found && itemsOf(found, { most, to: range.to });
    },
  };
}

/** @param upTo.most With one item more, it ends with the block of the last one. */
export function itemsOf(
  found: LogSelection,
  { most, to }: { readonly most: number; readonly to: number },
): BlockItems {
  const end = found.count > most ? found.numberOf(found.count - 1) : to;
  return found.few ? { items: found.few, to: end } : { items: [], more: found, to: end };
}
