// The methods that a network serves: the declared methods, and those known by name in `namespaces/`, as far as the
// network's settings open them.

import { z } from "zod";
import type { NetworkSettings } from "../config/schema.ts";
import { isWild, matcherOf } from "../lib/pattern.ts";
import { type Family, type KnownMethod, opensByPattern } from "../namespaces/known-method.ts";
import { GROUPS, isNeverServed, knownMethods, unknownMethod } from "../namespaces/known-methods.ts";
import type { TraitsOf } from "../upstream/upstream-options.ts";
import { blockMethods } from "./blocks.ts";
import { epochLogMethods } from "./epoch-logs.ts";
import { epochMethods } from "./epochs.ts";
import { executionMethods } from "./execution.ts";
import { epochFilterMethods, filterMethods } from "./filters.ts";
import { logMethods } from "./logs.ts";
import type { Method } from "./method.ts";
import { nodeMethods } from "./node.ts";
import { askForNodeLogs } from "./node-logs.ts";
import { ownMethods } from "./own.ts";
import { receiptMethods } from "./receipts.ts";
import { stateMethods } from "./state.ts";
import { epochSubscriptionMethods, subscriptionMethods } from "./subscriptions.ts";
import { traceMethods } from "./traces.ts";
import { transactionMethods } from "./transactions.ts";
import { uncleMethods } from "./uncles.ts";

export type Catalogue = {
  /** All methods that this network serves, by name. */
  readonly served: ReadonlyMap<string, Method>;
  /** The declared methods among them. */
  readonly methods: readonly Method[];
  /** The methods among them whose calls go to the upstreams unchanged. */
  readonly forwarded: readonly Method[];
  /** All known methods of the network's family, whether or not the network serves them. */
  readonly known: readonly Method[];
  /** Whether the method exists but the network does not serve it. */
  isClosed(name: string): boolean;
};

/** The declared methods of all families. */
export const declaredMethods: readonly Method[] = [
  ...nodeMethods,
  ...blockMethods,
  ...transactionMethods,
  ...receiptMethods,
  ...uncleMethods,
  ...logMethods,
  ...filterMethods,
  ...subscriptionMethods,
  ...stateMethods,
  ...executionMethods,
  ...traceMethods,
  ...epochLogMethods,
  ...epochFilterMethods,
  ...epochSubscriptionMethods,
  ...epochMethods,
  ...ownMethods,
];

/** A method whose calls go to the upstreams unchanged. */
export const forwardedMethod = (known: KnownMethod): Method => ({
  ...known,
  summary: "Passed on to the upstreams unchanged.",
  parameters: "any",
  result: z.unknown(),
  freshness: "unknown",
  ...{ badParamsStatus: 200, isSpecified: false, isOwn: false, mayRevert: false },
  answer: (_, context) =>
    known.workKind === "logs"
      ? askForNodeLogs(known.name, context)
      : context.ask(known.name, context.paramsJson),
});

/** The methods known by name in `namespaces/`, whose calls go to the upstreams unchanged. */
export const forwardedMethods: readonly Method[] = knownMethods.map(forwardedMethod);

/** All methods of a family, whether or not a network serves them. */
function familyOf(family: Family) {
  const isOfFamily = (method: Method): boolean =>
    method.family === family || method.family === "any";
  const declared = declaredMethods.filter(isOfFamily);
  const names = new Set(declared.map(({ name }) => name));
  const forwarded = forwardedMethods.filter(
    (method) => isOfFamily(method) && !names.has(method.name),
  );
  const byName = new Map([...declared, ...forwarded].map((method) => [method.name, method]));
  return { declared, forwarded, byName };
}

const FAMILIES: Readonly<Record<Family, ReturnType<typeof familyOf>>> = {
  evm: familyOf("evm"),
  conflux: familyOf("conflux"),
};

/** Looks up a method's traits, for calls that the gateway itself makes. */
export const traitsOf =
  (family: Family): TraitsOf =>
  (name) =>
    FAMILIES[family].byName.get(name) ?? unknownMethod(name, family);

/** Methods that the specification names need no entry in `allow`; `deny` wins over every other setting. */
export type CatalogueOptions = Pick<NetworkSettings, "family"> & NetworkSettings["methods"];

export function catalogueFor(options: CatalogueOptions): Catalogue {
  const { family, allow, groups, deny } = options;
  const names = allow.filter((entry) => !isWild(entry));
  const isNamed = matcherOf(names);
  const fits = matcherOf([...allow.filter(isWild), ...groups.map((group) => GROUPS[group])]);
  const isDenied = matcherOf(deny);
  const isServed = ({ name, kind, isSpecified }: Method): boolean =>
    !isDenied(name) && (isNamed(name) || isSpecified || (opensByPattern(kind) && fits(name)));

  const { declared, forwarded: allForwarded, byName } = FAMILIES[family];
  const methods = declared.filter(isServed);
  const invented = names
    .filter((name) => !byName.has(name))
    .map((name) => forwardedMethod(unknownMethod(name, family)));
  const forwarded = [...allForwarded, ...invented].filter(
    (method) => !isNeverServed(method.name) && isServed(method),
  );
  const served = new Map([...methods, ...forwarded].map((method) => [method.name, method]));
  const known = [...declared, ...allForwarded, ...invented];
  const knownNames = new Set(known.map(({ name }) => name));

  return {
    served,
    methods,
    forwarded,
    known,
    isClosed: (name) => !served.has(name) && (knownNames.has(name) || isNeverServed(name)),
  };
}
