// The last blocks on the way to what a client was told, kept with its filter: another gateway, whose nodes
// never had them, can take them back when they were dropped.

import type { Position } from "../chain/block-record.ts";
import type { ChainView } from "../chain/chain-view.ts";
import type { StoredBlock } from "../chain/stored-block.ts";
import type { CursorPosition, DeliveredBlock } from "./filter-record.ts";
import type { Formatter } from "./formatter.ts";

/** Two gateways that live differ in the newest blocks only. */
const BLOCKS_AT_MOST = 16;
/** A filter of so many logs is taken back with what nodes know of dropped blocks. */
const CHARACTERS_AT_MOST = 65_536;

/** @param view In which the position is canonical. */
export function withPath(
  { number, hash }: Position,
  formatter: Formatter,
  view: ChainView,
): CursorPosition {
  const way: DeliveredBlock[] = [];
  let next = hash;
  let characters = 0;
  for (let below = 0; below < BLOCKS_AT_MOST && below <= number; below += 1) {
    const block = view.blockAt(number - below);
    if (block?.hash !== next) break; // older than the window, or moved meanwhile
    const told = takenBack(block, formatter, view);
    const items = told.items.map(String);
    characters += items.reduce((sum, item) => sum + item.length, 0);
    if (characters > CHARACTERS_AT_MOST) break;
    next = block.outline.parentHash;
    way.push({ ...told, items });
  }
  return { number, hash, way };
}

export const takenBack = (
  block: StoredBlock,
  formatter: Formatter,
  view: ChainView,
): DeliveredBlock => ({
  hash: block.hash,
  parentHash: block.outline.parentHash,
  items: formatter.dropped(block, view),
});

/** The blocks of all ways, by their hashes. */
export const deliveredBlocks = (
  places: readonly CursorPosition[],
): ReadonlyMap<string, DeliveredBlock> =>
  new Map(places.flatMap(({ way = [] }) => way.map((block) => [block.hash, block] as const)));
