// What a reorganisation does, decided: which blocks leave and which join.
import type { ChainUpdate, Position } from "./block-store.ts";

export type Link = Position & { readonly parentHash: string };

/**
 * How the head gets from where it is to the end of a branch.
 *
 * @param branch Oldest first. Empty: the head falls back to `onto`.
 * @param onto The canonical block on which the branch stands.
 * @returns undefined when the branch is not one, or does not stand there.
 */
export function planUpdate(
  head: Position,
  branch: readonly Link[],
  onto: Position,
): Pick<ChainUpdate, "removed"> | undefined {
  if (onto.number > head.number) return undefined;
  let last = onto;
  for (const block of branch) {
    if (block.number !== last.number + 1 || block.parentHash !== last.hash) return undefined;
    last = block;
  }
  return { removed: head.number - onto.number };
}
