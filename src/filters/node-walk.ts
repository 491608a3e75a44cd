// The walk of a filter over the chain of the nodes, while the network passes calls through: from its client's cursor to
// the head of a node, down to the branch below that head, and up. The cursor keeps its last blocks with their items, so
// that the next walk, over the nodes' chain or over the stored one, can report them as removed.
import type { ChainView } from "../chain/chain-view.ts";
import type { Position } from "../chain/stored-block.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { errors, RpcError } from "../jsonrpc/rpc-error.ts";
import { mapConcurrently } from "../lib/waiting.ts";
import type { CursorPosition, DeliveredBlock } from "./filter-record.ts";
import type { Formatter } from "./formatters.ts";
import type { NodeBlock, NodeChain } from "./node-chain.ts";
import {
  CursorLost,
  deliveredBlocks,
  FETCHED_AT_MOST,
  LEFT_OUT_AT_MOST,
  newestFirst,
  parentOf,
  shortPath,
  takenBack,
  type Walked,
  type Within,
} from "./walk.ts";

/** A formatter whose items nodes can give. */
export type NodeFormatter = Formatter & Required<Pick<Formatter, "addedByNodes">>;

export type NodeWalkParts = {
  readonly nodes: NodeChain;
  readonly formatter: NodeFormatter;
  /** The stored chain as it was, for blocks that a reorg removed since. */
  readonly stored: ChainView | undefined;
  readonly within: Within;
};

/** The most blocks that one walk goes up; the next walk goes on. */
const BLOCKS_AT_MOST = 64;
const ASKED_AT_ONCE = 8;
/** With more blocks than this above a cursor, headers are fetched at the same time before they are linked. */
const FETCHED_ONE_BY_ONE = 4;

/** A block of the branch, with its items when it is added; `items` are those when it is removed. */
type BranchItems = Position & DeliveredBlock & { readonly added: readonly RawJson[] };

/**
 * The items since a client was at one of the cursors.
 * @param options.most About the number of items of one walk; the next walk goes on after them.
 * @throws CursorLost when no node has a block that the walk needs; RpcError when no node answers.
 */
export async function walkNodes(
  cursors: readonly CursorPosition[],
  { most }: { readonly most: number },
  parts: NodeWalkParts,
): Promise<Walked> {
  const tip = await tipAbove(cursors, parts);
  const branch = new Branch(tip, parts);
  const told = deliveredBlocks(cursors);
  const { items, fork } = await walkDown(cursors, { ...parts, branch, told });
  const above = await itemsAbove(fork, { most, branch }, parts);
  const { number, hash } = above.at(-1) ?? fork;
  const path = shortPath(below(hash, above, told));
  const added = above.flatMap((block) => block.added);
  return { items: [...items, ...added], at: { number, hash, path }, isOfNodes: true };
}

/** The cursor of a filter that begins at a block of a node, after that block's items. */
export async function beginAt(block: NodeBlock, parts: NodeWalkParts): Promise<CursorPosition> {
  const { number, hash } = block;
  return { number, hash, path: shortPath([await itemsOf(block, parts)]) };
}

/** The block that the walk goes up to: the nodes' head, or where that is far above the cursors, a block below it. */
async function tipAbove(
  cursors: readonly Position[],
  { nodes, within }: NodeWalkParts,
): Promise<NodeBlock> {
  const head = await within(nodes.head());
  const lowest = Math.min(...cursors.map(({ number }) => number));
  let tip: NodeBlock | undefined;
  const last = lowest + BLOCKS_AT_MOST + LEFT_OUT_AT_MOST;
  for (let number = lowest + BLOCKS_AT_MOST; !tip && number < head.number; number += 1) {
    if (number > last) throw new CursorLost(); // no node has these blocks any more
    tip = await within(nodes.blockAt(number));
  }
  tip ??= head;
  const between = Array.from(
    { length: Math.max(0, tip.number - lowest - 1) },
    (_, index) => lowest + 1 + index,
  );
  if (between.length > FETCHED_ONE_BY_ONE)
    await mapConcurrently(between, ASKED_AT_ONCE, (number) =>
      within(nodes.blockAt(number)).catch(() => undefined),
    );
  return tip;
}

/** The blocks below a tip, linked by their hashes, as far down as they were needed. */
class Branch {
  readonly tip: NodeBlock;
  #lowest: NodeBlock;
  readonly #blocks = new Map<string, NodeBlock>();
  readonly #parts: Pick<NodeWalkParts, "nodes" | "within">;

  constructor(tip: NodeBlock, parts: Pick<NodeWalkParts, "nodes" | "within">) {
    this.tip = this.#lowest = tip;
    this.#blocks.set(tip.hash, tip);
    this.#parts = parts;
  }

