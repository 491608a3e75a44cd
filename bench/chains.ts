// How long the chains are that the benchmark's node has.

/** Of one transaction and one log each. */
export const QUIET_BLOCKS = 2_100;
/** Of 15 transactions and 100 logs each. */
export const BUSY_BLOCKS = 40;
