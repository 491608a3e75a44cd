// The call tree of a mined transaction or a call, by the methods that nodes have for it.
import { isQuantity, toQuantity } from "../../evm/values.ts";
import { isAbsent, isJson, type Json } from "../../proofs/json.ts";
import {
  type Trace,
  type TreeOptions,
  tracesOfCallFrame,
  tracesOfFlat,
  withPosition,
} from "../../traces/call-tree.ts";
import { floorGas, setsCode } from "../../traces/precompile-gas.ts";
import type { MinedBlock, MinedPosition, MinedTransaction } from "./mined.ts";
import {
  callSource,
  isOf,
  replaySources,
  type Source,
  type TracedCall,
  tracerSources,
} from "./sources.ts";

export type CallTree = {
  /** In OpenEthereum's form, the top call first. */
  readonly traces: readonly Trace[];
  /** The output of the top call, or the code of the contract that it created; undefined when no node told it. */
  readonly output: string | undefined;
  /** Whether the top call's gasUsed is the gas that the sender paid for, as tracers count it. */
  readonly isGasPaid: boolean;
};

/** Traces with the position of the block and the transaction, as trace_transaction gives them. */
export const placed = (traces: readonly Trace[], hash: string, { block, index }: MinedPosition) =>
  traces.map((trace) =>
    withPosition(trace, {
      blockHash: block.hash,
      blockNumber: block.number,
      transactionHash: hash,
      transactionPosition: index,
    }),
  );

const TREE = { words: "with callTracer", options: { tracer: "callTracer" } };
/**
 * By default this tracer leaves out calls to precompiled contracts, also calls with value. For a write in a static call
 * it writes "Out of gas" and not OpenEthereum's words (geth, call_flat.go).
 */
const FLAT = { tracer: "flatCallTracer", tracerConfig: { includePrecompiles: true } };

const flatTree = (result: unknown, options?: TreeOptions): CallTree | undefined => {
  const traces = tracesOfFlat(result, options);
  return traces?.[0] && { traces, output: outputIn(traces[0]), isGasPaid: false };
};

const frameTree = (result: unknown, options?: TreeOptions): CallTree | undefined => {
  const traces = tracesOfCallFrame(result, options);
  const output = isJson(result) ? (result["output"] ?? "0x") : "0x";
  return traces?.[0] && { traces, output: String(output), isGasPaid: true };
};

/** undefined for a failed call that may have returned bytes, since its trace does not have them. */
function outputIn({ result, error }: Trace): string | undefined {
  if (error !== undefined) return GIVES_NOTHING.test(error) ? "0x" : undefined;
  return String(result?.["output"] ?? result?.["code"] ?? "0x");
}

/** Matches every error except a revert, which alone returns bytes. */
const GIVES_NOTHING = /^(?!.*revert)/i;

const optionsFor = ({ intrinsicGas, json }: MinedTransaction): TreeOptions => ({
  intrinsicGas,
  gasLimit: json["gas"],
  floorGas: floorGas(json),
  setsCode: setsCode(json),
});

const traced = tracerSources(
  TREE,
  (result, transaction) => frameTree(result, optionsFor(transaction)),
  ({ from, input }, { json }) => from === json["from"] && input === json["input"],
);

const replayed = replaySources("trace", "", (replay) => {
  if (!isJson(replay)) return undefined;
  const tree = flatTree(replay["trace"]);
  return tree && { ...tree, output: String(replay["output"] ?? "0x") };
});

/** First the sources that trace one transaction by its hash, then those that trace whole blocks. */
export const treeSources: readonly Source<MinedTransaction, CallTree>[] = [
  {
    name: "trace_transaction",
    params: ({ hash }) => [hash],
    read: (result, transaction) => (isOfThis(result, transaction) ? flatTree(result) : undefined),
  },
  replayed.alone,
  traced.alone,
  {
    name: "debug_traceTransaction with flatCallTracer",
    params: ({ hash }) => [hash, FLAT],
    read: (result, transaction) => {
      const tree = flatTree(result, optionsFor(transaction));
      return tree && { ...tree, isGasPaid: true };
    },
  },
  {
    name: "trace_block",
    params: ({ block }) => [toQuantity(block.number)],
    read: (result, transaction) => {
      const own = entriesOf(result).filter((entry) =>
        isOf(transaction.hash, entry["transactionHash"]),
      );
      return isOfThis(own, transaction) ? flatTree(own) : undefined;
    },
  },
  ...[traced.byHash, traced.byNumber, replayed.inBlock],
];

/** All trees of a block in one call to a node. */
export const treesTogether: Source<MinedBlock, readonly CallTree[]> = {
  name: traced.byHash.name,
  params: ({ position }) => [position.hash, TREE.options],
  read: (result, { transactions }) => {
    const trees = transactions.map((transaction) => traced.byHash.read(result, transaction));
    return trees.every((tree) => tree !== undefined) ? trees : undefined;
  },
};

export const callTreeSource = (gas: TreeOptions): Source<TracedCall, CallTree> =>
  callSource(TREE, (result) => frameTree(result, gas));

/** The top call alone, for its output. */
export const topCallSource: Source<MinedTransaction, CallTree> = {
  name: traced.alone.name,
  params: ({ hash }) => [hash, { ...TREE.options, tracerConfig: { onlyTopCall: true } }],
  read: traced.alone.read,
};

const entriesOf = (result: unknown): readonly Json[] =>
  Array.isArray(result) ? result.filter(isJson) : [];

/** Whether the trace is of this block: a node on another branch traces the transaction as it ran there. */
function isOfThis(result: unknown, { block }: MinedTransaction): boolean {
  const blockHash = entriesOf(result)[0]?.["blockHash"];
  return isAbsent(blockHash) || isOf(block.hash, blockHash);
}

/** The position of the transaction, according to a node's own traces. */
export function positionIn(result: unknown): MinedPosition | undefined {
  const { blockHash, blockNumber, transactionPosition: index } = entriesOf(result)[0] ?? {};
  const number = isQuantity(blockNumber) ? Number(blockNumber) : blockNumber;
  if (typeof blockHash !== "string" || typeof number !== "number" || typeof index !== "number")
    return undefined;
  return { block: { number, hash: blockHash.toLowerCase() }, index };
}
