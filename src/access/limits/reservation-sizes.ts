// How much of a limit one process may ask for, and how soon again. Pure.
import type { Bounds } from "../../lib/token-bucket.ts";

/** At most so often a limit is asked that gives as fast as it can. */
const SHORTEST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 50;

/** What the limit gives in the long run: a rate that, a quota all that it has. */
export const mostOf = ({ perSecond }: Bounds): number => perSecond || Number.POSITIVE_INFINITY;

/** So much of what is left one may take: a quota comes to its end with nobody holding much of it. */
export function shareOf({ perSecond }: Bounds, members: number): number {
  if (members <= 1) return 1;
  // A rate's burst must not fill up before one who takes only so much of it comes again.
  return perSecond > 0 ? Math.max(1 / 4, 1 / members) : 1 / (2 * members);
}

/** How long a rate that was emptied is left alone; 0 when it is worth asking at once. */
export function pauseMsOf({ size, perSecond }: Bounds, left: number): number {
  if (perSecond === 0) return 0;
  const eighthMs = ((size / perSecond) * 1000) / 8;
  const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, eighthMs));
  return left < (perSecond * pauseMs) / 1000 ? pauseMs : 0;
}
