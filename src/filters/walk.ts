// The way of a filter from what its client was told last to the head: down to the canonical chain, and up. Blocks that
// left the store are fetched and proven. When that is impossible the walk is lost; there is never a gap.

import type { ChainView, Sought } from "../chain/chain-view.ts";
import type { Reference } from "../chain/dialect.ts";
import type { Position, StoredBlock } from "../chain/stored-block.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import type { CursorPosition, DeliveredBlock } from "./filter-record.ts";
import type { Formatter } from "./formatters.ts";
import type { Changes } from "./open-filter.ts";

/** The walk cannot be done: no node has some block, or a block does not link to the others. */
export class Lost extends Error {}

type Walked = Changes & { readonly at: CursorPosition };

type WalkOptions = {
  readonly formatter: Formatter;
  /** About how many items one walk gives; the next walk goes on after them. */
  readonly most: number;
  /** Another gateway may make the next walk. */
  readonly isShared: boolean;
};

/** Waits for the promise. @throws RpcError when the caller's time is up before it is there. */
export type Within = <Value>(promise: Promise<Value>) => Promise<Value>;

type WalkParts = {
  readonly view: () => ChainView | undefined;
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly within: Within;
};

/** The chain, and a way to blocks that it does not have. */
type Way = {
  readonly view: ChainView;
  readonly fetch: (wanted: Reference) => Promise<Sought>;
};

/** How often a walk begins again when the chain changes meanwhile, and how soon, in milliseconds. */
const ATTEMPTS = 100;
const AGAIN_AFTER_MS = 10;
/** After this many failures the walk counts as lost. */
export const LOST_AFTER = 3;
export const LOST_AGAIN_AFTER_MS = 250;
/** How many dropped blocks that left the store are fetched at most. */
const FETCHED_AT_MOST = 64;
/** After this time the poll gives what it has found, in milliseconds; the next poll goes on. */
const FETCHING_MS = 3_000;

/**
 * The items since a client was at one of the cursors.
 * @returns undefined when the chain changed again and again meanwhile.
 * @throws Lost; RpcError when the nodes could not be asked.
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
    const way = { view, fetch: (wanted: Reference) => parts.within(view.fetch(wanted)) };
    try {
      const { items, fork } = await walkDown(cursors, formatter, way);
      const up = await walkUp(fork, { formatter, most, clock: parts.clock }, way);
      // The head is still canonical, so all that was read belongs to the chain below it.
      if (up && view.holds) {
        const at = isShared ? withPath(up.at, formatter, view) : up.at;
        return { items: [...items, ...up.items], more: up.more, at };
      }
    } catch (error) {
      lost += 1;
      if (!(error instanceof Lost) || lost >= LOST_AFTER) throw error;
      // Nodes may be ahead of the store: after a reorganisation their blocks do not link to its blocks.
      view.hurry();
      await parts.clock.sleep(LOST_AGAIN_AFTER_MS);
    }
    // The store changes a little before the chain says so.
    await parts.clock.sleep(AGAIN_AFTER_MS);
  }
  return undefined;
}

/** Goes down from each of the cursors to the canonical chain; the lowest fork counts. Newest blocks first. */
async function walkDown(
  cursors: readonly CursorPosition[],
  formatter: Formatter,
  { view, fetch }: Way,
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
        if (fetched > FETCHED_AT_MOST) throw new Lost();
        taken = takenBack(found(await fetch({ hash: at.hash })), formatter, view);
      }
      dropped.set(at.hash, { number: at.number, items: taken.items });
      at = { number: at.number - 1, hash: taken.parentHash };
    }
    if (!dropped.has(at.hash) && (!fork || at.number < fork.number)) fork = at;
  }
  if (!fork) throw new Lost();
  if (formatter.reverted)
    return { fork, items: dropped.size > 0 ? [...formatter.reverted(fork)] : [] };
  const newestFirst = [...dropped.values()].sort((a, b) => b.number - a.number);
  return { fork, items: newestFirst.flatMap(({ items }) => items) };
}

async function isCanonical({ number, hash }: Position, { view, fetch }: Way): Promise<boolean> {
  if (number < 0) throw new Lost();
  const known = view.hashAt(number);
  if (known !== undefined || number >= view.tail) return known === hash;
  return found(await fetch({ number })).hash === hash;
}

