// What filters tell of blocks that came or went: each kind of filter, of each family, in its own words.

import type { Position } from "../chain/block-record.ts";
import type { ChainView } from "../chain/chain-view.ts";
import type { LogSelection } from "../chain/log-search.ts";
import type { StoredBlock } from "../chain/stored-block.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import type { Criteria } from "./filter-record.ts";

/** The filters of one family. */
export type Formatters = {
  logs(criteria: Criteria): Formatter;
  readonly blocks: Formatter;
};

/** What a filter tells of blocks. */
export type Formatter = {
  /** Instead of all that was dropped, where the family tells of a reorganisation by its fork only. */
  reverted?(fork: Position): readonly RawJson[];
  /** Of a block that is no longer canonical. */
  dropped(block: StoredBlock, view: ChainView): readonly RawJson[];
  /** Of a canonical block. */
  added(block: StoredBlock, view: ChainView): readonly RawJson[];
  /**
   * Of the canonical blocks from one number to another, all within the window; of the first of them
   * only, when they tell of more than `most` things. undefined when they are not all to be had.
   */
  addedWithin(
    range: { readonly from: number; readonly to: number },
    most: number,
    view: ChainView,
  ): Promise<BlockItems | undefined>;
};

/** What blocks tell, up to and with the block `to`. */
export type BlockItems = {
  readonly items: readonly RawJson[];
  /** Logs behind the items, which are too many to be held. */
  readonly more?: LogSelection | undefined;
  readonly to: number;
};

/** @param upTo.most With one more, it ends with the block of the last that was found. */
export function itemsOf(
  found: LogSelection,
  { most, to }: { readonly most: number; readonly to: number },
): BlockItems {
  const end = found.count > most ? found.numberOf(found.count - 1) : to;
  return found.few ? { items: found.few, to: end } : { items: [], more: found, to: end };
}
