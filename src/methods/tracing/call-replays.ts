// trace_call: a node's own answer, or an answer derived from debug_traceCall.
import type { BlockReference } from "../../evm/block-reference.ts";
import { type CallObject, forAnyNode, withCappedGas } from "../../evm/call-object.ts";
import type { AnswerJson } from "../../jsonrpc/raw-json.ts";
import { errors } from "../../jsonrpc/rpc-error.ts";
import { intrinsicGas } from "../../traces/gas.ts";
import { floorGas, setsCode } from "../../traces/precompile-gas.ts";
import { type FixedPointer, settle } from "../block-lookup.ts";
import type { CallContext } from "../method.ts";
import { withoutState } from "../state.ts";
import { type CallTree, callTreeSource } from "./call-trees.ts";
import { withExecutedGas } from "./executed-gas.ts";
import type { Parts, TraceType } from "./kept-parts.ts";
import { findMinedBlock, rulesOf } from "./mined.ts";
import { derivedParts, partsIn, replayJson } from "./replays.ts";
import { askSource, firstOf, type Source, type TracedCall, whyNoSource } from "./sources.ts";
import { callDiffSource } from "./state-diffs.ts";
import { callCodesSource, codeAt, STEPS, stepThrough, type VmTrace } from "./vm-traces.ts";

/** The answer of trace_call. @throws RpcError -32001 when the block is unknown. */
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
  if (own.kind === "result") return replayJson(own.value);
  if (own.kind === "refused") throw own.error;
  if (own.kind === "unknown") throw await withoutState(given.block, context);
  return replayJson(await derived(traced, given.block, context));
}

const referenceTo = (pointer: FixedPointer): unknown =>
  pointer.kind === "hash" ? { blockHash: pointer.hash } : pointer.number;

const ownReplay: Source<TracedCall, Parts> = {
  name: "trace_call",
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
  // A node uses an amount of its own where a call names no gas, but the tree should begin with a known amount.
  const call = { ...traced.call, gas: traced.call.gas ?? block.gasLimit };
  const asked = { ...traced, call };
  const isCreate = (call.to ?? null) === null;
  const rules = await rulesOf(block.position, context);
  const gas = {
    ...{ intrinsicGas: intrinsicGas(call, { isCreate, rules }), gasLimit: call.gas },
    ...{ floorGas: floorGas(call), setsCode: setsCode(call) },
  };
  const tree = async (): Promise<CallTree> => firstOf([callTreeSource(gas)], asked, context);
  return derivedParts(traced.types, {
    // The steps also tell the gas that was used.
    tree: async () =>
      traced.types.includes("vmTrace") ? tree() : withExecutedGas(await tree(), asked, context),
    stateDiff: () => firstOf([callDiffSource], asked, context),
    vmTrace: () => vmTraceOf(asked, context),
    output: async () => (await tree()).output,
  });
}

async function vmTraceOf(traced: TracedCall, context: CallContext): Promise<VmTrace> {
  const { call, block } = traced;
  const codes = await askSource(callCodesSource, traced, context);
  const top = call.to ? { to: call.to.toLowerCase() } : { init: call.data ?? call.input ?? "0x" };
  const stepped = await stepThrough(
    { method: "debug_traceCall", params: [call, block, STEPS], top },
    codes.kind === "result" ? codes.value : new Map(),
    { context, codeOf: (address) => codeAt(address, block, context) },
  );
  if (stepped.kind === "result") return stepped.value;
  if (stepped.kind === "refused") throw stepped.error;
  const ways = ["trace_call", "debug_traceCall with steps (anvil: --steps-tracing)"];
  throw whyNoSource([stepped], ways);
}
