// The traces of a mined transaction, and the parts of its replay: from the store, from a node's own answer, or derived
// from the answers of other methods.

import { type AnswerJson, JsonPacker, PackedJson } from "../../jsonrpc/raw-json.ts";
import { errors, isMethodMissing } from "../../jsonrpc/rpc-error.ts";
import { isJson, type Json } from "../../proofs/json.ts";
import { type Trace, type TracePosition, tracesOfFlat } from "../../traces/call-tree.ts";
import type { StateDiff } from "../../traces/state-diff.ts";
import { normaliseVmTrace } from "../../traces/vm-trace.ts";
import type { CallContext } from "../method.ts";
import { type CallTree, placed, positionIn, topCallSource, treeSources } from "./call-trees.ts";
import { withExecutedGas, withLeft } from "./executed-gas.ts";
import {
  keepParts,
  keptParts,
  type Parts,
  type TracedPart,
  type TraceType,
  withGasOfVmTrace,
} from "./kept-parts.ts";
import { findMined, type MinedPosition, type MinedTransaction } from "./mined.ts";
import { askSource, firstOf, type Source, type SourceAnswer } from "./sources.ts";
import { diffIn, diffSources } from "./state-diffs.ts";
import { type VmTrace, vmTraceOf } from "./vm-traces.ts";

/** The answer of trace_replayTransaction. @throws RpcError -32000 for a transaction that is unknown or pending. */
export async function replay(
  hash: string,
  types: readonly TraceType[],
  context: CallContext,
): Promise<AnswerJson> {
  const known = context.chain && (await findMined(hash, context));
  if (context.chain && !known) throw errors.transactionNotFound();
  const kept = known && keptParts(known, ["output", ...types], context);
  if (kept) return replayJson(withGasOfVmTrace(kept));
  const own = await askSource(ownReplay, { hash: hash.toLowerCase(), types }, context);
  const isReported = own.kind === "result";
  const mined = known ?? (isReported ? undefined : await findMined(hash, context));
  const parts = isReported ? own.value : await derived(own, { mined, types }, context);
  if (mined) keepParts(mined, parts, context);
  context.setProvenance({ source: "upstream", block: mined?.block, proof: "none" });
  return replayJson(parts);
}

const ownReplay: Source<{ readonly hash: string; readonly types: readonly TraceType[] }, Parts> = {
  name: "trace_replayTransaction",
  params: ({ hash, types }) => [hash, types],
  read: (result, { types }) => partsIn(result, types),
};

/** The parts in a node's own replay; undefined when a part that was asked for is missing or makes no sense. */
export function partsIn(result: unknown, types: readonly TraceType[]): Parts | undefined {
  if (!isJson(result) || typeof result["output"] !== "string") return undefined;
  const { output, stateDiff, trace, vmTrace, ...others } = result;
  const parts: Partial<Record<TracedPart, string>> = { output: JSON.stringify(output) };
  const more = JSON.stringify(others).slice(1, -1);
  if (more) parts.more = `,${more}`;
  for (const type of types) {
    const part = readers[type](result);
    if (part === undefined) return undefined;
    parts[type] = JSON.stringify(part);
  }
  return parts;
}

const readers: Readonly<Record<TraceType, (replay: Json) => unknown>> = {
  trace: ({ trace }) => tracesOfFlat(trace),
  stateDiff: diffIn,
  vmTrace: ({ vmTrace }) => (isJson(vmTrace) ? normaliseVmTrace(vmTrace) : undefined),
};

async function derived(
  own: SourceAnswer<Parts>,
  { mined, types }: { mined: MinedTransaction | undefined; types: readonly TraceType[] },
  context: CallContext,
): Promise<Parts> {
  if (!mined) throw errors.transactionNotFound();
  try {
    return await derivedParts(types, partsOfMined(mined, types, context));
  } catch (error) {
    // A node with the method has refused: its error says more than that no other method exists.
    throw own.kind === "refused" && isMethodMissing(error) ? own.error : error;
  }
}

/** The functions that make the parts of a replay. */
export type PartMakers = {
  tree(): Promise<CallTree>;
  stateDiff(): Promise<StateDiff>;
  vmTrace(): Promise<VmTrace>;
  /** The output of the top call, for a replay without a tree, which would have it. */
  output(): Promise<string | undefined>;
};

