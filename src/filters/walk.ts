// The walk of a filter from its client's cursor to the head: down to the canonical chain, and up. The walk fetches and
// proves blocks that left the store. A block that could not be taken into the store is taken from a node, if it links to
// its neighbours. Where no node has a block the walk is lost: it never leaves a gap.

import type { BlockFetch, ChainView } from "../chain/chain-view.ts";
import type { Reference } from "../chain/dialect.ts";
import type { Position, StoredBlock } from "../chain/stored-block.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { errors, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { CursorPosition, DeliveredBlock } from "./filter-record.ts";
import type { Formatter } from "./formatters.ts";
import type { NodeChain } from "./node-chain.ts";
import type { Changes } from "./open-filter.ts";

/** The error of a walk that cannot be done: no node has some block, or a block does not link to the others. */
export class CursorLost extends Error {}

export type Walked = Changes & { readonly at: CursorPosition };

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
  /** Gives the blocks that cannot be taken into the store; left out: such blocks are refused. */
  readonly nodes?: NodeChain | undefined;
};

/** The followed chain, and a function that fetches blocks that the chain does not have. */
export type BlockReader = {
  readonly view: ChainView;
  readonly formatter: Formatter;
  readonly fetch: (wanted: Reference) => Promise<BlockFetch>;
  readonly within: Within;
  readonly nodes?: NodeChain | undefined;
};

/** A block that the store does not have, with its items for either direction of a walk. */
type GivenBlock = Position & {
  readonly parentHash: string;
  readonly isOfNodes: boolean;
  added(): Promise<readonly RawJson[]>;
  dropped(): Promise<readonly RawJson[]>;
};

