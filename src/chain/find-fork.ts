// Where two chains part: one that is at hand, and one whose blocks must be asked for.
import type { Position } from "./block-store.ts";

/** The hash at a number; undefined when it is not known. */
export type Chains = {
  readonly ours: (number: number) => string | undefined;
  readonly theirs: (number: number) => Promise<string | undefined>;
};

/**
 * The newest block that both have, by steps that double and then halve: a few questions where the
 * fork is near, and some twenty where it is 10,000 blocks away.
 *
 * @returns "none" when they differ already at the lowest number; "unclear" when the other chain does not tell.
 */
export async function findFork(
  { lowest, highest }: { lowest: number; highest: number },
  { ours, theirs }: Chains,
): Promise<Position | "none" | "unclear"> {
  if (highest < lowest) return "none";
  const agree = async (number: number): Promise<boolean | undefined> => {
    const hash = await theirs(number);
    return hash === undefined ? undefined : hash === ours(number);
  };
  let differing = highest + 1;
  let agreeing = highest;
  for (let step = 1; ; step *= 2) {
    const isSame = await agree(agreeing);
    if (isSame === undefined) return "unclear";
    if (isSame) break;
    if (agreeing === lowest) return "none";
    differing = agreeing;
    agreeing = Math.max(lowest, agreeing - step);
  }
  while (differing - agreeing > 1) {
    const middle = Math.floor((agreeing + differing) / 2);
    const isSame = await agree(middle);
    if (isSame === undefined) return "unclear";
    if (isSame) agreeing = middle;
    else differing = middle;
  }
  const hash = ours(agreeing);
  return hash === undefined ? "unclear" : { number: agreeing, hash };
}
