// Before a walk: another gateway, or a writer that is gone, may have been further than this one is. What
// was never seen here is not taken for dropped before the nodes themselves say that our head is theirs:
// else a branch that this gateway has not left yet would be told as new, again.

import type { Position } from "../chain/block-record.ts";
import type { ChainView } from "../chain/chain-view.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";

export type CursorWaitOptions = {
  /** Another gateway may have told of the places. */
  readonly isShared: boolean;
};

export type CursorWaitParts = {
  /** The chain as it is seen here. */
  readonly view: () => Promise<ChainView>;
  /** The newest block, asked of a node now. */
  readonly headOfNodes: () => Promise<Position | undefined>;
  readonly clock: Pick<Clock, "now" | "sleep">;
  /** Its signal is made when it is asked for. */
  readonly caller: { readonly signal: AbortSignal };
  /** Throws when the caller's time is up before the promise is there. */
  readonly within: <Value>(promise: Promise<Value>) => Promise<Value>;
};

/** How long a place is waited for that another gateway was at, and how often it is looked, in milliseconds. */
const REACHING_MS = 3_000;
const REACHED_AGAIN_AFTER_MS = 50;

/** @throws RpcError 503 while this gateway is not where the nodes are. */
export async function waitForCursor(
  places: readonly Position[],
  { isShared }: CursorWaitOptions,
  { view: viewOfChain, headOfNodes, clock, caller, within }: CursorWaitParts,
): Promise<void> {
  let view = await viewOfChain();
  const unseen = (): readonly Position[] =>
    places.filter((place) => isAhead(place, view) || (isShared && isForeign(place, view)));
  if (unseen().length === 0) return;
  const giveUpAt = clock.now() + REACHING_MS;
  for (;;) {
    const highest = Math.max(view.head.number + 1, ...unseen().map(({ number }) => number));
    view = await within(view.reach(highest, caller.signal));
    const left = unseen();
    if (left.length === 0) return;
    const isLate = clock.now() >= giveUpAt;
    if (!left.some((place) => isAhead(place, view))) {
      const head = await within(headOfNodes());
      if (isOurs(head, view) || (isLate && isBelow(head, view))) return;
    }
    if (isLate) throw errors.chainMoves();
    // The chain may have been moved again while it was looked at.
    await within(clock.sleep(REACHED_AGAIN_AFTER_MS, caller.signal));
  }
}

const isAhead = ({ number, hash }: Position, view: ChainView): boolean =>
  number > view.head.number && !view.droppedBlock(hash);

const isOnChain = ({ number, hash }: Position, view: ChainView): boolean =>
  view.hashAt(number) === hash;

const isForeign = (place: Position, view: ChainView): boolean =>
  place.number >= view.tail && !isOnChain(place, view) && !view.droppedBlock(place.hash);

/** The nodes have our chain, up to our head at least. */
const isOurs = (head: Position | undefined, view: ChainView): boolean =>
  head !== undefined && head.number >= view.head.number && isOnChain(head, view);

/** The node goes back, and our chain with it soon; or it only lags for as long as it is looked at. */
const isBelow = (head: Position | undefined, view: ChainView): boolean =>
  head !== undefined && head.number < view.head.number && isOnChain(head, view);