  /**
   * The block of the branch with this position's hash.
   * @throws RpcError 503 when no node has a parent now: a node that lags behind the tip's node was asked.
   */
  async find({ number, hash }: Position): Promise<NodeBlock | undefined> {
    const { nodes, within } = this.#parts;
    while (this.#lowest.number > number && !this.#blocks.has(hash)) {
      const parent = await within(nodes.blockOf(this.#lowest.parentHash));
      if (!parent || parent.number >= this.#lowest.number) throw errors.chainMoves();
      this.#lowest = parent;
      this.#blocks.set(parent.hash, parent);
    }
    return this.#blocks.get(hash);
  }

  /** The blocks above a number, lowest first. */
  above(number: number): NodeBlock[] {
    return [...this.#blocks.values()].filter((block) => block.number > number).reverse();
  }
}

type WalkDownParts = NodeWalkParts & {
  readonly branch: Branch;
  readonly told: ReadonlyMap<string, DeliveredBlock>;
};

/** Goes down from each cursor to the branch. @returns The lowest fork; the removed items, newest block first. */
async function walkDown(
  cursors: readonly CursorPosition[],
  parts: WalkDownParts,
): Promise<{ items: RawJson[]; fork: Position }> {
  const dropped = new Map<string, { number: number; items: readonly RawJson[] }>();
  let fork: Position | undefined;
  for (const cursor of cursors) {
    let at: Position = cursor;
    while (!dropped.has(at.hash)) {
      const kept = await keptAt(at, parts);
      if (kept && (!fork || kept.number < fork.number)) fork = kept;
      if (kept) break;
      if (dropped.size > FETCHED_AT_MOST) throw new CursorLost();
      const { number = at.number, parentHash, items } = await removedBlock(at, parts);
      dropped.set(at.hash, { number, items });
      at = parentOf(at, parentHash, { view: parts.stored, told: parts.told });
    }
  }
  if (!fork) throw new CursorLost();
  return { fork, items: newestFirst(dropped) };
}

/**
 * The position if its block is on the branch, or if nothing denies it: only a node that has a block's height can deny
 * the block, and the nodes' head may be below the cursor because this node lags.
 */
async function keptAt(
  at: Position,
  { branch, nodes, within }: WalkDownParts,
): Promise<Position | undefined> {
  if (at.number < 0) throw new CursorLost();
  if (at.number <= branch.tip.number) return branch.find(at);
  const there = await within(nodes.blockAt(at.number));
  return !there || there.hash === at.hash ? at : undefined;
}

/** A block that a reorg removed: from the store, from the cursor's own path, or from a node. */
async function removedBlock({ hash }: Position, parts: WalkDownParts): Promise<DeliveredBlock> {
  const { stored, told, formatter, nodes, within } = parts;
  const block = stored?.droppedBlock(hash);
  if (stored && block) return takenBack(block, formatter, stored);
  const known = told.get(hash);
  if (known) return known;
  const given = await within(nodes.blockOf(hash));
  if (!given) throw new CursorLost();
  return itemsOf(given, parts);
}

async function itemsOf(
  block: NodeBlock,
  { nodes, formatter, within }: NodeWalkParts,
): Promise<BranchItems> {
  const { number, hash, parentHash } = block;
  const { removed } = formatter;
  const added = await within(formatter.addedByNodes(block, nodes));
  return { number, hash, parentHash, added, items: removed ? added.map(removed) : [] };
}

/** The blocks of the branch above the fork with their items, lowest first: as many as one walk may tell. */
async function itemsAbove(
  fork: Position,
  { most, branch }: { readonly most: number; readonly branch: Branch },
  parts: NodeWalkParts,
): Promise<BranchItems[]> {
  const told: BranchItems[] = [];
  let items = 0;
  const blocks = branch.above(fork.number);
  for (let first = 0; first < blocks.length; first += ASKED_AT_ONCE) {
    const some = blocks.slice(first, first + ASKED_AT_ONCE);
    const found = await mapConcurrently(some, ASKED_AT_ONCE, (block) =>
      itemsOf(block, parts),
    ).catch((error: unknown) => {
      // This walk returns the items so far; the next walk goes on after them.
      if (told.length > 0 && error instanceof RpcError) return undefined;
      throw error;
    });
    if (!found) return told;
    for (const block of found) {
      told.push(block);
      items += block.added.length;
      if (items > most) return told;
    }
  }
  return told;
}

/** The told blocks from this hash on downwards, newest first. */
function* below(
  hash: string,
  above: readonly BranchItems[],
  told: ReadonlyMap<string, DeliveredBlock>,
): Generator<DeliveredBlock> {
  const added = new Map(above.map((each) => [each.hash, each] as const));
  let block: DeliveredBlock | undefined = added.get(hash) ?? told.get(hash);
  while (block) {
    yield block;
    block = added.get(block.parentHash) ?? told.get(block.parentHash);
  }
}
