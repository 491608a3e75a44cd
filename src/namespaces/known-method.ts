// What is known of a method that clients document, whether or not it is declared here. Pure.
import {
  anyContract,
  type ContractsOf,
  calledWithoutOverrides,
  contractAt,
  contractsOfLogs,
  noContract,
  tracedCall,
  tracedTransaction,
} from "./read-contracts.ts";

/**
 * `read` asks. `write` sends what somebody signed, or leaves something behind for others. `node control` changes the
 * node itself, tells of the machine it runs on, or changes a development chain. `signing` uses the keys that the node
 * holds. `subscription` needs a connection that can be pushed to.
 */
export type MethodKind = "read" | "write" | "node control" | "signing" | "subscription";

export type Family = "evm" | "conflux";

type OwnQuestion = "chainId" | "version" | "head" | "newestBlock";

/** What the gateway itself asks of nodes: the method, and its parameters as JSON. */
export const OWN_QUESTIONS: Readonly<
  Record<Family, Readonly<Record<OwnQuestion, readonly [method: string, paramsJson: string]>>>
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

type Words = Partial<Omit<KnownMethod, "name" | "kind" | "family">>;

/** What a line may say of its methods; `cost 10` beside these. */
const WORDS: Readonly<Record<string, Words>> = {
  ...{ chain: { workKind: "chain" }, blocks: { workKind: "blocks" }, state: { workKind: "state" } },
  execution: { workKind: "execution", cost: 5 },
  logs: { workKind: "logs", cost: 10 },
  traces: { workKind: "traces", cost: 25 },
  "no contract": { contractsOf: noContract },
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
 * Methods of several namespaces, a line for those that are alike; a line that is indented goes on with the one
 * before. `ibft/qbft`: two namespaces have the same methods; `-`: none.
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
  const traits = traitsFor(kind, { workKind, isOfChain: speaksOfChain(namespace), ...given });
  const guarded = contractsOf === noContract ? {} : { contractsOf };
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
