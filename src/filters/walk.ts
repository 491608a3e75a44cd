// The walk of a filter: from what its client was told last, down to the chain as it is, and up to the
// head. What the store does not have any more is fetched and proven, or the walk is lost: never a gap.

import type { Position } from "../chain/block-record.ts";
import type { ChainView, Sought } from "../chain/chain-view.ts";
import type { Reference } from "../chain/dialect.ts";
import type { LogSelection } from "../chain/log-search.ts";
import type { StoredBlock } from "../chain/stored-block.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import { deliveredBlocks, takenBack, withPath } from "./cursor-path.ts";
import type { CursorPosition } from "./filter-record.ts";
import type { Formatter } from "./formatter.ts";

/** The way cannot be walked: some block is not to be had, or does not fit to the others. */
export class Lost extends Error {}

export type Walked = {
  readonly items: readonly RawJson[];
  /** Logs behind the items, which are too many to be held. */
  readonly more?: LogSelection | undefined;
  readonly at: CursorPosition;
};

export type WalkOptions = {
  readonly formatter: Formatter;
  /** About so many items are told at once; the next walk goes on behind them. */
  readonly most: number;
  /** The next walk may be another gateway's. */
  readonly isShared: boolean;
};

export type WalkParts = {
  readonly view: () => ChainView | undefined;
  readonly clock: Pick<Clock, "now" | "sleep">;
  /** Throws when the caller's time is up before the promise is there. */
  readonly within: <Value>(promise: Promise<Value>) => Promise<Value>;
};

/** The chain, and the blocks that it does not have. */
type Way = {
  readonly view: ChainView;
  readonly fetch: (wanted: Reference) => Promise<Sought>;
};

/** A walk is begun again when the chain is moved under it: a little later, and not without end. */
const ATTEMPTS = 100;
const AGAIN_AFTER_MS = 10;
/** The way is lost when it was not found so often. */
const LOST_AFTER = 3;
const LOST_AGAIN_AFTER_MS = 250;
/** So many dropped blocks that left the store are fetched. */
const FETCHED_AT_MOST = 64;
/** After so long, what was found is told, and the next poll goes on. */
const FETCHING_MS = 3_000;

/**
 * What happened since a client was in one of the places.
 *
 * @returns undefined when the chain was moved again and again.
 * @throws Lost; RpcError when the nodes could not be asked.
 */
export async function walk(
  places: readonly CursorPosition[],
  { formatter, most, isShared }: WalkOptions,
  parts: WalkParts,
): Promise<Walked | undefined> {
  let lost = 0;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const view = parts.view();
    if (!view) return undefined;
    const way = { view, fetch: (wanted: Reference) => parts.within(view.fetch(wanted)) };
    try {
      const { items, fork } = await walkDown(places, formatter, way);
      const up = await walkUp(fork, { formatter, most, clock: parts.clock }, way);
      // Whatever was read in the meantime was read of the chain that ends in this head.
      if (up && view.holds) {
        const at = isShared ? withPath(up.at, formatter, view) : up.at;
        return { items: [...items, ...up.items], more: up.more, at };
      }
    } catch (error) {
      lost += 1;
      if (!(error instanceof Lost) || lost >= LOST_AFTER) throw error;
      // Nodes may be ahead of the store: after a reorganisation its blocks and theirs do not fit.
      view.hurry();
      await parts.clock.sleep(LOST_AGAIN_AFTER_MS);
    }
    // The store is moved before the chain says so.
    await parts.clock.sleep(AGAIN_AFTER_MS);
  }
  return undefined;
}

/** Down from each of the places to the canonical chain; the lowest fork counts. Newest blocks first. */
async function walkDown(
  places: readonly CursorPosition[],
  formatter: Formatter,
  { view, fetch }: Way,
): Promise<{ items: RawJson[]; fork: Position }> {
  const dropped = new Map<string, { number: number; items: readonly RawJson[] }>();
  const told = deliveredBlocks(places);
  let fork: Position | undefined;
  let fetched = 0;
  for (const place of places) {
    let at: Position = place;
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

/** From the fork up to the head, or as far as is told at once. */
async function walkUp(fork: Position, climb: Climb, way: Way): Promise<Walked | undefined> {
  const { view } = way;
  const below = await climbToWindow(fork, climb, way);
  const { at } = below;
  if (below.isEnough) return below;
  const from = at.number + 1;
  if (from > view.head.number) return below;
  const first = view.blockAt(from);
  if (!first) return undefined; // it left the store meanwhile
  if (first.outline.parentHash !== at.hash) return undefined;
  const room = climb.most - below.items.length;
  const told = await climb.formatter.addedWithin({ from, to: view.head.number }, room, view);
  if (!told) return undefined;
  const hash = view.hashAt(told.to);
  if (hash === undefined) return undefined;
  const { more } = told;
  return { items: [...below.items, ...told.items], more, at: { number: told.to, hash } };
}

/** Over blocks older than the window, one by one, each linked to the one before. */
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
    // What was found so far is told; the next poll goes on from there.
    if (sought === "unanswered" && at !== fork) return { items, at, isEnough: true };
    const block = found(sought);
    if (block.outline.parentHash !== at.hash) throw new Lost();
    items.push(...formatter.added(block, view));
    at = { number, hash: block.hash };
    if (items.length > most || clock.now() > giveUpAt) return { items, at, isEnough: true };
  }
  return { items, at, isEnough: false };
}

function found(sought: Sought): StoredBlock {
  if (sought === "unanswered") throw errors.upstreamsFailed();
  if (typeof sought === "string") throw new Lost();
  return sought;
}
