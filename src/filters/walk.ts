// The walk of a filter from its client's cursor to the head: down to the canonical chain, and up. The walk fetches and
// proves blocks that left the store. Where that is impossible the walk is lost: it never leaves a gap.

import type { BlockFetch, ChainView } from "../chain/chain-view.ts";
import type { Reference } from "../chain/dialect.ts";
import type { Position, StoredBlock } from "../chain/stored-block.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import type { CursorPosition, DeliveredBlock } from "./filter-record.ts";
import type { Formatter } from "./formatters.ts";
import type { Changes } from "./open-filter.ts";

/** The error of a walk that cannot be done: no node has some block, or a block does not link to the others. */
export class CursorLost extends Error {}

type Walked = Changes & { readonly at: CursorPosition };

type WalkOptions = {
  readonly formatter: Formatter;
  /** About the number of items of one walk; the next walk goes on after them. */
  readonly most: number;
  /** Whether another gateway may make the next walk. */
  readonly isShared: boolean;
};

/** Waits for the promise. @throws RpcError when the caller's deadline passes first. */
export type Within = <Value>(promise: Promise<Value>) => Promise<Value>;

type WalkParts = {
  readonly view: () => ChainView | undefined;
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly within: Within;
};

/** The followed chain, and a function that fetches blocks that the chain does not have. */
type BlockReader = {
  readonly view: ChainView;
  readonly fetch: (wanted: Reference) => Promise<BlockFetch>;
};

/** The most attempts of a walk while the chain changes, and the pause between them in milliseconds. */
const ATTEMPTS = 100;
const AGAIN_AFTER_MS = 10;
/** The failures after which a walk counts as lost, and the pause between them in milliseconds. */
export const LOST_AFTER = 3;
export const LOST_AGAIN_AFTER_MS = 250;
/** The most removed blocks that one walk fetches, since they left the store. */
const FETCHED_AT_MOST = 64;
/** After this time, in milliseconds, the poll returns the items that it has found; the next poll goes on. */
const FETCHING_MS = 3_000;

/**
 * The items since a client was at one of the cursors.
 * @returns undefined when the chain changed in each attempt, or the gateway follows no chain yet.
 * @throws CursorLost; RpcError when the gateway could not ask the nodes.
 */
export async function walk(
  cursors: readonly CursorPosition[],
  { formatter, most, isShared }: WalkOptions,
  parts: WalkParts,
): Promise<Walked | undefined> {
  let lost = 0;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const view = parts.view();
    if (!view) return undefined;
    const reader = { view, fetch: (wanted: Reference) => parts.within(view.fetch(wanted)) };
    try {
      const { items, fork } = await walkDown(cursors, formatter, reader);
      const up = await walkUp(fork, { formatter, most, clock: parts.clock }, reader);
      // The head is still canonical, so all blocks of the walk belong to the chain below it.
      if (up && view.holds) {
        const at = isShared ? withPath(up.at, formatter, view) : up.at;
        return { items: [...items, ...up.items], more: up.more, at };
      }
    } catch (error) {
      lost += 1;
      if (!(error instanceof CursorLost) || lost >= LOST_AFTER) throw error;
      // Nodes may be ahead of the store: after a reorg their blocks do not link to the store's blocks.
      view.hurry();
      await parts.clock.sleep(LOST_AGAIN_AFTER_MS);
    }
    // The store changes a little earlier than the chain's view.
    await parts.clock.sleep(AGAIN_AFTER_MS);
  }
  return undefined;
}