/** Makes the parts of a replay. @param knownTree Gives the part `trace`, also where the types do not name it. */
export async function derivedParts(
  types: readonly TraceType[],
  make: PartMakers,
  knownTree?: CallTree,
): Promise<Parts> {
  const wants = (type: TraceType) => types.includes(type);
  const [made = knownTree, stateDiff, vm, output] = await Promise.all([
    wants("trace") ? make.tree() : undefined,
    wants("stateDiff") ? make.stateDiff() : undefined,
    wants("vmTrace") ? make.vmTrace() : undefined,
    wants("trace") || knownTree ? undefined : make.output(),
  ]);
  const tree = made && withLeft(made, made.isGasPaid ? vm?.gasLeft : undefined);
  const returned = tree?.output ?? output ?? vm?.output ?? (await make.output());
  return {
    ...(returned !== undefined && { output: JSON.stringify(returned) }),
    ...(tree && { trace: JSON.stringify(tree.traces) }),
    ...(stateDiff && { stateDiff: JSON.stringify(stateDiff) }),
    ...(vm && { vmTrace: vm.vmTrace }),
  };
}

export const partsOfMined = (
  transaction: MinedTransaction,
  types: readonly TraceType[],
  context: CallContext,
): PartMakers => ({
  tree: async () => {
    const tree = await firstOf(treeSources, transaction, context);
    // The steps also tell the gas that was used.
    return types.includes("vmTrace") ? tree : withExecutedGas(tree, transaction, context);
  },
  stateDiff: () => firstOf(diffSources, transaction, context),
  vmTrace: () => vmTraceOf(transaction, context),
  output: async () => {
    const sources = [topCallSource, ...treeSources];
    const tree = await firstOf(sources, transaction, context).catch((error: unknown) => {
      if (isMethodMissing(error)) return undefined;
      throw error;
    });
    return tree?.output;
  },
});

/** A replay as JSON, with its members in OpenEthereum's order, which is alphabetical. */
export function replayJson(parts: Parts): AnswerJson {
  // The output is `0x` where no node tells it.
  const { output = '"0x"', stateDiff = "null", trace = "[]", vmTrace = "null", more = "" } = parts;
  const before = `{"output":${output},"stateDiff":${stateDiff},"trace":${trace}`;
  if (!(vmTrace instanceof PackedJson)) return `${before}${more},"vmTrace":${vmTrace}}`;
  const packer = new JsonPacker();
  packer.write(`${before}${more},"vmTrace":`);
  packer.append(vmTrace);
  packer.write("}");
  return packer.finish();
}

/**
 * The answer of trace_transaction; undefined when the transaction is unknown or pending.
 * @throws RpcError -32601 when no node can trace.
 */
export async function tracesOf(
  hash: string,
  context: CallContext,
): Promise<readonly (Trace & TracePosition)[] | undefined> {
  const lowerHash = hash.toLowerCase();
  let refusal: Error | undefined;
  if (!context.chain) {
    // Where no chain is followed, the answer has the transaction's position from the node.
    const own = await askSource(ownTraces, lowerHash, context);
    if (own.kind === "result") return placed(own.value.traces, lowerHash, own.value.position);
    if (own.kind === "refused") refusal = own.error;
  }
  const mined = await findMined(lowerHash, context).catch((error: unknown) => {
    throw refusal ?? error;
  });
  if (!mined && refusal) throw refusal;
  if (!mined) return undefined;
  const kept = keptParts(mined, ["trace"], context)?.trace;
  if (kept) return placed(JSON.parse(String(kept)) as readonly Trace[], lowerHash, mined);
  const tree = await firstOf(treeSources, mined, context);
  const { traces, output } = await withExecutedGas(tree, mined, context);
  const returned = output !== undefined && { output: JSON.stringify(output) };
  keepParts(mined, { trace: JSON.stringify(traces), ...returned }, context);
  context.setProvenance({ source: "upstream", block: mined.block, proof: "none" });
  return placed(traces, lowerHash, mined);
}

const ownTraces: Source<string, { traces: readonly Trace[]; position: MinedPosition }> = {
  name: "trace_transaction",
  params: (hash) => [hash],
  read: (result) => {
    const traces = tracesOfFlat(result);
    const position = positionIn(result);
    return traces && position && { traces, position };
  },
};
