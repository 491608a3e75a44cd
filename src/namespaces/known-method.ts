// The traits of the methods that nodes document, whether or not src/methods declares them. Pure.
import {
  anyContract,
  type ContractsOf,
  calledWithoutOverrides,
  contractAt,
  contractsOfLogs,
  noContract,
  noContractWithFlag,
  tracedCall,
  tracedTransaction,
} from "./read-contracts.ts";

/**
 * A `read` changes nothing. A `write` sends a signed transaction, or leaves something behind that others see. `node
 * control` changes the node itself, tells of its machine, or changes a development chain. `signing` uses the keys that
 * the node holds. A `subscription` needs a connection over which the node can push.
 */
export type MethodKind = "read" | "write" | "node control" | "signing" | "subscription";

export type Family = "evm" | "conflux";

type GatewayCall = "chainId" | "version" | "head" | "newestBlock";

/** The calls that the gateway itself makes to nodes: the method, and its parameters as JSON. */
export const GATEWAY_CALLS: Readonly<
  Record<Family, Readonly<Record<GatewayCall, readonly [method: string, paramsJson: string]>>>
> = {
  evm: {
    chainId: ["eth_chainId", "[]"],
    version: ["web3_clientVersion", "[]"],
    head: ["eth_blockNumber", "[]"],
    newestBlock: ["eth_getBlockByNumber", '["latest",false]'],
  },
  conflux: {
    chainId: ["cfx_getStatus", "[]"],
    version: ["cfx_clientVersion", "[]"],
    head: ["cfx_epochNumber", '["latest_state"]'],
    newestBlock: ["cfx_getBlockByEpochNumber", '["latest_state",false]'],
  },
};

/** The kinds of a node's work. The latency and the failures of each kind are measured by themselves. */
export type WorkKind =
  | "chain" // values that a node has in memory: head, chain id, gas price
  | "blocks" // lookups of blocks, transactions and receipts
  | "state" // balances, nonces, code, storage
  | "execution" // calls that are run
  | "logs"
  | "traces"
  | "submission"
  | "other";

/** How the gateway may ask nodes for a method. The traits travel with each call, so no code has to read the name. */
export type MethodTraits = {
  readonly workKind: WorkKind;
  /**
   * The parameters have a signed transaction, which anybody who sees it can send: the call goes only to the nodes that
   * transactions are sent to.
   */
  readonly carriesSigned: boolean;
  /** Asking twice, even two nodes, has no other effect than asking once: the gateway retries at another node. */
  readonly isRepeatable: boolean;
  /** The gateway may ask a second node beside a slow one. */
  readonly isHedgeable: boolean;
  /** The method is about an object of one node alone, such as a filter that the node made. */
  readonly isStateful: boolean;
  /** The gateway may send its calls with others in one request, and again in parts when a node refuses that. */
  readonly isBatchable: boolean;
  /** Equal calls that are in flight at the same time share one answer. */
  readonly isMergeable: boolean;
  /** `null` says that the node has no such block; from another method, null may mean something else. */
  readonly isNullNoBlock: boolean;
  /** Results are about the chain. Other methods' may name the node, so the gateway hides the node's address there. */
  readonly isOfChain: boolean;
  /**
   * An error may carry words that the caller or a contract chose: a tracer's exception, a revert's reason, a parameter
   * that nobody checked. Such words teach the gateway nothing about a node.
   */
  readonly quotesCaller: boolean;
  /** Whether the result for these parameters (a JSON array) is the node's head; undefined where no result is. */
  readonly tellsHead: ((paramsJson: string) => boolean) | undefined;
};

/** The traits in a declaration: `workKind`, and those that do not follow from the kind. */
export type DeclaredTraits = Pick<MethodTraits, "workKind"> & Partial<MethodTraits>;

/**
 * The traits of a method. Reads and writes may be repeated. Node control goes to one node, once: a second node would do
 * it, too. Methods that run code, and those whose parameters the gateway passes on unchecked, may quote the caller.
 */
