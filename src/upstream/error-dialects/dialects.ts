// The table of all dialects, and its reading. The first row that fits counts.
import { BUSY_NODES } from "./busy-nodes.ts";
import { type Dialect, fits, type Saying } from "./dialect.ts";
import { FAILING_NODES } from "./failing-nodes.ts";
import { HONEST_REFUSALS } from "./honest-refusals.ts";
import { LACKING_BLOCKS } from "./lacking-blocks.ts";
import { LACKING_HISTORY } from "./lacking-history.ts";
import { LACKING_METHODS } from "./lacking-methods.ts";
import { LACKING_STATE } from "./lacking-state.ts";
import { REFUSED_ACCOUNTS } from "./refused-accounts.ts";
import { UNPAID_METHODS } from "./unpaid-methods.ts";

export const DIALECTS: readonly Dialect[] = [
  ...LACKING_BLOCKS,
  ...LACKING_STATE, // before history: "state at block 5 is pruned" is not about the block
  ...LACKING_HISTORY,
  ...HONEST_REFUSALS, // before all that blames the node
  ...BUSY_NODES, // an account that is used up is not one that is refused
  ...UNPAID_METHODS,
  ...LACKING_METHODS,
  ...REFUSED_ACCOUNTS,
  ...FAILING_NODES,
];

/** What a contract says is between it and the caller, whatever words it has chosen. */
export const isRevert = ({ code, text }: Saying): boolean =>
  code === 3 || /\brevert|\bVM (Exception|execution error)/i.test(text);

/** The row of what a node says; undefined: nobody is known to say it so. */
export const dialectOf = (saying: Saying): Dialect | undefined =>
  isRevert(saying) ? undefined : DIALECTS.find((row) => fits(row, saying));
