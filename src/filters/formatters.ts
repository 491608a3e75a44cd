// Formatters turn added and removed blocks into the items of a filter: one formatter for each kind of filter of each
// family. The formatters of block networks follow geth, those of epoch networks conflux-rust.
import type { ChainView } from "../chain/chain-view.ts";
import type { LogSelection } from "../chain/log-selection.ts";
import type { Position, StoredBlock } from "../chain/stored-block.ts";
import { type EpochLogFilter, epochMatcher } from "../conflux/epoch-logs.ts";
import { type LogFilter, type LogMatcher, type LogRange, matcherOf } from "../evm/log-filter.ts";
import { asRemoved, asRestored, headerOf } from "../evm/results.ts";
import { isQuantity, toNumber, toQuantity } from "../evm/values.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import type { Criteria } from "./filter-record.ts";
import type { NodeBlock, NodeChain } from "./node-chain.ts";
import type { FoundItems } from "./open-filter.ts";

/** The formatters of one family. */
export type Formatters = {
  logs(criteria: Criteria): Formatter;
  readonly blocks: Formatter;
  /** The header of each block that became canonical; no items for removed blocks. */
  readonly heads: Formatter;
  /** The formatter of log subscriptions, where their items differ from those of polled filters. */
  pushedLogs?(criteria: Criteria): Formatter;
  readonly whole: WholeItems;
};

/** The call that fetches the whole transaction, or the block of an epoch, for an item that is a hash. */
type WholeItems = {
  readonly method: string;
  /** The parameters after the hash. */
  readonly params: readonly unknown[];
  /** The whole item. @param result undefined when no node has the item. @returns undefined when the call has failed. */
  told(result: Buffer | undefined, hash: string): RawJson | undefined;
};

/** Turns blocks into a filter's items. */
export type Formatter = {
  /** The matcher of logs, where the items are logs. */
  readonly matcher?: LogMatcher | "nothing";
  /** The items that replace those of the removed blocks, where the family reports only the fork point of a reorg. */
  reverted?(fork: Position): readonly RawJson[];
  /** Turns the item of a removed block back into that of the added block; absent where removed blocks have no items. */
  restored?(dropped: RawJson): RawJson;
  /** The items of a block that is no longer canonical. */
  dropped(block: StoredBlock, view: Pick<ChainView, "logsOf">): readonly RawJson[];
  /** The items of a canonical block. */
  added(block: StoredBlock, view: Pick<ChainView, "logsOf">): readonly RawJson[];
  /**
   * The items of a block that the store does not have, as a node gives them; absent where nodes cannot give them.
   * @throws RpcError when no node answers.
   */
  addedByNodes?(block: NodeBlock, nodes: Pick<NodeChain, "logsOf">): Promise<readonly RawJson[]>;
  /** Turns the item of an added block into that of the removed block; absent where removed blocks have no items. */
  removed?(added: RawJson): RawJson;
  /**
   * The items of the canonical blocks of a range within the window; beyond `most` items, those of the first blocks only.
   * undefined when the store lacks some block.
   */
  addedWithin(range: LogRange, most: number, view: ChainView): Promise<BlockItems | undefined>;
};

/** The items of blocks up to the number `to`, inclusive. */
export type BlockItems = FoundItems & { readonly to: number };

/** The formatters of `eth_*`. */
export const blockFormatters: Formatters = {
  logs: (criteria) => logsOfBlocks(criteria as LogFilter),
  // The hash of each block that became canonical; no items for removed blocks.
  blocks: {
    dropped: () => [],
    added: ({ hash }) => [asJson(hash)],
    addedByNodes: async ({ hash }) => [asJson(hash)],
    addedWithin: async (range, most, view) =>
      oneByOne(range, { most, view }, (number) => {
        const hash = view.hashAt(number);
        return hash === undefined ? undefined : [asJson(hash)];
      }),
  },
  heads: {
    ...headsAs((block) => headerOf(block.withHashes())),
    addedByNodes: async ({ header }) => [header],
  },
  whole: {
    method: "eth_getTransactionByHash",
    params: [],
    // A null result: another transaction replaced this one, so only its hash is left.
    told: (result, hash) =>
      result ?? `{"hash":${hash},"blockHash":null,"blockNumber":null,"transactionIndex":null}`,
  },
};

/** A formatter with one item for each block. */
function headsAs(itemOf: (block: StoredBlock) => string): Formatter {
  // Remembered, since all subscriptions report the same few blocks.
  let last: { readonly hash: string; readonly item: string } | undefined;
  const itemFor = (block: StoredBlock): string => {
    if (last?.hash !== block.hash) last = { hash: block.hash, item: itemOf(block) };
    return last.item;
  };
  return eachAs((block) => [itemFor(block)]);
}

/** A formatter with the same items for a block each time the block is added, and no items when it is removed. */
function eachAs(told: (block: StoredBlock) => readonly string[]): Formatter {
  return {
    dropped: () => [],
    added: told,
    addedWithin: async (range, most, view) =>
      oneByOne(range, { most, view }, (number) => {
        const block = view.blockAt(number);
        return block && told(block);
      }),
  };
}

/** An epoch as `cfx_subscribe` reports it. */
const epochOf = (epoch: StoredBlock): string =>
  JSON.stringify({
    epochNumber: toQuantity(epoch.number),
    epochHashesOrdered: epoch.transactionHashes(),
  });

/**
 * The formatters of `cfx_*`: the hashes of all blocks of new epochs, or matching logs. A pivot change has one item, its
 * epoch (`revertTo`), and no removed logs.
 */
export const epochFormatters = (networkId: number): Formatters => ({
  logs: (criteria) => logsOfEpochs(criteria as EpochLogFilter, networkId),
  blocks: eachAs(blockHashesOf),
  heads: headsAs(epochOf),
  // For a subscription `revertTo` is the last epoch that stays; for a polled filter, the first removed epoch.
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

/** A stored epoch has the hashes of its blocks in the place of a block's transaction hashes. */
const blockHashesOf = (epoch: StoredBlock): string[] =>
  epoch.transactionHashes().map((hash) => asJson(hash));

/** Heights of the window that have no block are heights that the chain left out. */
function oneByOne(
  { from, to }: LogRange,
  { most, view }: { readonly most: number; readonly view: Pick<ChainView, "tail"> },
  itemsAt: (number: number) => readonly string[] | undefined,
): BlockItems | undefined {
  const items: string[] = [];
  for (let number = from; number <= to; number += 1) {
    const found = itemsAt(number);
    if (!found && (number < view.tail || number === to)) return undefined;
    items.push(...(found ?? []));
    if (items.length > most) return { items, to: number };
  }
  return { items, to };
}

/**
 * A formatter of matching logs; logs of removed blocks have `removed: true`. A filter whose range has block numbers, or
 * a block hash, gets logs of that range only.
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
    removed: (log) => asRemoved(Buffer.from(log)),
    addedByNodes: async (block, nodes) => (isWithin(block) ? nodes.logsOf(block, filter) : []),
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

/** The found logs as items. A search with more than `most` logs ended with the block of the last log; others, at `to`. */
export function itemsOf(
  found: LogSelection,
  { most, to }: { readonly most: number; readonly to: number },
): BlockItems {
  const end = found.count > most ? found.numberOf(found.count - 1) : to;
  return found.few ? { items: found.few, to: end } : { items: [], more: found, to: end };
}
