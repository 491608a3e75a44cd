// Finds the items of earlier changes again: the items between two cursors of a client, also when a reorg has removed
// the block of the second cursor, or of both, since.
import type { ChainView } from "../chain/chain-view.ts";
import type { Position } from "../chain/stored-block.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { isOnChain } from "./cursor-wait.ts";
import type { CursorPosition, DeliveredBlock } from "./filter-record.ts";
import type { Formatter } from "./formatters.ts";
import type { FoundItems } from "./open-filter.ts";
import { type BlockReader, CursorLost, deliveredBlocks, givenBlock, parentOf } from "./walk.ts";

/** The most blocks that a retrace visits one by one. */
const BLOCKS_AT_MOST = 4_096;

type Retraced = {
  readonly dropped: RawJson[];
  /** The items of the added blocks, highest block first. */
  readonly added: (readonly RawJson[])[];
  /** The lowest block so far on the path down; at the end the block that both paths have. */
  fork: Position;
};

/**
 * The items of the walk that led from one cursor to the other.
 * @throws CursorLost when no node has a block of the walk any more; RpcError when the gateway could not ask the nodes.
 */
export async function retrace(
  { from, to }: { readonly from: CursorPosition; readonly to: CursorPosition },
  reader: BlockReader,
): Promise<FoundItems> {
  const { view, formatter } = reader;
  const known = deliveredBlocks([from, to]);
  const retraced: Retraced = { dropped: [], added: [], fork: from };
  let up: Position = to;
  for (let blocks = 0; retraced.fork.hash !== up.hash; blocks += 1) {
    if (blocks > BLOCKS_AT_MOST || up.number < 0) throw new CursorLost();
    const { fork } = retraced;
    if (fork.number < up.number && isOnChain(fork, view) && isOnChain(up, view))
      return itemsOf(retraced, from, formatter, await along([fork, up], formatter, view));
    const isDown = fork.number >= up.number;
    const block = await stepOf(isDown ? fork : up, isDown, { known, ...reader });
    if (isDown) retraced.dropped.push(...block.items);
    else retraced.added.push(block.items);
    const below = parentOf(isDown ? fork : up, block.parentHash, { view, told: known });
    if (isDown) retraced.fork = below;
    else up = below;
  }
  return itemsOf(retraced, from, formatter, { items: [] });
}

type StepParts = BlockReader & { readonly known: ReadonlyMap<string, DeliveredBlock> };

/** The items of a block when it was removed (`isDown`), or when it was added. */
async function stepOf(
  { hash }: Position,
  isDown: boolean,
  { known, ...reader }: StepParts,
): Promise<DeliveredBlock> {
  const { view, formatter } = reader;
  const told = known.get(hash);
  const { restored = undefined } = formatter;
  const block = view.droppedBlock(hash);
  if (!block && told && isDown) return told;
  if (!block && told && restored) return { ...told, items: told.items.map(restored) };
  if (block) {
    const items = isDown ? formatter.dropped(block, view) : formatter.added(block, view);
    return { hash, parentHash: block.outline.parentHash, items };
  }
  const given = await givenBlock({ hash }, reader);
  if (!given) throw new CursorLost();
  const items = await (isDown ? given.dropped() : given.added());
  return { hash, parentHash: given.parentHash, items };
}

/** The items between two blocks that are both canonical. */
async function along(
  [down, up]: readonly [Position, Position],
  formatter: Formatter,
  view: ChainView,
): Promise<FoundItems> {
  const range = { from: down.number + 1, to: up.number };
  const told = await formatter.addedWithin(range, Number.POSITIVE_INFINITY, view);
  if (told?.to !== up.number || view.hashAt(up.number) !== up.hash) throw new CursorLost();
  return told;
}

function itemsOf(
  { dropped, added, fork }: Retraced,
  from: Position,
  formatter: Formatter,
  { items, more }: FoundItems,
): FoundItems {
  const isReverted = fork.hash !== from.hash;
  const down = formatter.reverted && isReverted ? formatter.reverted(fork) : dropped;
  const above = added.reverse().flat();
  return above.length > 0 && more
    ? { items: [...down, ...items, ...more.all(), ...above] }
    : { items: [...down, ...items, ...above], more };
}
