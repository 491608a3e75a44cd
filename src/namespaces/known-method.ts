// What is known of a method that clients document, whether or not it is declared here. Pure.
import { anyContract, type ContractsOf, contractAt, noContract } from "./read-contracts.ts";

/**
 * `read` asks. `write` sends what somebody signed, or leaves something behind for others. `node control` changes the
 * node itself, tells of the machine it runs on, or changes a development chain. `signing` uses the keys that the node
 * holds. `subscription` needs a connection that can be pushed to.
 */
export type MethodKind = "read" | "write" | "node control" | "signing" | "subscription";

export type Family = "evm" | "conflux";

/** Kinds of work whose speed and failures say something of each other. */
export type WorkKind =
  | "chain" // what a node has in memory: head, chain id, gas price
  | "blocks" // lookups of blocks, transactions and receipts
  | "state" // balances, nonces, code, storage
  | "execution" // calls that are run
  | "logs"
  | "traces"
  | "submission" // goes to private nodes alone where there are any
  | "other";

/** How a method may be asked of nodes. The traits travel with each call, so that nothing is read from a name. */
export type MethodTraits = {
  readonly workKind: WorkKind;
  /** Asked twice, by two nodes even, it does no more than asked once: another node is asked when one fails. */
  readonly isRepeatable: boolean;
  /** A second node may be asked beside one that is slow. */
  readonly isHedgeable: boolean;
  /** What it speaks of is on one node alone, such as a filter that this node made. */
  readonly isStateful: boolean;
  /** It may be sent with others in one request, which is sent again in parts when a node refuses it. */
  readonly isBatchable: boolean;
  /** Calls of it that ask a node the same at the same time share one answer. */
  readonly isMergeable: boolean;
  /** `null` says that the node has no such block; of another method it may mean something else. */
  readonly isNullNoBlock: boolean;
  /** Its results are the chain's: never changed. Those of others may name the node, whose address is a secret. */
  readonly isOfChain: boolean;
  /** Whether the answer to these parameters (a JSON array) is the node's head; undefined: to none. */
  readonly tellsHead: ((paramsJson: string) => boolean) | undefined;
};

/** As declared: `workKind`, and what does not follow from the kind. */
export type DeclaredTraits = Pick<MethodTraits, "workKind"> & Partial<MethodTraits>;

/**
 * What a read or a write does once is done. Node control is asked of one node, once: sent to a second one, it
 * would be done there, too.
 */
export function traitsFor(
  kind: MethodKind,
  {
    workKind,
    isStateful = false,
    isRepeatable = opensByPattern(kind) && !isStateful,
    isHedgeable = isRepeatable,
    isBatchable = kind === "read",
    isMergeable = false,
    isNullNoBlock = false,
    isOfChain = true,
    tellsHead,
  }: DeclaredTraits,
): MethodTraits {
  return {
    ...{ workKind, isStateful, isRepeatable, isHedgeable, isBatchable, isMergeable },
    ...{ isNullNoBlock, isOfChain, tellsHead },
  };
}

/** Only reads and writes open by a pattern: an operator who writes `debug_*` does not mean debug_setHead. */
export const opensByPattern = (kind: MethodKind): boolean => kind === "read" || kind === "write";

export type KnownMethod = MethodTraits & {
  readonly name: string;
  readonly family: Family;
  readonly kind: MethodKind;
  /** In compute units; of what is passed on as it is. */
  readonly cost: number;
  /** For keys that are bound to contracts; left out where none is read by its address. */
  readonly contractsOf?: ContractsOf;
};

/** Methods of other namespaces may be about nodes. */
export const speaksOfChain = (namespace: string): boolean =>
  ["eth", "cfx", "trace", "debug"].includes(namespace);

const guardedBy = (contractsOf: ContractsOf): Pick<KnownMethod, "contractsOf"> =>
  contractsOf === noContract ? {} : { contractsOf };

type Words = Partial<Omit<KnownMethod, "name" | "kind">>;

/** Several of one namespace at once. @param names What follows the underscore, separated by spaces. */
const listed =
  (kind: MethodKind, usual: WorkKind) =>
  (namespace: string, names: string, words: Words = {}): readonly KnownMethod[] => {
    const {
      family = "evm",
      cost = 3,
      contractsOf = anyContract,
      workKind = usual,
      ...traits
    } = words;
    const declared = { workKind, isOfChain: speaksOfChain(namespace), ...traits };
    const own = { kind, family, cost, ...guardedBy(contractsOf), ...traitsFor(kind, declared) };
    return names
      .trim()
      .split(/\s+/)
      .map((name) => ({ name: `${namespace}_${name}`, ...own }));
  };

export const reads = listed("read", "other");
export const writes = listed("write", "submission");
export const controls = listed("node control", "other");
export const signs = listed("signing", "other");
export const subscribes = listed("subscription", "other");

/** What many methods have in common; each reads what its name says. */
export const CHAIN = { contractsOf: noContract } as const;
export const BLOCKS = { contractsOf: noContract, workKind: "blocks" } as const;
export const ACCOUNT = { contractsOf: contractAt(0), workKind: "state" } as const;
export const EXECUTION = { cost: 5, workKind: "execution" } as const;
export const TRACE = { cost: 25, workKind: "traces" } as const;