/** Goes down from each cursor to the canonical chain. @returns The lowest fork; the removed items, newest block first. */
async function walkDown(
  cursors: readonly CursorPosition[],
  formatter: Formatter,
  { view, fetch }: BlockReader,
): Promise<{ items: RawJson[]; fork: Position }> {
  const dropped = new Map<string, { number: number; items: readonly RawJson[] }>();
  const told = deliveredBlocks(cursors);
  let fork: Position | undefined;
  let fetched = 0;
  for (const cursor of cursors) {
    let at: Position = cursor;
    while (!dropped.has(at.hash) && !(await isCanonical(at, { view, fetch }))) {
      const block = view.droppedBlock(at.hash);
      let taken = block ? takenBack(block, formatter, view) : told.get(at.hash);
      if (!taken) {
        fetched += 1;
        if (fetched > FETCHED_AT_MOST) throw new CursorLost();
        taken = takenBack(found(await fetch({ hash: at.hash })), formatter, view);
      }
      dropped.set(at.hash, { number: at.number, items: taken.items });
      at = { number: at.number - 1, hash: taken.parentHash };
    }
    if (!dropped.has(at.hash) && (!fork || at.number < fork.number)) fork = at;
  }
  if (!fork) throw new CursorLost();
  if (formatter.reverted)
    return { fork, items: dropped.size > 0 ? [...formatter.reverted(fork)] : [] };
  const newestFirst = [...dropped.values()].sort((a, b) => b.number - a.number);
  return { fork, items: newestFirst.flatMap(({ items }) => items) };
}

async function isCanonical(
  { number, hash }: Position,
  { view, fetch }: BlockReader,
): Promise<boolean> {
  if (number < 0) throw new CursorLost();
  const known = view.hashAt(number);
  if (known !== undefined || number >= view.tail) return known === hash;
  return found(await fetch({ number })).hash === hash;
}

type Climb = Pick<WalkOptions, "formatter" | "most"> & Pick<WalkParts, "clock">;

/** Goes up from the fork to the head, or until one poll has enough items. @returns undefined when the chain changed. */
async function walkUp(
  fork: Position,
  climb: Climb,
  reader: BlockReader,
): Promise<Walked | undefined> {
  const { view } = reader;
  const below = await climbToWindow(fork, climb, reader);
  const { at } = below;
  if (below.isEnough) return below;
  const from = at.number + 1;
  if (from > view.head.number) return below;
  const first = view.blockAt(from);
  if (!first) return undefined; // the block left the store meanwhile
  if (first.outline.parentHash !== at.hash) return undefined;
  const room = climb.most - below.items.length;
  const told = await climb.formatter.addedWithin({ from, to: view.head.number }, room, view);
  if (!told) return undefined;
  const hash = view.hashAt(told.to);
  if (hash === undefined) return undefined;
  const { more } = told;
  return { items: [...below.items, ...told.items], more, at: { number: told.to, hash } };
}

/** Goes up over the blocks below the window, one by one, and checks that each links to its parent. */
async function climbToWindow(
  fork: Position,
  { formatter, most, clock }: Climb,
  { view, fetch }: BlockReader,
): Promise<Walked & { isEnough: boolean }> {
  const giveUpAt = clock.now() + FETCHING_MS;
  const items: RawJson[] = [];
  let at = fork;
  while (at.number + 1 < view.tail) {
    const number = at.number + 1;
    const fetched = view.blockAt(number) ?? (await fetch({ number }));
    // This poll returns the items so far; the next poll goes on from `at`.
    if (fetched === "unanswered" && at !== fork) return { items, at, isEnough: true };
    const block = found(fetched);
    if (block.outline.parentHash !== at.hash) throw new CursorLost();
    items.push(...formatter.added(block, view));
    at = { number, hash: block.hash };
    if (items.length > most || clock.now() > giveUpAt) return { items, at, isEnough: true };
  }
  return { items, at, isEnough: false };
}

export function found(fetched: BlockFetch): StoredBlock {
  if (fetched === "unanswered") throw errors.upstreamsFailed();
  if (typeof fetched === "string") throw new CursorLost();
  return fetched;
}

type CursorWaitParts = Pick<WalkParts, "clock" | "within"> & {
  /** The chain as this process sees it. */
  readonly view: () => Promise<ChainView>;
  /** Asks a node for its newest block. */
  readonly headOfNodes: () => Promise<Position | undefined>;
  /** The first read of the caller's signal makes the signal. */
  readonly caller: { readonly signal: Signal };
};

/** The time that a walk waits for a block that another gateway has seen, and the pause between looks, in milliseconds. */
const REACHING_MS = 3_000;
const REACHED_AGAIN_AFTER_MS = 50;

