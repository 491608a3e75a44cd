// Makes OpenEthereum's `trace` list from nested frames (geth's callTracer), or from a flat list (geth's flatCallTracer,
// or a node's own trace_transaction).
import { isQuantity, toQuantity } from "../evm/values.ts";
import { isAbsent, isJson, type Json } from "../proofs/json.ts";
import { type Frame, isUntraced, readFrame } from "./frame.ts";
import { isBeyondExecution, type PaidGas, precompileGas } from "./precompile-gas.ts";

export type Trace = {
  readonly action: Json;
  /** A failed frame has an error in the place of a result. */
  readonly error?: string;
  /** null for a self-destruct. */
  readonly result?: Json | null;
  readonly subtraces: number;
  readonly traceAddress: readonly number[];
  readonly type: "call" | "create" | "suicide";
};

/** The position of a transaction, which OpenEthereum writes into each of its traces. */
export type TracePosition = {
  readonly blockHash: string;
  readonly blockNumber: number;
  readonly transactionHash: string;
  readonly transactionPosition: number;
};

export type TreeOptions = {
  /** The gas that most nodes count into the top frame, and OpenEthereum does not. */
  readonly intrinsicGas?: number | undefined;
  /** The transaction's `gas`. Where the top frame has this less the intrinsic gas, the node counted none in (anvil). */
  readonly gasLimit?: unknown;
} & Omit<PaidGas, "paid">;

/** The most steps in the paths of all traces together: far more than the gas of a transaction can pay for. */
const MAX_PATH_STEPS = 2 ** 24;

