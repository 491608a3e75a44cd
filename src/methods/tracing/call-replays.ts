// What a call would do, as trace_call answers it: a node's own words, or from its debug_traceCall.
import type { BlockReference } from "../../evm/block-reference.ts";
import { type CallObject, forAnyNode, withCappedGas } from "../../evm/call-object.ts";
import type { AnswerJson } from "../../jsonrpc/raw-json.ts";
import { errors } from "../../jsonrpc/rpc-error.ts";
import type { TreeOptions } from "../../traces/call-tree.ts";
import { intrinsicGas } from "../../traces/gas.ts";
import { stateDiffOf } from "../../traces/prestate-diff.ts";
import type { StateDiff } from "../../traces/state-diff.ts";
import { type FixedPointer, settle } from "../block-lookup.ts";
import type { CallContext } from "../method.ts";
import { withoutState } from "../state.ts";
import { type CallTree, frameTree, TREE } from "./call-trees.ts";
import { withExecutedGasOfCall, withLeft } from "./executed-gas.ts";
import type { Parts, TraceType } from "./kept-parts.ts";
import { findMinedBlock, rulesOf } from "./mined.ts";
import { partsIn, replayJson } from "./replays.ts";
import { askSource, firstOf, type Source } from "./sources.ts";
import { DIFF } from "./state-diffs.ts";
import { type Codes, codeAt, codesIn, STEPS, stepThrough, type VmTrace } from "./vm-traces.ts";

type TracedCall = {
  readonly call: CallObject;
  /** As nodes take it: a number, or an object with the hash. */
  readonly block: unknown;
  readonly types: readonly TraceType[];
};

/** As trace_call answers it. @throws RpcError -32001 when the block is unknown. */
export async function callReplay(
  given: { call: CallObject; types: readonly TraceType[]; block: BlockReference },
  context: CallContext,
): Promise<AnswerJson> {
  const { types } = given;
  const call = withCappedGas(forAnyNode(given.call));
  const pointer = await settle(given.block, context);
  if (!pointer) throw errors.headerNotFound();
  const traced = { call, types, block: referenceTo(pointer) };
  const own = await askSource(ownReplay, traced, context);
  if (own.kind === "told") return replayJson(own.value);
  if (own.kind === "refused") throw own.error;
  if (own.kind === "unknown") throw await withoutState(given.block, context);
  return replayJson(await derived(traced, given.block, context));
}

const referenceTo = (pointer: FixedPointer): unknown =>
  pointer.kind === "hash" ? { blockHash: pointer.hash } : pointer.number;

const ownReplay: Source<TracedCall, Parts> = {
  name: "trace_call",
  method: "trace_call",
  params: ({ call, types, block }) => [call, types, block],
  read: (result, { types }) => partsIn(result, types),
};

async function derived(
  traced: TracedCall,
  reference: BlockReference,
  context: CallContext,
): Promise<Parts> {
  const block = await findMinedBlock(reference, context);
  if (!block) throw errors.headerNotFound();
  // A node that is told no gas counts with one of its own: the tree is to begin with what is known.
  const call = { ...traced.call, gas: traced.call.gas ?? block.gasLimit };
  const asked = { ...traced, call };
  const isCreate = (call.to ?? null) === null;
  const rules = await rulesOf(block.position, context);
  const gas = { intrinsicGas: intrinsicGas(call, { isCreate, rules }), gasLimit: call.gas };
  const wants = (type: TraceType) => traced.types.includes(type);
  const [told, stateDiff, vm] = await Promise.all([
    treeOf(asked, gas, context),
    wants("stateDiff") ? firstOf([diffSource], asked, context) : undefined,
    wants("vmTrace") ? vmTraceOf(asked, context) : undefined,
  ]);
  const tree = withLeft(told, vm?.gasLeft);
  return {
    output: JSON.stringify(tree.output ?? "0x"),
    ...(wants("trace") && { trace: JSON.stringify(tree.traces) }),
    ...(stateDiff && { stateDiff: JSON.stringify(stateDiff) }),
    ...(vm && { vmTrace: vm.vmTrace }),
  };
}

async function treeOf(
  asked: TracedCall,
  gas: TreeOptions,
  context: CallContext,
): Promise<CallTree> {
  const { call, block, types } = asked;
  const tree = await firstOf([treeSource(gas)], asked, context);
  // The steps tell what was used, too.
  const isEnough = !types.includes("trace") || types.includes("vmTrace");
  return isEnough ? tree : withExecutedGasOfCall(tree, [call, block], context);
}

const treeSource = (gas: TreeOptions): Source<TracedCall, CallTree> => ({
  name: "debug_traceCall with callTracer",
  method: "debug_traceCall",
  params: ({ call, block }) => [call, block, TREE],
  read: (result) => frameTree(result, gas),
});

const diffSource: Source<TracedCall, StateDiff> = {
  name: "debug_traceCall with prestateTracer in diffMode",
  method: "debug_traceCall",
  params: ({ call, block }) => [call, block, DIFF],
  read: (result) => stateDiffOf(result),
};

const codesSource: Source<TracedCall, Codes> = {
  name: "debug_traceCall with prestateTracer",
  method: "debug_traceCall",
  params: ({ call, block }) => [call, block, { tracer: "prestateTracer" }],
  read: (result) => codesIn(result),
};

async function vmTraceOf(traced: TracedCall, context: CallContext): Promise<VmTrace> {
  const { call, block } = traced;
  const codes = await askSource(codesSource, traced, context);
  const top = call.to ? { to: call.to.toLowerCase() } : { init: call.data ?? call.input ?? "0x" };
  const stepped = await stepThrough(
    { method: "debug_traceCall", params: [call, block, STEPS], top },
    codes.kind === "told" ? codes.value : new Map(),
    { context, codeOf: (address) => codeAt(address, block, context) },
  );
  if (stepped.kind === "told") return stepped.value;
  if (stepped.kind === "refused") throw stepped.error;
  throw errors.cannotTrace(["trace_call", "debug_traceCall with steps (anvil: --steps-tracing)"]);
}
