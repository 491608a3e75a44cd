// The `trace` list of OpenEthereum, out of the frames of a transaction in the order they began.
import { isQuantity, toQuantity } from "../evm/values.ts";
import type { Json } from "../proofs/json.ts";
import { type Frame, readFrame } from "./frame.ts";
import { isUntraced } from "./untraced.ts";

export type Trace = {
  readonly action: Json;
  /** Instead of a result. */
  readonly error?: string;
  /** null of a self-destruct. */
  readonly result?: Json | null;
  readonly subtraces: number;
  readonly traceAddress: readonly number[];
  readonly type: "call" | "create" | "suicide";
};

/** Where a transaction stands, which OpenEthereum writes into each of its traces. */
export type TracePosition = {
  readonly blockHash: string;
  readonly blockNumber: number;
  readonly transactionHash: string;
  readonly transactionPosition: number;
};

export type TreeOptions = {
  /** What the node counted into the gas of the top frame, and OpenEthereum does not. */
  readonly intrinsicGas?: number | undefined;
  /** The transaction's `gas`: a node whose top frame has what is left of it counted nothing in (anvil). */
  readonly gasLimit?: unknown;
};

/** The paths of all traces together: far longer than what a transaction's gas can pay for. */
const MAX_PATH_STEPS = 2 ** 24;

/** Undefined when a frame cannot be read, or when the frames are no tree. */
export function tracesOfFrames(
  frames: readonly Frame[],
  options: TreeOptions,
): readonly Trace[] | undefined {
  const traces: Trace[] = [];
  const open: (Trace & { subtraces: number })[] = []; // the last trace of each depth
  const values: string[] = []; // and its value, which delegate calls inside of it inherit
  let pathSteps = 0;
  for (const [index, told] of frames.entries()) {
    const { depth } = told;
    const frame = depth === 0 ? withoutIntrinsicGas(told, options) : told;
    const read = frame && readFrame(frame, values[depth - 1] ?? "0x0");
    const parent = open[depth - 1];
    pathSteps += depth;
    const isInTree = depth === 0 ? index === 0 : parent !== undefined;
    if (!read || !isInTree || pathSteps > MAX_PATH_STEPS) return undefined;
    values[depth] = read.value;
    open.length = depth;
    const isLeaf = (frames[index + 1]?.depth ?? 0) <= depth;
    if (parent && isLeaf && isUntraced(told, read)) continue;
    const traceAddress = parent ? [...parent.traceAddress, parent.subtraces++] : [];
    const { action, outcome, type } = read;
    open[depth] = { action, ...outcome, subtraces: 0, traceAddress, type };
    traces.push(open[depth]);
  }
  return traces;
}

function withoutIntrinsicGas(frame: Frame, options: TreeOptions): Frame | undefined {
  const { intrinsicGas = 0, gasLimit } = options;
  const { gas, gasUsed } = frame;
  if (intrinsicGas === 0) return frame;
  if (!isQuantity(gas)) return undefined;
  const isLeftOut = isQuantity(gasLimit) && BigInt(gasLimit) - BigInt(intrinsicGas) === BigInt(gas);
  const isCountedIn = !isLeftOut;
  if (isCountedIn && BigInt(gas) < intrinsicGas) return undefined;
  return {
    ...frame,
    gas: isCountedIn ? less(gas, intrinsicGas) : gas,
    // Refunds are in what a node says was used, and can be more than what execution took.
    gasUsed: isQuantity(gasUsed) ? less(gasUsed, intrinsicGas) : gasUsed,
  };
}

const less = (quantity: string, subtrahend: number): string => {
  const left = BigInt(quantity) - BigInt(subtrahend);
  return toQuantity(left < 0n ? 0n : left);
};

/** The trace at exactly this path, for trace_get. */
export const traceAt = (traces: readonly Trace[], path: readonly number[]): Trace | undefined =>
  traces.find(
    ({ traceAddress }) =>
      traceAddress.length === path.length && traceAddress.every((step, at) => step === path[at]),
  );

/** As trace_transaction and trace_get write it: in OpenEthereum's order, which is the alphabet's. */
export function withPlace(trace: Trace, place: TracePosition): Trace & TracePosition {
  const { action, subtraces, traceAddress, type, ...outcome } = trace;
  const { blockHash, blockNumber, transactionHash, transactionPosition } = place;
  return {
    ...{ action, blockHash, blockNumber, ...outcome, subtraces, traceAddress },
    ...{ transactionHash, transactionPosition, type },
  };
}
