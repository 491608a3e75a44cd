// Which node's chain is followed.

export type SeenHead = {
  readonly name: string;
  /** The newest block that the node tells of; -1 while it tells of none. */
  readonly number: number;
  /** It failed lately: its chain could not be read or proven. */
  readonly isDistrusted: boolean;
  /** Its head is not higher than ours, and another block than ours at that height. */
  readonly isElsewhere: boolean;
};

/** A node so many blocks behind the best one is still followed: nodes hear of blocks at different times. */
const TOLERATED_LAG = 1;

/**
 * The present leader as long as it keeps up, so that two nodes on two forks do not pull the chain to
 * and fro; else the best of those that are not distrusted, the first of equals. A leader that left our
 * chain for a branch that is not longer is not followed while others as high as it are still with us.
 *
 * @param nodes In the order of the configuration.
 */
export function chooseLeader(
  nodes: readonly SeenHead[],
  present: string | undefined,
): string | undefined {
  const trusted = nodes.filter(({ number, isDistrusted }) => !isDistrusted && number >= 0);
  const choice = trusted.length > 0 ? trusted : nodes;
  const best = Math.max(...choice.map(({ number }) => number));
  const loyal = choice.filter(({ isElsewhere }) => !isElsewhere);
  const mayLead = loyal.some(({ number }) => number >= best - TOLERATED_LAG) ? loyal : choice;
  const leader = mayLead.find(({ name }) => name === present);
  if (leader && leader.number >= best - TOLERATED_LAG) return leader.name;
  return mayLead.reduce<SeenHead | undefined>(higher, undefined)?.name;
}

const higher = (one: SeenHead | undefined, other: SeenHead): SeenHead =>
  one && one.number >= other.number ? one : other;
