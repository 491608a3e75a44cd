// The gas that the top calls of transactions used. A node runs a second tracer for it where the first one told only the
// gas that the senders paid for.
import { RpcError } from "../../jsonrpc/rpc-error.ts";
import { isAbsent, isJson } from "../../proofs/json.ts";
import { type GasLeft, gasLeftIn, LAST_STEP_TRACER, withGasLeft } from "../../traces/gas.ts";
import type { CallContext } from "../method.ts";
import type { CallTree } from "./call-trees.ts";
import type { MinedBlock, MinedTransaction } from "./mined.ts";
import { askSource, callSource, type Source, type TracedCall, tracerSources } from "./sources.ts";

const LAST_STEP = {
  words: "with a tracer in JavaScript",
  options: { tracer: LAST_STEP_TRACER },
};

type Ended = { readonly left: GasLeft | undefined };

/** A result without the gas counts as well: it is not cross-checked, so no other node has to run the tracer. */
const endedAs = (result: unknown): Ended | undefined =>
  isJson(result) && "last" in result ? { left: gasLeftIn(result) } : undefined;

const traced = tracerSources(LAST_STEP, endedAs, () => true);
const ofCall = callSource(LAST_STEP, endedAs);

const ofBlock: Source<MinedBlock, readonly (Ended | undefined)[]> = {
  name: traced.byHash.name,
  params: ({ position }) => [position.hash, LAST_STEP.options],
  read: (result, { transactions }) =>
    Array.isArray(result) && result.length === transactions.length
      ? transactions.map((transaction) => traced.byHash.read(result, transaction))
      : undefined,
};

/** The tree with the gas that its top call used. A node runs the call again for it, with a tracer at each step. */
export async function withExecutedGas(
  tree: CallTree,
  subject: MinedTransaction | TracedCall,
  context: CallContext,
): Promise<CallTree> {
  const isCall = "call" in subject;
  if (!needsGas(tree, context) || (!isCall && isPlain(tree, subject))) return tree;
  const ended = isCall
    ? await endedBy([ofCall], subject, context)
    : await endedBy([traced.alone, traced.byHash], subject, context);
  return withLeft(tree, ended?.left);
}

/** As `withExecutedGas`, for all transactions of a block in one call to a node. */
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
  const ended = (await endedBy([ofBlock], block, context)) ?? [];
  return trees.map((tree, index) => (isWanted[index] ? withLeft(tree, ended[index]?.left) : tree));
}

/** The tree with the gas that its top call used, where the gas that this call left is known. */
export const withLeft = (tree: CallTree, left: GasLeft | undefined): CallTree =>
  left === undefined ? tree : { ...tree, traces: withGasLeft(tree.traces, left), isGasPaid: false };

const needsGas = ({ isGasPaid, traces }: CallTree, { network }: CallContext): boolean =>
  isGasPaid && network.limits.traces.refunds && traces[0]?.error === undefined;

/** Whether no code ran, since the sender paid for no execution: then no node need run the transaction again. */
function isPlain({ traces }: CallTree, { json }: MinedTransaction): boolean {
  const [{ action, result, subtraces = 1 } = {}] = traces;
  const isEmpty = (list: unknown): boolean => isAbsent(list) || Object(list).length === 0;
  const hasLists = !isEmpty(json["accessList"]) || !isEmpty(json["authorizationList"]);
  return (
    !hasLists && subtraces === 0 && action?.["input"] === "0x" && result?.["gasUsed"] === "0x0"
  );
}

/** The value of the first source that a node has; undefined when no node tells it, since traces do without it. */
async function endedBy<Subject, Value>(
  sources: readonly Source<Subject, Value>[],
  subject: Subject,
  context: CallContext,
): Promise<Value | undefined> {
  try {
    for (const source of sources) {
      const answer = await askSource(source, subject, context);
      if (answer.kind !== "missing") return answer.kind === "result" ? answer.value : undefined;
    }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
  }
  return undefined;
}
