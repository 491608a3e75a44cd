// The lengths of the chains of the benchmark's node.

/** Blocks with one transaction and one log each. */
export const QUIET_BLOCKS = 2_100;
/** Blocks with 15 transactions and 100 logs each. */
export const BUSY_BLOCKS = 40;
