// From which age on a head is unusually old, by the network's own blocks.
import type { BlockStore } from "./block-store.ts";

/** So many stretches of the chain are looked at, and blocks at most. */
const STRETCHES = 128;
const MOST_BLOCKS = 10_000;
/** What was not watched for so long is not known well enough, in seconds. */
const WATCHED_SECONDS = 1_800;
/** No stretch of a regular chain takes so many times what the average one takes. */
const IRREGULAR = 3;
/** Block times without a block, and at least so many seconds. */
const BLOCKS_MISSING = 20;
const LEAST_SECONDS = 120;

/**
 * In milliseconds; undefined while the blocks of the store do not tell: there are too few, or they come when somebody
 * wants one, as on a development chain, which may rest as long as it likes.
 */
export function unusualAgeMs(
  store: Pick<BlockStore, "head" | "tail" | "hashAt" | "outline">,
): number | undefined {
  const { head, tail } = store;
  if (!head || tail === undefined) return undefined;
  const stretch = Math.floor(Math.min(MOST_BLOCKS, head.number - tail) / STRETCHES);
  if (stretch < 1) return undefined;
  const times: number[] = [];
  for (let back = 0; back <= STRETCHES; back += 1) {
    const hash = store.hashAt(head.number - back * stretch);
    const outline = hash && store.outline(hash);
    if (!outline) return undefined;
    times.push(outline.timestamp);
  }
  const [newest = 0] = times;
  const watched = newest - (times.at(-1) ?? newest);
  const average = watched / STRETCHES;
  const gaps = times.slice(1).map((time, index) => (times[index] ?? time) - time);
  if (watched < WATCHED_SECONDS || Math.max(...gaps) > IRREGULAR * average) return undefined;
  return 1_000 * Math.max(LEAST_SECONDS, (BLOCKS_MISSING * average) / stretch);
}
