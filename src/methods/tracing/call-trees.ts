// The call tree of a mined transaction, from whatever its nodes offer.
import { isQuantity, toQuantity } from "../../evm/values.ts";
import { isAbsent, isJson, type Json } from "../../proofs/json.ts";
import {
  type Trace,
  type TreeOptions,
  tracesOfCallFrame,
  tracesOfFlat,
  withPlace,
} from "../../traces/call-tree.ts";
import type { MinedPosition, MinedTransaction } from "./mined.ts";
import type { Source } from "./sources.ts";

export type CallTree = {
  /** As OpenEthereum has them, the top call first. */
  readonly traces: readonly Trace[];
  /** What the top call returned, or the code of the contract it made; undefined when that is not told. */
  readonly output: string | undefined;
  /** The top call's gasUsed is what the sender paid for, as tracers tell it. */
  readonly isGasPaid: boolean;
};

/** With the block's and the transaction's place, as trace_transaction gives them. */
export const placed = (traces: readonly Trace[], hash: string, { block, index }: MinedPosition) =>
  traces.map((trace) =>
    withPlace(trace, {
      blockHash: block.hash,
      blockNumber: block.number,
      transactionHash: hash,
      transactionPosition: index,
    }),
  );

export const TREE = { tracer: "callTracer" };
/**
 * By itself it tells of no call to a precompiled contract, not of those with value either; and it writes
 * "Out of gas" of a write in a static call where it is to use OpenEthereum's words (geth, call_flat.go).
 */
const FLAT = { tracer: "flatCallTracer", tracerConfig: { includePrecompiles: true } };

type TreeSource = Source<MinedTransaction, CallTree>;

const flatTree = (result: unknown, options?: TreeOptions): CallTree | undefined => {
  const traces = tracesOfFlat(result, options);
  return traces?.[0] && { traces, output: outputIn(traces[0]), isGasPaid: false };
};

export const frameTree = (result: unknown, options?: TreeOptions): CallTree | undefined => {
  const traces = tracesOfCallFrame(result, options);
  const output = isJson(result) ? (result["output"] ?? "0x") : "0x";
  return traces?.[0] && { traces, output: String(output), isGasPaid: true };
};

/** What failed may have returned something, which is not in its trace. */
function outputIn({ result, error }: Trace): string | undefined {
  if (error !== undefined) return GIVES_NOTHING.test(error) ? "0x" : undefined;
  return String(result?.["output"] ?? result?.["code"] ?? "0x");
}

/** Only a revert gives something back. */
const GIVES_NOTHING = /^(?!.*revert)/i;

export const optionsFor = ({ intrinsicGas, json }: MinedTransaction): TreeOptions => ({
  intrinsicGas,
  gasLimit: json["gas"],
});

/** Those that trace one transaction by its hash alone. */
const treeByHash: readonly TreeSource[] = [
  {
    name: "trace_transaction",
    method: "trace_transaction",
    params: ({ hash }) => [hash],
    read: (result, transaction) => (isOfThis(result, transaction) ? flatTree(result) : undefined),
  },
  {
    name: "trace_replayTransaction",
    method: "trace_replayTransaction",
    params: ({ hash }) => [hash, ["trace"]],
    read: (result) => replayTree(result),
  },
  {
    name: "debug_traceTransaction with callTracer",
    method: "debug_traceTransaction",
    params: ({ hash }) => [hash, TREE],
    read: (result, transaction) => frameTree(result, optionsFor(transaction)),
  },
  {
    name: "debug_traceTransaction with flatCallTracer",
    method: "debug_traceTransaction",
    params: ({ hash }) => [hash, FLAT],
    read: (result, transaction) => {
      const tree = flatTree(result, optionsFor(transaction));
      return tree && { ...tree, isGasPaid: true };
    },
  },
];

/** Those that trace whole blocks only. */
const treeByBlock: readonly TreeSource[] = [
  {
    name: "trace_block",
    method: "trace_block",
    params: ({ block }) => [toQuantity(block.number)],
    read: (result, transaction) => {
      const own = entriesOf(result).filter((entry) =>
        isOf(transaction.hash, entry["transactionHash"]),
      );
      return isOfThis(own, transaction) ? flatTree(own) : undefined;
    },
  },
  {
    name: "debug_traceBlockByHash with callTracer",
    method: "debug_traceBlockByHash",
    params: ({ block }) => [block.hash, TREE],
    read: (result, transaction) => frameTreeFor(transaction, result),
  },
  {
    name: "debug_traceBlockByNumber with callTracer",
    method: "debug_traceBlockByNumber",
    params: ({ block }) => [toQuantity(block.number), TREE],
    read: (result, transaction) => frameTreeFor(transaction, result),
  },
  {
    name: "trace_replayBlockTransactions",
    method: "trace_replayBlockTransactions",
    params: ({ block }) => [toQuantity(block.number), ["trace"]],
    read: (result, transaction) => replayTree(replayFor(transaction, result)),
  },
];

export const treeSources = [...treeByHash, ...treeByBlock];

function replayTree(replay: unknown): CallTree | undefined {
  if (!isJson(replay)) return undefined;
  const tree = flatTree(replay["trace"]);
  return tree && { ...tree, output: String(replay["output"] ?? "0x") };
}

const entriesOf = (result: unknown): readonly Json[] =>
  Array.isArray(result) ? result.filter(isJson) : [];

const entryAt = (result: unknown, index: number): Json => Object(Object(result)[index]) as Json;

/**
 * Of debug_traceBlockBy….
 *
 * @param isAlike Whether a result can be this transaction's: older nodes do not name them.
 */
export function resultFor(
  { hash, index }: MinedTransaction,
  result: unknown,
  isAlike: (told: Json) => boolean,
): unknown {
  const { txHash, result: told } = entryAt(result, index);
  const isOwn = isAbsent(txHash) ? isAlike(Object(told) as Json) : isOf(hash, txHash);
  return isOwn ? told : undefined;
}

/** The tree of a transaction out of those of its block. */
export function frameTreeFor(transaction: MinedTransaction, result: unknown): CallTree | undefined {
  const { json } = transaction;
  const frame = resultFor(
    transaction,
    result,
    ({ from, input }) => from === json["from"] && input === json["input"],
  );
  return frameTree(frame, optionsFor(transaction));
}

/** Of trace_replayBlockTransactions. */
export function replayFor({ hash, index }: MinedTransaction, result: unknown): Json | undefined {
  const entry = entryAt(result, index);
  return isOf(hash, entry["transactionHash"]) ? entry : undefined;
}

const isOf = (hash: string, told: unknown): boolean =>
  typeof told === "string" && told.toLowerCase() === hash;

/** A node on another branch traces what the transaction did there. */
function isOfThis(result: unknown, { block }: MinedTransaction): boolean {
  const told = entriesOf(result)[0]?.["blockHash"];
  return isAbsent(told) || isOf(block.hash, told);
}

/** Where a node's own traces say that the transaction is. */
export function placeIn(result: unknown): MinedPosition | undefined {
  const { blockHash, blockNumber, transactionPosition: index } = entriesOf(result)[0] ?? {};
  const number = isQuantity(blockNumber) ? Number(blockNumber) : blockNumber;
  if (typeof blockHash !== "string" || typeof number !== "number" || typeof index !== "number")
    return undefined;
  return { block: { number, hash: blockHash.toLowerCase() }, index };
}
