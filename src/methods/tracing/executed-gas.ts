// What the top calls of transactions used, asked of a node that told only what their senders paid for.
import { RpcError } from "../../jsonrpc/rpc-error.ts";
import { isAbsent, isJson } from "../../proofs/json.ts";
import { type GasLeft, gasLeftIn, LAST_STEP_TRACER, withGasLeft } from "../../traces/gas.ts";
import type { CallContext } from "../method.ts";
import { type CallTree, resultFor } from "./call-trees.ts";
import type { MinedBlock, MinedTransaction } from "./mined.ts";
import { askSource, type Source } from "./sources.ts";

const LAST_STEP = { tracer: LAST_STEP_TRACER };
const NAME = "with a tracer in JavaScript";

type Ended = { readonly left: GasLeft | undefined };

/** A node that ran the tracer and does not know is not cross-checked: no other one is made to run it. */
const endedAs = (result: unknown): Ended | undefined =>
  isJson(result) && "last" in result ? { left: gasLeftIn(result) } : undefined;

const ofOne: readonly Source<MinedTransaction, Ended>[] = [
  {
    name: `debug_traceTransaction ${NAME}`,
    method: "debug_traceTransaction",
    params: ({ hash }) => [hash, LAST_STEP],
    read: endedAs,
  },
  {
    name: `debug_traceBlockByHash ${NAME}`,
    method: "debug_traceBlockByHash",
    params: ({ block }) => [block.hash, LAST_STEP],
    read: (result, transaction) => endedIn(result, transaction),
  },
];

const ofCall: readonly Source<readonly unknown[], Ended>[] = [
  {
    name: `debug_traceCall ${NAME}`,
    method: "debug_traceCall",
    params: (params) => [...params, LAST_STEP],
    read: endedAs,
  },
];

const ofBlock: readonly Source<MinedBlock, readonly (Ended | undefined)[]>[] = [
  {
    name: `debug_traceBlockByHash ${NAME}`,
    method: "debug_traceBlockByHash",
    params: ({ position }) => [position.hash, LAST_STEP],
    read: (result, { transactions }) =>
      Array.isArray(result) && result.length === transactions.length
        ? transactions.map((transaction) => endedIn(result, transaction))
        : undefined,
  },
];

const endedIn = (result: unknown, transaction: MinedTransaction): Ended | undefined =>
  endedAs(resultFor(transaction, result, () => true));

/** The node runs the transaction again, and calls the tracer at each step. */
export async function withExecutedGas(
  tree: CallTree,
  transaction: MinedTransaction,
  context: CallContext,
): Promise<CallTree> {
  if (!needsGas(tree, context) || isPlain(tree, transaction)) return tree;
  return withLeft(tree, (await toldBy(ofOne, transaction, context))?.left);
}

/** Of a call that is not mined; `params` as debug_traceCall takes them, without the tracer. */
export async function withExecutedGasOfCall(
  tree: CallTree,
  params: readonly unknown[],
  context: CallContext,
): Promise<CallTree> {
  if (!needsGas(tree, context)) return tree;
  return withLeft(tree, (await toldBy(ofCall, params, context))?.left);
}

/** Of all of a block's transactions, in one call. */
export async function withExecutedGasOfAll(
  trees: readonly CallTree[],
  block: MinedBlock,
  context: CallContext,
): Promise<readonly CallTree[]> {
  const isWanted = trees.map((tree, index) => {
    const transaction = block.transactions[index];
    return transaction && needsGas(tree, context) && !isPlain(tree, transaction);
  });
  if (!isWanted.includes(true)) return trees;
  const told = (await toldBy(ofBlock, block, context)) ?? [];
  return trees.map((tree, index) => (isWanted[index] ? withLeft(tree, told[index]?.left) : tree));
}

/** The same tree with what is known of its top call's gas. */
export const withLeft = (tree: CallTree, left: GasLeft | undefined): CallTree =>
  left === undefined ? tree : { ...tree, traces: withGasLeft(tree.traces, left), isGasPaid: false };

const needsGas = ({ isGasPaid, traces }: CallTree, { network }: CallContext): boolean =>
  isGasPaid && network.limits.traces.refunds && traces[0]?.error === undefined;

/** Nothing ran, as the sender paid for nothing: the node need not run it again. */
function isPlain({ traces }: CallTree, { json }: MinedTransaction): boolean {
  const [{ action, result, subtraces = 1 } = {}] = traces;
  const isEmpty = (list: unknown): boolean => isAbsent(list) || Object(list).length === 0;
  const hasLists = !isEmpty(json["accessList"]) || !isEmpty(json["authorizationList"]);
  return (
    !hasLists && subtraces === 0 && action?.["input"] === "0x" && result?.["gasUsed"] === "0x0"
  );
}

/** undefined when no node does, for whatever reason: there is an answer without. */
async function toldBy<Subject, Value>(
  sources: readonly Source<Subject, Value>[],
  subject: Subject,
  context: CallContext,
): Promise<Value | undefined> {
  try {
    for (const source of sources) {
      const told = await askSource(source, subject, context);
      if (told.kind !== "missing") return told.kind === "told" ? told.value : undefined;
    }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
  }
  return undefined;
}