type Climb = {
  readonly formatter: Formatter;
  readonly most: number;
  readonly clock: Pick<Clock, "now">;
};

/** Goes up from the fork to the head, or until one poll has enough. */
async function walkUp(fork: Position, climb: Climb, way: Way): Promise<Walked | undefined> {
  const { view } = way;
  const below = await climbToWindow(fork, climb, way);
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

/** Goes up over blocks older than the window, one by one, each linked to the one before. */
async function climbToWindow(
  fork: Position,
  { formatter, most, clock }: Climb,
  { view, fetch }: Way,
): Promise<Walked & { isEnough: boolean }> {
  const giveUpAt = clock.now() + FETCHING_MS;
  const items: RawJson[] = [];
  let at = fork;
  while (at.number + 1 < view.tail) {
    const number = at.number + 1;
    const sought = view.blockAt(number) ?? (await fetch({ number }));
    // This poll answers the items so far; the next poll goes on from there.
    if (sought === "unanswered" && at !== fork) return { items, at, isEnough: true };
    const block = found(sought);
    if (block.outline.parentHash !== at.hash) throw new Lost();
    items.push(...formatter.added(block, view));
    at = { number, hash: block.hash };
    if (items.length > most || clock.now() > giveUpAt) return { items, at, isEnough: true };
  }
  return { items, at, isEnough: false };
}

export function found(sought: Sought): StoredBlock {
  if (sought === "unanswered") throw errors.upstreamsFailed();
  if (typeof sought === "string") throw new Lost();
  return sought;
}

type CursorWaitParts = {
  /** The chain as this process sees it. */
  readonly view: () => Promise<ChainView>;
  /** The newest block, which a node is asked for now. */
  readonly headOfNodes: () => Promise<Position | undefined>;
  readonly clock: Pick<Clock, "now" | "sleep">;
  /** The caller's signal is made when it is read. */
  readonly caller: { readonly signal: Signal };
  readonly within: Within;
};

/** How long a walk waits for a block that another gateway has seen, and how often it looks, in milliseconds. */
const REACHING_MS = 3_000;
const REACHED_AGAIN_AFTER_MS = 50;

/**
 * To be called before a walk, since another gateway, or a writer that is gone, may have seen newer blocks. A block that
 * was never seen here counts as dropped only when the nodes themselves say that our head is theirs. Otherwise blocks of
 * a branch that this gateway is still on would be told as new once more.
 * @param options.isShared Another gateway may have moved the cursors.
 * @throws RpcError 503 while this gateway is not where the nodes are.
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
    // The chain may have been updated again meanwhile.
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

/** The nodes are below our head: either they go back, and our chain will soon, or the node only lags for a moment. */
const isBelow = (head: Position | undefined, view: ChainView): boolean =>
  head !== undefined && head.number < view.head.number && isOnChain(head, view);

/** How many blocks of the way are kept: two gateways that are live differ in the newest blocks only. */
const BLOCKS_AT_MOST = 16;
/** How many characters of items are kept: beyond that, what nodes know of dropped blocks is used. */
const CHARACTERS_AT_MOST = 65_536;

/**
 * The position with the last blocks on the way to it, which are kept with the filter. Another gateway whose nodes never
 * had these blocks can then report them as removed.
 * @param view The position is canonical in it.
 */
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
    if (block?.hash !== next) break; // it is older than the window, or the chain changed meanwhile
    const told = takenBack(block, formatter, view);
    const items = told.items.map(String);
    characters += items.reduce((sum, item) => sum + item.length, 0);
    if (characters > CHARACTERS_AT_MOST) break;
    next = block.outline.parentHash;
    way.push({ ...told, items });
  }
  return { number, hash, way };
}

const takenBack = (block: StoredBlock, formatter: Formatter, view: ChainView): DeliveredBlock => ({
  hash: block.hash,
  parentHash: block.outline.parentHash,
  items: formatter.dropped(block, view),
});

/** The blocks of all ways, by their hashes. */
export const deliveredBlocks = (
  cursors: readonly CursorPosition[],
): ReadonlyMap<string, DeliveredBlock> =>
  new Map(cursors.flatMap(({ way = [] }) => way.map((block) => [block.hash, block] as const)));
