// How often a node is asked for its head: twice a block, as the newest blocks came.
import type { BlockStore } from "./block-store.ts";

/** Block times are measured over so many of the newest blocks. */
const MEASURED_BLOCKS = 16;
const SHORTEST_MS = 100;
const LONGEST_MS = 6_000;
/** Before there are blocks to measure. */
const UNMEASURED_MS = 500;

/** Half the middle time between two of the newest blocks, in milliseconds. */
export function pollIntervalMs(
  store: Pick<BlockStore, "head" | "tail" | "hashAt" | "outline">,
): number {
  const { head, tail } = store;
  if (!head || tail === undefined) return UNMEASURED_MS;
  const times: number[] = [];
  for (
    let number = head.number;
    number >= Math.max(tail, head.number - MEASURED_BLOCKS);
    number -= 1
  ) {
    const hash = store.hashAt(number);
    const outline = hash && store.outline(hash);
    if (outline) times.push(outline.timestamp);
  }
  const gaps = times.slice(1).map((time, index) => (times[index] ?? time) - time);
  const middle = gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)];
  if (middle === undefined) return UNMEASURED_MS;
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, middle * 500));
}