/** Traces of frames in the order in which these began. Undefined when a frame cannot be read, or they are no tree. */
function tracesOfFrames(
  frames: readonly Frame[],
  options: TreeOptions,
): readonly Trace[] | undefined {
  const traces: Trace[] = [];
  const open: (Trace & { subtraces: number })[] = []; // the last trace of each depth
  const values: string[] = []; // the value at each depth, which delegate calls inherit
  let pathSteps = 0;
  for (const [index, given] of frames.entries()) {
    const { depth } = given;
    const frame = depth === 0 ? withoutIntrinsicGas(given, options) : given;
    const read = frame && readFrame(frame, values[depth - 1] ?? "0x0");
    const parent = open[depth - 1];
    pathSteps += depth;
    const isInTree = depth === 0 ? index === 0 : parent !== undefined;
    if (!read || !isInTree || pathSteps > MAX_PATH_STEPS) return undefined;
    values[depth] = read.value;
    open.length = depth;
    const isLeaf = (frames[index + 1]?.depth ?? 0) <= depth;
    if (parent && isLeaf && isUntraced(given, read)) continue;
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
  const executed = isBeyondExecution({ ...options, paid: gasUsed })
    ? precompileGas(frame.to, frame.input)
    : undefined;
  // The node has already subtracted the refunds, which may exceed the gas that execution took.
  const told = isQuantity(gasUsed) ? less(gasUsed, intrinsicGas) : gasUsed;
  return {
    ...frame,
    gas: isCountedIn ? less(gas, intrinsicGas) : gas,
    gasUsed: executed === undefined ? told : toQuantity(executed),
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

/** A trace as trace_transaction and trace_get give it: members in OpenEthereum's order, which is alphabetical. */
export function withPosition(trace: Trace, position: TracePosition): Trace & TracePosition {
  const { action, subtraces, traceAddress, type, ...outcome } = trace;
  const { blockHash, blockNumber, transactionHash, transactionPosition } = position;
  return {
    ...{ action, blockHash, blockNumber, ...outcome, subtraces, traceAddress },
    ...{ transactionHash, transactionPosition, type },
  };
}

/** The EVM allows 1024 nested calls; a self-destruct, or a call too many, is one level deeper. */
const MAX_DEPTH = 1026;

/** The traces of nested frames. Undefined when a frame is not a callTracer's. */
export function tracesOfCallFrame(
  frame: unknown,
  options: TreeOptions = {},
): readonly Trace[] | undefined {
  const frames = flatten(frame);
  return frames && tracesOfFrames(frames, options);
}

/** The frames in the order in which they began. A list is the stack, since frames nest deeper than functions may. */
function flatten(top: unknown): readonly Frame[] | undefined {
  const frames: Frame[] = [];
  const waiting: { given: unknown; depth: number }[] = [{ given: top, depth: 0 }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { given, depth } = next;
    if (!isJson(given) || depth > MAX_DEPTH) return undefined;
    const calls = isAbsent(given["calls"]) ? [] : given["calls"];
    if (!Array.isArray(calls)) return undefined;
    frames.push(nestedFrameOf(given, depth));
    for (const call of calls.toReversed()) waiting.push({ given: call, depth: depth + 1 });
  }
  return frames;
}

function nestedFrameOf(given: Json, depth: number): Frame {
  const { from, value, gas, input, gasUsed, output, error } = given;
  const type = typeof given["type"] === "string" ? given["type"].toLowerCase() : "";
  const kind = kinds[type] ?? type;
  // anvil and reth do not name the receiver when a contract leaves its balance to itself.
  const to = given["to"] ?? (kind === "suicide" ? from : undefined);
  const frame = { depth, kind, from, to, value, gas, input, gasUsed, output, error };
  return kind === "create" ? { ...frame, creationMethod: type } : frame;
}

const kinds: Readonly<Record<string, string>> = { create2: "create", selfdestruct: "suicide" };

/** The traces of a flat list. Undefined unless it has one transaction's traces, with parents before their children. */
export function tracesOfFlat(
  entries: unknown,
  options: TreeOptions = {},
): readonly Trace[] | undefined {
  if (!Array.isArray(entries)) return undefined;
  const frames: Frame[] = [];
  let before: readonly number[] | undefined;
  for (const entry of entries as readonly unknown[]) {
    if (!isJson(entry)) return undefined;
    if (entry["type"] === "reward") continue;
    const path = pathOf(entry["traceAddress"]);
    if (!path || !follows(path, before)) return undefined;
    frames.push(flatFrameOf(entry, path.length));
    before = path;
  }
  return tracesOfFrames(frames, options);
}

const pathOf = (value: unknown): readonly number[] | undefined =>
  Array.isArray(value) && value.every((step) => Number.isSafeInteger(step) && step >= 0)
    ? value
    : undefined;

/** Whether a frame is a child of the one before, or a later sibling of it or of a frame around it. Gaps are allowed. */
function follows(path: readonly number[], before: readonly number[] | undefined): boolean {
  if (!before) return path.length === 0;
  const last = path.length - 1;
  if (last < 0 || last > before.length) return false;
  if (path.some((step, at) => at < last && step !== before[at])) return false;
  return last === before.length || (path[last] ?? 0) > (before[last] ?? 0);
}

function flatFrameOf(entry: Json, depth: number): Frame {
  const { error, type } = entry;
  const action = isJson(entry["action"]) ? entry["action"] : {};
  const result = isJson(entry["result"]) ? entry["result"] : {};
  const { from, to, gas, value, callType, input, init, creationMethod } = action;
  const none = { to: undefined, input: undefined, output: undefined };
  const frame = { depth, kind: "", from, value, gas, gasUsed: result["gasUsed"], error, ...none };
  switch (type) {
    case "call": {
      const kind = typeof callType === "string" ? callType.toLowerCase() : "";
      return { ...frame, kind, to, input, output: result["output"] };
    }
    case "create": {
      const created = { to: result["address"], output: result["code"] };
      return { ...frame, kind: "create", input: init, creationMethod, ...created };
    }
    case "suicide":
    case "selfdestruct": {
      const { address, refundAddress, balance } = action;
      return { ...frame, kind: "suicide", from: address, to: refundAddress, value: balance };
    }
    default:
      return frame;
  }
}