export function traitsFor(
  kind: MethodKind,
  {
    workKind,
    carriesSigned = workKind === "submission",
    isStateful = false,
    isRepeatable = opensByPattern(kind) && !isStateful,
    // A transaction that is only executed is shown to no more nodes than answer the call.
    isHedgeable = isRepeatable && (!carriesSigned || workKind === "submission"),
    isBatchable = kind === "read",
    isMergeable = false,
    isNullNoBlock = false,
    isOfChain = true,
    quotesCaller = workKind === "execution" || workKind === "traces",
    tellsHead,
  }: DeclaredTraits,
): MethodTraits {
  return {
    ...{ workKind, carriesSigned, isStateful, isRepeatable, isHedgeable, isBatchable, isMergeable },
    ...{ isNullNoBlock, isOfChain, quotesCaller, tellsHead },
  };
}

/** Only reads and writes open by a pattern: an operator who writes `debug_*` does not mean debug_setHead. */
export const opensByPattern = (kind: MethodKind): boolean => kind === "read" || kind === "write";

export type KnownMethod = MethodTraits & {
  readonly name: string;
  readonly family: Family;
  readonly kind: MethodKind;
  /** In compute units, for calls that the gateway passes on unchanged. */
  readonly cost: number;
  /** The contracts that a call reads, for keys bound to contracts; left out where it reads none by its address. */
  readonly contractsOf?: ContractsOf;
};

/** Whether all methods of the namespace are about the chain; those of other namespaces may be about nodes. */
export const speaksOfChain = (namespace: string): boolean =>
  ["eth", "cfx", "trace", "debug"].includes(namespace);

type Words = Partial<Omit<KnownMethod, "name" | "kind" | "family">>;

/** The words that a line may have for its methods, beside `cost 10`. */
const WORDS: Readonly<Record<string, Words>> = {
  ...{ chain: { workKind: "chain" }, blocks: { workKind: "blocks" }, state: { workKind: "state" } },
  execution: { workKind: "execution", cost: 5 },
  logs: { workKind: "logs", cost: 10 },
  traces: { workKind: "traces", cost: 25 },
  signed: { carriesSigned: true },
  "no contract": { contractsOf: noContract },
  "no contract with a flag": { contractsOf: noContractWithFlag },
  "contract first": { contractsOf: contractAt(0) },
  "contract of the filter": { contractsOf: contractsOfLogs },
  "called contract": { contractsOf: calledWithoutOverrides },
  "traced call": { contractsOf: tracedCall },
  "traced transaction": { contractsOf: tracedTransaction },
  "null is no block": { isNullNoBlock: true },
};

/** `namespace kind (words, …): names`. */
const LINE = /^(\S+) (read|write|node control|signing|subscription)(?: \((.+)\))?: (.+)$/;

/**
 * Reads a list of methods: each line has methods with the same traits, and an indented line continues the line before.
 * `ibft/qbft`: both namespaces have the methods; `-`: the methods have no namespace.
 */
export const listed = (family: Family, text: string): readonly KnownMethod[] =>
  text
    .replaceAll(/\n {2}/g, " ")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .flatMap((line) => {
      const [, namespaces = "", kind, words, names = ""] = LINE.exec(line) ?? [];
      if (!kind) throw new Error(`no methods: ${line}`);
      return namespaces
        .split("/")
        .flatMap((namespace) =>
          methodsOf(namespace, names, { family, kind: kind as MethodKind, ...wordsIn(words) }),
        );
    });

function methodsOf(
  namespace: string,
  names: string,
  {
    family,
    kind,
    cost = 3,
    contractsOf = anyContract,
    ...given
  }: Words & Pick<KnownMethod, "family" | "kind">,
): readonly KnownMethod[] {
  const workKind = kind === "write" ? "submission" : "other";
  const isOfChain = speaksOfChain(namespace);
  const traits = traitsFor(kind, { workKind, isOfChain, quotesCaller: true, ...given });
  // A write answers only about its own transaction.
  const guarded = kind === "write" && contractsOf === noContract ? {} : { contractsOf };
  const prefix = namespace === "-" ? "" : `${namespace}_`;
  return names
    .split(" ")
    .map((name) => ({ name: prefix + name, family, kind, cost, ...guarded, ...traits }));
}

const wordsIn = (text = ""): Words =>
  Object.assign({}, ...text.split(", ").map((word) => WORDS[word] ?? costIn(word)));

function costIn(word: string): Words {
  const [, cost] = /^cost (\d+)$/.exec(word) ?? [];
  if (word !== "" && cost === undefined) throw new Error(`no word for methods: ${word}`);
  return cost === undefined ? {} : { cost: Number(cost) };
}
