// Why a frame failed, in the words of OpenEthereum, whatever the words of the node were.

/** Undefined when the words are known to nobody. */
export function openEthereumWords(words: string): string | undefined {
  // geth and Erigon write so of all that the price of an operation forbids: "out of gas: write protection".
  const [, detail = ""] = words.slice(0, LONGEST_WORDS).split(/^out of gas:/i);
  return wordsByKey.get(keyOf(detail)) ?? wordsByKey.get(keyOf(words));
}

/** OpenEthereum checks depth and balance before a call begins: such a call is none, and has no trace. */
export const isNeverBegun = (words: string): boolean => neverBegun.has(keyOf(words));

/** "stack underflow (0 <=> 2)", "StackUnderflow" and "Stack underflow" are one: what follows is detail. */
const keyOf = (words: string): string =>
  (words.slice(0, LONGEST_WORDS).split(/[:(]|\s0x/, 1)[0] ?? "")
    .replaceAll(/[^a-z]/gi, "")
    .toLowerCase();

const LONGEST_WORDS = 200;

const nodeWords: Readonly<Record<string, readonly string[]>> = {
  "Out of gas": [
    "out of gas",
    "contract creation code storage out of gas", // geth, also below
    "gas uint64 overflow",
    "max code size exceeded",
    "max initcode size exceeded",
    "contract address collision",
    "MemoryOOG", // revm (reth, anvil), also below
    "MemoryLimitOOG",
    "PrecompileOOG",
    "InvalidOperandOOG",
    "ReentrancySentryOOG",
    "CreateContractSizeLimit",
    "CreateInitCodeSizeLimit",
    "CreateCollision",
    "INSUFFICIENT_GAS", // Besu, also below
    "CODE_TOO_LARGE",
    "Code is too large",
    "Transaction collision", // Nethermind
  ],
  Reverted: ["reverted", "execution reverted", "revert"],
  "Bad instruction": [
    "bad instruction",
    "invalid opcode",
    "invalid instruction", // Nethermind
    "INVALID_OPERATION", // Besu
    "OpcodeNotFound", // revm, also below
    "InvalidFEOpcode",
    "NotActivated",
  ],
  "Bad jump destination": [
    "bad jump destination",
    "invalid jump destination",
    "INVALID_JUMP_DESTINATION",
    "InvalidJump",
  ],
  "Stack underflow": ["stack underflow", "INSUFFICIENT_STACK_ITEMS"],
  "Out of stack": [
    "out of stack",
    "stack limit reached",
    "stack overflow",
    "TOO_MANY_STACK_ITEMS",
    "max call depth exceeded", // Nethermind's callTracer says so of a full stack
  ],
  "Mutable Call In Static Context": [
    "mutable call in static context",
    "write protection",
    "Static call violation", // Nethermind
    "Illegal state change", // Besu
    "StateChangeDuringStaticCall", // revm, also below
    "CallNotAllowedInsideStatic",
  ],
  "Built-in failed": [
    "built-in failed",
    "precompiled failed",
    "precompile error", // Nethermind, Besu, revm
    "precompile failure",
  ],
  "Out of bounds": [
    "out of bounds",
    "return data out of bounds",
    "Access violation", // Nethermind
    "INVALID_RETURN_DATA_BUFFER_ACCESS",
    "OutOfOffset", // revm
  ],
  "Invalid code": ["invalid code", "Code is invalid", "CreateContractStartingWithEF"], // EIP-3541
};

const wordsByKey: ReadonlyMap<string, string> = new Map(
  Object.entries(nodeWords).flatMap(([ours, theirs]) => theirs.map((one) => [keyOf(one), ours])),
);

const neverBegun: ReadonlySet<string> = new Set(
  [
    "insufficient balance for transfer",
    "max call depth exceeded",
    "nonce uint64 overflow",
    "OutOfFunds", // revm, also below
    "CallTooDeep",
    "OverflowPayment",
    "NonceOverflow",
    "Not enough balance", // Nethermind
  ].map(keyOf),
);
