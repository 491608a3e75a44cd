// All that is known of methods by their names, and what a setting may open of it. Pure.
import { isWild, matcherOf } from "../lib/pattern.ts";
import { clients } from "./clients.ts";
import { conflux } from "./conflux.ts";
import { ethereum } from "./ethereum.ts";
import {
  type Family,
  type KnownMethod,
  type MethodKind,
  opensByPattern,
  speaksOfChain,
  traitsFor,
  type WorkKind,
} from "./known-method.ts";
import { anyContract } from "./read-contracts.ts";

/** Beside those that are declared in src/methods, which are all read or write. */
export const knownMethods: readonly KnownMethod[] = [...ethereum, ...clients, ...conflux];

/** Of several methods of the same name, the first family's is meant. */
const kinds = new Map(knownMethods.toReversed().map(({ name, kind }) => [name, kind]));

/** Reads that one word of `methods.groups` opens. */
export const GROUPS = {
  debugTrace: "debug_trace*",
  debugRaw: "debug_getRaw*",
  txpool: "txpool_*",
} as const;

export type MethodGroupName = keyof typeof GROUPS;

/**
 * A method that no setting opens, not even by its name: node administration, what signs with the keys that the node
 * holds, and subscriptions that nodes make, which end with their connection. What is behind a gateway belongs to its
 * operator, not to the holders of API keys. Names that nobody knows are judged too, in any case of letters.
 */
export function isNeverServed(name: string): boolean {
  return (
    kindOf(name) === "signing" ||
    needsPush(name) ||
    NEVER_NAMESPACE.test(name) ||
    NEVER_NAME.test(name)
  );
}

/** A subscription that only a node could make. */
const needsPush = (name: string): boolean =>
  !PUSHED.test(name) && (kindOf(name) === "subscription" || SUBSCRIPTION.test(name));

/** The gateway's own, over a WebSocket. */
const PUSHED = /^(eth|cfx)_(un)?subscribe$/;

const kindOf = (name: string): MethodKind | undefined => kinds.get(name);

const NEVER_NAMESPACE = /^(admin|personal|miner|engine)_/i;
const NEVER_NAME = /^(eth|cfx)_sign|_(re)?send(unsigned)?(transaction)?(sync)?$/i;
const SUBSCRIPTION = /_(un)?subscribe$/i;

const NEVER =
  "is never served (node administration, signing with the node's keys, subscriptions of nodes)";

/** Declared methods are in these namespaces, and a pattern may mean one of them. */
const DECLARED = /^(\*|eth_|net_|web3_|trace_|cfx_|headgate_|rpc\.)/;

/**
 * Why an entry of an allow list is a mistake; undefined for one that may open something.
 *
 * @param named What is open by its full name, known or not.
 */
export function whyItOpensNothing(
  entry: string,
  named: readonly string[] = [],
): string | undefined {
  if (!isWild(entry)) return isNeverServed(entry) ? `this ${NEVER}` : undefined;
  const fits = matcherOf([entry]);
  if (named.some((name) => isOpenByName(name) && fits(name))) return undefined;
  const found = knownMethods.filter(({ name }) => fits(name));
  if (found.some(({ kind }) => opensByPattern(kind))) return undefined;
  const control = found.find(({ name }) => !isNeverServed(name));
  if (control)
    return `this pattern fits only methods that control a node: such open by their full names alone, as ${control.name}`;
  if (found.length > 0 || NEVER_NAMESPACE.test(entry)) return `what this pattern fits ${NEVER}`;
  return DECLARED.test(entry)
    ? undefined
    : "this pattern fits no method that is known here: write the full names";
}

/** A method that nobody knows counts as a write, which patterns of keys open. */
const isOpenByName = (name: string): boolean =>
  !isWild(name) && !isNeverServed(name) && kindOf(name) === undefined;

/** A method that nobody declared, as an operator opened it: it may change something, and read any contract. */
export function unknownMethod(name: string, family: Family): KnownMethod {
  const workKind = WORK_KINDS_BY_NAME.find(([words]) => words.test(name))?.[1] ?? "other";
  const isRepeatable = !ACTS.test(name);
  const isBatchable = isRepeatable && workKind !== "submission";
  const [namespace = ""] = name.split("_");
  const declared = { workKind, isRepeatable, isBatchable, isOfChain: speaksOfChain(namespace) };
  const traits = traitsFor("write", declared);
  return {
    name,
    family,
    kind: "write",
    cost: COSTS[workKind] ?? 3,
    contractsOf: anyContract,
    ...traits,
  };
}

/** The first that fits. */
const WORK_KINDS_BY_NAME: readonly (readonly [RegExp, WorkKind])[] = [
  [/_send/i, "submission"],
  [/^(trace|debug)_/, "traces"],
  [/_getLogs$/, "logs"],
  [/_(call|estimate)/, "execution"],
  [/_get(Balance|Code|Storage|Account|Proof|Nonce|TransactionCount)/, "state"],
  [/Block|Transaction|Receipt|Epoch/, "blocks"],
];

/** As those that are known: what replays transactions is dear. */
const COSTS: Readonly<Partial<Record<WorkKind, number>>> = { traces: 25 };

/** Verbs of methods that do something; sending a signed transaction again is not doing it again. */
const ACTS =
  /^(evm|anvil|hardhat)_|_(submit|set|import|start|stop|mine|add|remove|increase|impersonate|reset|drop|revert|snapshot|write)/i;