/**
 * Waits before a walk until the chain has reached the cursors: another gateway, or a writer that is gone, may have seen
 * newer blocks. A block that this gateway never saw counts as removed only when the nodes confirm our head. Otherwise
 * the client would once more get, as new, the blocks of a branch that this gateway is about to leave.
 * @param options.isShared Whether another gateway may have moved the cursors.
 * @throws RpcError 503 while this gateway's chain differs from that of the nodes.
 */
export async function waitForCursor(
  cursors: readonly Position[],
  { isShared }: { readonly isShared: boolean },
  { view: viewOfChain, headOfNodes, clock, caller, within }: CursorWaitParts,
): Promise<void> {
  let view = await viewOfChain();
  const unseen = (): readonly Position[] =>
    cursors.filter((cursor) => isAhead(cursor, view) || (isShared && isForeign(cursor, view)));
  if (unseen().length === 0) return;
  const giveUpAt = clock.now() + REACHING_MS;
  for (;;) {
    const highest = Math.max(view.head.number + 1, ...unseen().map(({ number }) => number));
    view = await within(view.reach(highest, caller.signal));
    const left = unseen();
    if (left.length === 0) return;
    const isLate = clock.now() >= giveUpAt;
    if (!left.some((cursor) => isAhead(cursor, view))) {
      const head = await within(headOfNodes());
      if (isOurs(head, view) || (isLate && isBelow(head, view))) return;
    }
    if (isLate) throw errors.chainMoves();
    // The chain may change again meanwhile.
    await within(clock.sleep(REACHED_AGAIN_AFTER_MS, caller.signal));
  }
}

const isAhead = ({ number, hash }: Position, view: ChainView): boolean =>
  number > view.head.number && !view.droppedBlock(hash);

export const isOnChain = ({ number, hash }: Position, view: ChainView): boolean =>
  view.hashAt(number) === hash;

const isForeign = (cursor: Position, view: ChainView): boolean =>
  cursor.number >= view.tail && !isOnChain(cursor, view) && !view.droppedBlock(cursor.hash);

/** Whether the nodes have our chain, at least up to our head. */
const isOurs = (head: Position | undefined, view: ChainView): boolean =>
  head !== undefined && head.number >= view.head.number && isOnChain(head, view);

/** Whether the nodes' head is below ours: a reorg is under way, which our chain will follow soon, or the node lags. */
const isBelow = (head: Position | undefined, view: ChainView): boolean =>
  head !== undefined && head.number < view.head.number && isOnChain(head, view);

/** The most blocks of a path: two live gateways differ in the newest blocks only. */
const BLOCKS_AT_MOST = 16;
/** The most characters of a path's items: for lower removed blocks a walk asks the nodes. */
const CHARACTERS_AT_MOST = 65_536;

/**
 * The position with the last blocks up to it, which the filter's record keeps. Another gateway whose nodes never had
 * these blocks can then report them as removed.
 * @param view A view in which the position is canonical.
 */
export function withPath(
  { number, hash }: Position,
  formatter: Formatter,
  view: ChainView,
): CursorPosition {
  const path: DeliveredBlock[] = [];
  let next = hash;
  let characters = 0;
  for (let below = 0; below < BLOCKS_AT_MOST && below <= number; below += 1) {
    const block = view.blockAt(number - below);
    if (block?.hash !== next) break; // the block is older than the window, or the chain changed meanwhile
    const told = takenBack(block, formatter, view);
    const items = told.items.map(String);
    characters += items.reduce((sum, item) => sum + item.length, 0);
    if (characters > CHARACTERS_AT_MOST) break;
    next = block.outline.parentHash;
    path.push({ ...told, items });
  }
  return { number, hash, path };
}

const takenBack = (block: StoredBlock, formatter: Formatter, view: ChainView): DeliveredBlock => ({
  hash: block.hash,
  parentHash: block.outline.parentHash,
  items: formatter.dropped(block, view),
});

/** The blocks in the paths of all cursors, by hash. */
export const deliveredBlocks = (
  cursors: readonly CursorPosition[],
): ReadonlyMap<string, DeliveredBlock> =>
  new Map(cursors.flatMap(({ path = [] }) => path.map((block) => [block.hash, block] as const)));
