// Waits before a walk until this gateway's chain has reached the client's cursors, which another gateway may have moved.
import type { ChainView } from "../chain/chain-view.ts";
import type { Position } from "../chain/stored-block.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import type { Within } from "./walk.ts";

type CursorWaitParts = {
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly within: Within;
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
