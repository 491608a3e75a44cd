// All that is known of methods by their names, and what a setting may open of it. Pure.
import { isWild, matcherOf } from "../lib/pattern.ts";
import { clients } from "./clients.ts";
import { conflux } from "./conflux.ts";
import { debug } from "./debug.ts";
import { development } from "./development.ts";
import { ethereum } from "./ethereum.ts";
import type { KnownMethod, MethodFamily, MethodKind } from "./known-method.ts";
import { rollups } from "./rollups.ts";

/** Beside those that are declared in src/methods, which are all read or write. */
export const knownMethods: readonly KnownMethod[] = [
  ...ethereum,
  ...debug,
  ...clients,
  ...rollups,
  ...development,
  ...conflux,
];

const byFamily: Readonly<Record<MethodFamily, ReadonlyMap<string, KnownMethod>>> = {
  evm: new Map(ofFamily("evm").map((method) => [method.name, method])),
  conflux: new Map(ofFamily("conflux").map((method) => [method.name, method])),
};

function ofFamily(family: MethodFamily): readonly KnownMethod[] {
  return knownMethods.filter((method) => method.family === family);
}

export const knownMethod = (name: string, family: MethodFamily): KnownMethod | undefined =>
  byFamily[family].get(name);

/** Reads that one word of `methods.groups` opens. */
export const GROUPS = {
  debugTrace: "debug_trace*",
  debugRaw: "debug_getRaw*",
  txpool: "txpool_*",
} as const;

export type MethodGroupName = keyof typeof GROUPS;

/** Only reads and writes open by a pattern: who writes `debug_*` does not mean debug_setHead. */
export const opensByPattern = (kind: MethodKind): boolean => kind === "read" || kind === "write";

/**
 * A method that no setting opens, not even by its name: node administration, what signs with the keys that the node
 * holds, and subscriptions, which have no way back to the caller over HTTP. What is behind a gateway belongs to its
 * operator, not to whoever has an API key. Also of names that nobody knows, in any case of letters.
 */
export function isNeverServed(name: string): boolean {
  const kind = knownMethod(name, "evm")?.kind ?? knownMethod(name, "conflux")?.kind;
  return (
    kind === "signing" ||
    kind === "subscription" ||
    NEVER_NAMESPACE.test(name) ||
    NEVER_NAME.test(name)
  );
}

const NEVER_NAMESPACE = /^(admin|personal|miner|engine)_/i;
const NEVER_NAME = /^(eth|cfx)_sign|_(re)?send(unsigned)?(transaction)?(sync)?$|_(un)?subscribe$/i;

const NEVER = "is never served (node administration, signing with the node's keys, subscriptions)";

/** Declared methods are in these namespaces, and a pattern may mean one of them. */
const DECLARED = /^(\*|eth_|net_|web3_|trace_|cfx_|headgate_|rpc\.)/;

/** Why an entry of an allow list is a mistake; undefined for one that may open something. */
export function whyItOpensNothing(entry: string): string | undefined {
  if (!isWild(entry)) return isNeverServed(entry) ? `this ${NEVER}` : undefined;
  const fits = matcherOf([entry]);
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
