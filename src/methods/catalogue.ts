// Which methods a network serves: those declared here, and what its allow list lets through.
import { isNeverServed } from "../config/never-served.ts";
import { matcherOf } from "../lib/pattern.ts";
import { blockMethods } from "./blocks.ts";
import { discoveryMethods } from "./discovery.ts";
import { epochFilterMethods } from "./epoch-filters.ts";
import { epochLogMethods } from "./epoch-logs.ts";
import { epochMethods } from "./epochs.ts";
import { executionMethods } from "./execution.ts";
import { filterMethods } from "./filters.ts";
import { forwardedMethod } from "./forwarded.ts";
import { hashingMethods } from "./hashing.ts";
import { logMethods } from "./logs.ts";
import type { Family, Method } from "./method.ts";
import { nodeMethods } from "./node.ts";
import { receiptMethods } from "./receipts.ts";
import { stateMethods } from "./state.ts";
import { traceMethods } from "./traces.ts";
import { transactionMethods } from "./transactions.ts";
import { uncleMethods } from "./uncles.ts";
import { usageMethods } from "./usage.ts";

export type Catalogue = {
  /** undefined when the network does not serve the method. */
  find(name: string): Method | undefined;
  /** The declared methods that this network serves, by name. */
  readonly methods: readonly Method[];
  readonly allowPatterns: readonly string[];
  /** Whether the name is one of `methods`: callers may invent others. */
  isDeclared(name: string): boolean;
};

/** Everything that is declared, for all families. */
export const declaredMethods: readonly Method[] = [
  ...nodeMethods,
  ...blockMethods,
  ...transactionMethods,
  ...receiptMethods,
  ...uncleMethods,
  ...logMethods,
  ...filterMethods,
  ...stateMethods,
  ...executionMethods,
  ...traceMethods,
  ...epochLogMethods,
  ...epochFilterMethods,
  ...epochMethods,
  ...hashingMethods,
  ...discoveryMethods,
  ...usageMethods,
];

/** How many forwarded names are remembered. Callers may invent names without end. */
const MAX_REMEMBERED = 512;

/** Names that may go to a node. Anything else is no method of any node, and must not reach a log or a URL. */
const METHOD_NAME = /^[A-Za-z0-9_.]{1,100}$/;

/**
 * What must not be found whatever the lists say: node administration and signing, and subscriptions,
 * which have no way back to the caller over HTTP.
 */
const isClosed = (name: string): boolean => isNeverServed(name) || /_(un)?subscribe$/.test(name);

/** @param options.allow Patterns; the methods that the specification names need none. `deny` wins over everything. */
export function catalogueFor(options: {
  family: Family;
  allow: readonly string[];
  deny: readonly string[];
}): Catalogue {
  const { family } = options;
  const isAllowed = matcherOf(options.allow);
  const isDenied = matcherOf(options.deny);
  const isServed = (name: string): boolean =>
    !isClosed(name) && !isDenied(name) && (specified.has(name) || isAllowed(name));
  const methods = declaredMethods.filter(
    (method) => (method.family === family || method.family === "any") && isServed(method.name),
  );
  const declared = new Map(methods.map((method) => [method.name, method]));
  const remembered = new Map<string, Method>();

  const findForwarded = (name: string): Method | undefined => {
    const known = remembered.get(name);
    if (known) return known;
    if (!METHOD_NAME.test(name) || isClosed(name) || isDenied(name) || !isAllowed(name)) {
      return undefined;
    }
    const method = forwardedMethod(name, family);
    if (remembered.size < MAX_REMEMBERED) remembered.set(name, method);
    return method;
  };

  return {
    find: (name) => declared.get(name) ?? findForwarded(name),
    methods,
    allowPatterns: options.allow,
    isDeclared: (name) => declared.has(name),
  };
}

/** Served on every network of their family, without a word in its allow list (specification; decisions: methods). */
const specified: ReadonlySet<string> = new Set([
  "eth_getTransactionByHash",
  "eth_getTransactionReceipt",
  "eth_getTransactionReceiptsByBlock",
  "eth_getBlockReceipts",
  "eth_getBlockByNumber",
  "eth_getBlockByHash",
  ...uncleMethods.map(({ name }) => name),
  "eth_getLogs",
  ...filterMethods.map(({ name }) => name),
  "cfx_getLogs",
  "eth_getCode",
  "eth_estimateGas",
  "eth_accounts",
  "web3_sha3",
  "trace_replayTransaction",
  "trace_get",
  ...usageMethods.map(({ name }) => name),
]);
