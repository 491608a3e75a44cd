// What kind of work a method is to a node: how well nodes do is judged by kind, and what may be asked
// twice is repeated and hedged.

/** Kinds of work whose speed and failures say something of each other. */
export type MethodGroup =
  | "chain" // what a node has in memory: head, chain id, gas price
  | "blocks" // lookups of blocks, transactions and receipts
  | "state" // balances, nonces, code, storage
  | "execution" // calls that are run
  | "logs"
  | "traces"
  | "submission"
  | "other";

export type MethodTraits = {
  readonly group: MethodGroup;
  /** Asked twice, by two nodes even, it does no more than asked once. */
  readonly isRepeatable: boolean;
  /** What it speaks of is on one node alone, such as a filter that this node made. */
  readonly isStateful: boolean;
};

/** The first that fits. */
const GROUPS: readonly (readonly [RegExp, MethodGroup])[] = [
  [/^(trace|debug)_/, "traces"],
  [/_send\w*Transaction\w*$/, "submission"],
  [/_getLogs$/, "logs"],
  [
    /_(call|callMany|simulateV1|estimateGas\w*|createAccessList|estimateUserOperationGas)$/,
    "execution",
  ],
  [
    /_get(Balance|Code|StorageAt|StorageRoot|TransactionCount|NextNonce|Proof|Account\w*)$/,
    "state",
  ],
  [/(Block|Transaction|Receipt|Uncle|Epoch)\w*(By|Receipt|Count|$)/, "blocks"],
  [
    /^(net|web3)_|_(blockNumber|chainId|epochNumber|gasPrice|feeHistory|maxPriorityFeePerGas|blobBaseFee|syncing|getStatus)$/,
    "chain",
  ],
];

/** Polling a filter moves it, and what is sent to a development node's own methods is done by it. */
const STATEFUL =
  /^eth_(new\w*Filter|getFilter(Changes|Logs)|uninstallFilter)$|^cfx_(new\w*Filter|getFilter(Changes|Logs)|uninstallFilter)$/;

/** Verbs of methods that do something; sending a signed transaction again is not doing it again. */
const ACTING =
  /^(evm|anvil|hardhat|miner|personal|admin|engine|clique|parity)_|_(submit|set|import|start|stop|mine|add|remove|increase|impersonate|reset|drop|revert|snapshot|write|subscribe|unsubscribe)/i;

/** Allow lists have wildcards, so callers may invent names without end. */
const MOST_REMEMBERED = 1_000;

const traitsByMethod = new Map<string, MethodTraits>();

export function traitsOf(method: string): MethodTraits {
  const known = traitsByMethod.get(method);
  if (known) return known;
  if (traitsByMethod.size >= MOST_REMEMBERED) traitsByMethod.clear();
  const isStateful = STATEFUL.test(method);
  const traits = {
    group: GROUPS.find(([words]) => words.test(method))?.[1] ?? "other",
    isStateful,
    isRepeatable: !isStateful && !ACTING.test(method),
  };
  traitsByMethod.set(method, traits);
  return traits;
}