/** The most attempts of a walk while the chain changes, and the pause between them in milliseconds. */
const ATTEMPTS = 100;
const AGAIN_AFTER_MS = 10;
/** The failures after which a walk counts as lost, and the pause between them in milliseconds. */
export const LOST_AFTER = 3;
export const LOST_AGAIN_AFTER_MS = 250;
/** The most removed blocks that one walk fetches, since they left the store. */
export const FETCHED_AT_MOST = 64;
/** The most heights in a row that a chain may have left out: Filecoin's null rounds are rarely more than a few. */
export const LEFT_OUT_AT_MOST = 64;
/** The HTTP statuses of errors that say that no node could answer, or that none is usable. */
const FAILURES: readonly number[] = [502, 503];
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
    const { within, nodes, clock } = parts;
    const fetch = (wanted: Reference) => within(view.fetch(wanted));
    const reader = { view, formatter, fetch, within, nodes };
    try {
      const down = await walkDown(cursors, reader);
      const up = await walkUp(down.fork, { formatter, most, clock }, reader);
      // The head is still canonical, so all blocks of the walk belong to the chain below it.
      if (up && view.holds) {
        const at = isShared ? withPath(up.at, formatter, view) : up.at;
        const isOfNodes = down.isOfNodes || up.isOfNodes;
        const items = [...down.items, ...up.items];
        return { items, more: up.more, at, ...(isOfNodes ? { isOfNodes } : {}) };
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
  reader: BlockReader,
): Promise<{ items: RawJson[]; fork: Position; isOfNodes: boolean }> {
  const { view, formatter } = reader;
  const dropped = new Map<string, { number: number; items: readonly RawJson[] }>();
  const told = deliveredBlocks(cursors);
  let fork: Position | undefined;
  let [fetched, isOfNodes] = [0, false];
  for (const cursor of cursors) {
    let at: Position = cursor;
    while (!dropped.has(at.hash) && !(await isCanonical(at, reader))) {
      const block = view.droppedBlock(at.hash);
      let taken = block ? takenBack(block, formatter, view) : told.get(at.hash);
      if (!taken) {
        fetched += 1;
        if (fetched > FETCHED_AT_MOST) throw new CursorLost();
        const given = await givenBlock({ hash: at.hash }, reader);
        if (!given) throw new CursorLost();
        if (given.number !== at.number) {
          at = { number: given.number, hash: at.hash };
          continue;
        }
        isOfNodes ||= given.isOfNodes;
        taken = { ...given, items: await given.dropped() };
      }
      dropped.set(at.hash, { number: at.number, items: taken.items });
      at = parentOf(at, taken.parentHash, { view, told });
    }
    if (!dropped.has(at.hash) && (!fork || at.number < fork.number)) fork = at;
  }
  if (!fork) throw new CursorLost();
  if (formatter.reverted)
    return { fork, isOfNodes, items: dropped.size > 0 ? [...formatter.reverted(fork)] : [] };
  return { fork, isOfNodes, items: newestFirst(dropped) };
}

/** The items of removed blocks, newest block first. */
export const newestFirst = (
  dropped: ReadonlyMap<string, { readonly number: number; readonly items: readonly RawJson[] }>,
): RawJson[] =>
  [...dropped.values()].sort((a, b) => b.number - a.number).flatMap(({ items }) => items);

/** A chain may leave heights out, so the parent of a block may be more than one height below it. */
export function parentOf(
  { number }: Position,
  hash: string,
  known: {
    readonly view: Pick<ChainView, "droppedBlock"> | undefined;
    readonly told: ReadonlyMap<string, DeliveredBlock>;
  },
): Position {
  const own = known.view?.droppedBlock(hash)?.number ?? known.told.get(hash)?.number;
  return { number: own ?? number - 1, hash };
}

async function isCanonical({ number, hash }: Position, reader: BlockReader): Promise<boolean> {
  if (number < 0) throw new CursorLost();
  const { view } = reader;
  const known = view.hashAt(number);
  if (known !== undefined || number >= view.tail) return known === hash;
  return (await givenBlock({ number }, reader))?.hash === hash;
}

/**
 * A block that the writer fetches into the store, or, where the writer cannot, that a node gives: unless a proof refuted
 * what nodes give.
 * @returns undefined when the nodes have no block at this number.
 * @throws CursorLost when no node has the block; RpcError when the gateway could not ask the nodes, or only a lie was
 * found: an honest node may answer later.
 */
export async function givenBlock(
  wanted: Reference,
  { view, formatter, fetch, within, nodes }: BlockReader,
): Promise<GivenBlock | undefined> {
  const { addedByNodes, removed } = formatter;
  const fetched = await fetch(wanted);
  if (fetched === "refused") throw errors.unproven();
  if (typeof fetched !== "string" && !(addedByNodes && lacksLogs(fetched, formatter)))
    return {
      ...{ number: fetched.number, hash: fetched.hash, parentHash: fetched.outline.parentHash },
      isOfNodes: false,
      added: async () => formatter.added(fetched, view),
      dropped: async () => formatter.dropped(fetched, view),
    };
  if (!nodes || !addedByNodes) return refuse(fetched);
  const block = await within(
    "hash" in wanted ? nodes.blockOf(wanted.hash) : nodes.blockAt(wanted.number),
  );
  if (!block) return "hash" in wanted ? refuse(fetched) : undefined;
  const added = (): Promise<readonly RawJson[]> => within(addedByNodes(block, nodes));
  const dropped = async () => (removed ? (await added()).map(removed) : []);
  return { ...block, isOfNodes: true, added, dropped };
}

/** @throws CursorLost; RpcError when the gateway could not ask the nodes. */
function refuse(fetched: BlockFetch): never {
  if (fetched === "unanswered") throw errors.upstreamsFailed();
  throw new CursorLost();
}

/** Whether the store has a block alone, because no node has its receipts any more. */
function lacksLogs({ outline }: StoredBlock, { matcher }: Formatter): boolean {
  return matcher !== undefined && "hasReceipts" in outline && outline.hasReceipts === false;
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
  const first = firstAbove(at, view);
  if (first === "none") return below;
  if (first?.outline.parentHash !== at.hash) {
    if (below.hasGap) throw new CursorLost();
    return undefined; // a block left the store meanwhile
  }
  const room = climb.most - below.items.length;
  const range = { from: first.number, to: view.head.number };
  const told = await climb.formatter.addedWithin(range, room, view);
  if (!told) return undefined;
  const hash = view.hashAt(told.to);
  if (hash === undefined) return undefined;
  const items = [...below.items, ...told.items];
  return { ...below, items, more: told.more, at: { number: told.to, hash } };
}

/** The lowest stored block above a position; "none" when the position is at the head. */
function firstAbove({ number }: Position, view: ChainView): StoredBlock | "none" | undefined {
  if (number >= view.head.number) return "none";
  const highest = Math.min(view.head.number, number + 1 + LEFT_OUT_AT_MOST);
  for (let above = number + 1; above <= highest; above += 1) {
    const block = view.blockAt(above);
    if (block) return block;
  }
  return undefined;
}

type Climbed = Walked & {
  readonly isEnough: boolean;
  /** The heights above `at` have no block. */
  readonly hasGap: boolean;
};

/** Goes up over the blocks below the window, one by one, and checks that each links to its parent. */
async function climbToWindow(
  fork: Position,
  { formatter, most, clock }: Climb,
  reader: BlockReader,
): Promise<Climbed> {
  const { view } = reader;
  const giveUpAt = clock.now() + FETCHING_MS;
  const items: RawJson[] = [];
  let at = fork;
  let isOfNodes = false;
  const climbed = (isEnough: boolean, hasGap: boolean): Climbed => ({
    ...{ items, at, isEnough, hasGap },
    ...(isOfNodes ? { isOfNodes } : {}),
  });
  for (let number = fork.number + 1; number < view.tail; number += 1) {
    const block = await nextBlock(number, formatter, reader);
    // This poll returns the items so far; the next poll goes on from `at`.
    if (block instanceof RpcError && at !== fork) return climbed(true, false);
    if (block instanceof RpcError) throw block;
    if (block?.parentHash !== at.hash && (block || number - at.number > LEFT_OUT_AT_MOST))
      throw new CursorLost();
    if (!block) continue;
    items.push(...block.items);
    isOfNodes ||= block.isOfNodes;
    at = { number, hash: block.hash };
    if (items.length > most || clock.now() > giveUpAt) return climbed(true, false);
  }
  return climbed(false, at.number + 1 < view.tail);
}

type NextBlock = DeliveredBlock & { readonly isOfNodes: boolean };

/**
 * The block at a number below the window, with its items; undefined when the nodes have none; the error when no node
 * answers.
 * @throws CursorLost
 */
async function nextBlock(
  number: number,
  formatter: Formatter,
  reader: BlockReader,
): Promise<NextBlock | RpcError | undefined> {
  const { view } = reader;
  const stored = view.blockAt(number);
  if (stored && !lacksLogs(stored, formatter)) {
    const { hash, outline } = stored;
    const items = formatter.added(stored, view);
    return { hash, parentHash: outline.parentHash, items, isOfNodes: false };
  }
  try {
    const given = await givenBlock({ number }, reader);
    return given && { ...given, items: await given.added() };
  } catch (error) {
    if (error instanceof RpcError && FAILURES.includes(error.status)) return error;
    throw error;
  }
}

/** The most blocks of a path: two live gateways differ in the newest blocks only. */
const BLOCKS_AT_MOST = 16;
/** The most characters of a path's items: for lower removed blocks a walk asks the nodes. */
const CHARACTERS_AT_MOST = 65_536;

/**
 * The position with the last blocks up to it, which the filter's record keeps. Another gateway whose nodes never had
 * these blocks can then report them as removed.
 * @param view A view in which the position is canonical.
 */
export const withPath = (
  { number, hash }: Position,
  formatter: Formatter,
  view: ChainView,
): CursorPosition => ({
  number,
  hash,
  path: shortPath(storedBelow({ number, hash }, formatter, view)),
});

/** The stored blocks from a position on downwards, newest first; none at heights that the chain left out. */
function* storedBelow(
  { number, hash }: Position,
  formatter: Formatter,
  view: ChainView,
): Generator<DeliveredBlock> {
  let next = hash;
  for (let below = 0; below < BLOCKS_AT_MOST && below <= number; below += 1) {
    const block = view.blockAt(number - below);
    if (!block) continue;
    if (block.hash !== next) return; // the chain changed meanwhile
    next = block.outline.parentHash;
    yield takenBack(block, formatter, view);
  }
}

/** The first of the blocks, as many as a record may keep. @param blocks Newest first. */
export function shortPath(blocks: Iterable<DeliveredBlock>): DeliveredBlock[] {
  const path: DeliveredBlock[] = [];
  let characters = 0;
  for (const { number, hash, parentHash, items } of blocks) {
    const texts = items.map(String);
    characters += texts.reduce((sum, text) => sum + text.length, 0);
    if (path.length === BLOCKS_AT_MOST || characters > CHARACTERS_AT_MOST) break;
    path.push({ ...(number === undefined ? {} : { number }), hash, parentHash, items: texts });
  }
  return path;
}

/** A stored block with the items of its removal. */
export const takenBack = (
  block: StoredBlock,
  formatter: Formatter,
  view: Pick<ChainView, "logsOf">,
): DeliveredBlock => ({
  number: block.number,
  hash: block.hash,
  parentHash: block.outline.parentHash,
  items: formatter.dropped(block, view),
});

/** The blocks in the paths of all cursors, by hash. */
export const deliveredBlocks = (
  cursors: readonly CursorPosition[],
): ReadonlyMap<string, DeliveredBlock> =>
  new Map(cursors.flatMap(({ path = [] }) => path.map((block) => [block.hash, block] as const)));
