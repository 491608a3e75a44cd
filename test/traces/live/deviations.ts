// Answers of anvil 1.7.1 that differ from the execution, so that no gateway over it can be right. In all of these
// cases, anvil's own receipts and state agree with ethereumjs.

export type Deviation = {
  readonly name: string;
  readonly part: "trace" | "stateDiff";
  readonly why: string;
};

const ofDup: Pick<Deviation, "part" | "why"> = {
  part: "trace",
  // ethcore checks the required items before the stack's limit; geth says "stack underflow (1 <=> 2)", too.
  why: "anvil says StackOverflow of a DUP for which there is too little on the stack, as revm does",
};

const deviations: readonly Deviation[] = [
  {
    name: "an end of an old contract that inherits from itself",
    part: "trace",
    // EIP-6780: with the contract itself as the heir nothing moves; but the operation was executed.
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

/** The reason why anvil's answer for this part of this case is wrong, if it is. */
export const whyNot = (name: string, part: Deviation["part"]): string | undefined =>
  deviations.find((one) => one.name === name && one.part === part)?.why;
