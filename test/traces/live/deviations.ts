// Where anvil 1.7.1 tells something else than what happened, so that no gateway over it can be right. Its own
// receipts and state agree with ethereumjs in all of these.

export type Deviation = {
  readonly name: string;
  readonly part: "trace" | "stateDiff";
  readonly why: string;
};

const ofDup: Pick<Deviation, "part" | "why"> = {
  part: "trace",
  // ethcore checks what is needed before what is given; geth says "stack underflow (1 <=> 2)" too.
  why: "anvil says StackOverflow of a DUP for which there is too little on the stack, as revm does",
};

const deviations: readonly Deviation[] = [
  {
    name: "an end of an old contract that inherits from itself",
    part: "trace",
    // EIP-6780: with the contract itself for heir nothing moves; but the operation was executed.
    why: "anvil knows of it only what moved: its address, heir and balance are zeros",
  },
  {
    name: "the end of a delegation",
    part: "stateDiff",
    // EIP-7702: to delegate to the zero address is to "clear the account's code".
    why: "anvil's prestateTracer leaves empty code out of `post`, as if it were unchanged",
  },
  { name: "an empty stack for a DUP at the top", ...ofDup },
  { name: "an empty stack for a DUP inside of a CALL", ...ofDup },
];

/** Why this part of this case is not right, if it is not. */
export const whyNot = (name: string, part: Deviation["part"]): string | undefined =>
  deviations.find((one) => one.name === name && one.part === part)?.why;
