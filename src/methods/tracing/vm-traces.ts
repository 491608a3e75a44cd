// The vmTrace of a mined transaction: a node's own, or written from the steps that it tells.
import { isData, toQuantity } from "../../evm/values.ts";
import { type AnswerJson, heldBytesOf } from "../../jsonrpc/raw-json.ts";
import { errors } from "../../jsonrpc/rpc-error.ts";
import { isJson } from "../../proofs/json.ts";
import { type GasLeft, gasLeftAfter } from "../../traces/executed-gas.ts";
import { normaliseVmTrace } from "../../traces/normalise-vm-trace.ts";
import type { VmTraceOptions } from "../../traces/vm-trace.ts";
import type { CallContext } from "../method.ts";
import { replayFor } from "./call-trees.ts";
import { codeAround, codesBefore } from "./codes.ts";
import type { MinedTransaction } from "./mined-transaction.ts";
import { askReading, askSource, type Source, type SourceAnswer } from "./sources.ts";
import { type Codes, StepReader } from "./step-reader.ts";

/** A call that a node is to tell the steps of. */
export type Stepping = {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly top: VmTraceOptions["top"];
};

/** All that a step can tell, but for storage, which is large and told by SSTORE. */
export const STEPS = {
  enableMemory: true,
  disableMemory: false,
  disableStack: false,
  disableStorage: true,
  enableReturnData: false,
};

export type VmTrace = {
  readonly vmTrace: AnswerJson;
  /** What the top call returned; undefined when that is not told. */
  readonly output?: string | undefined;
  /** What the top frame had left; undefined when it failed. */
  readonly gasLeft?: GasLeft | undefined;
};

/** @throws RpcError -32005 when it is too large, -32601 when no node tells. */
export async function vmTraceOf(
  transaction: MinedTransaction,
  context: CallContext,
): Promise<VmTrace> {
  const own = await askSource(ownVmTrace, transaction, context);
  if (own.kind === "told") return own.value;
  const { to, input } = transaction.json;
  const isCreate = (to ?? null) === null;
  const top = isCreate ? { init: String(input) } : { to: String(to).toLowerCase() };
  const stepping = { method: "debug_traceTransaction", params: [transaction.hash, STEPS], top };
  const codes = await codesBefore(transaction, context);
  const stepped = await stepThrough(stepping, codes, {
    context,
    codeOf: (address) => codeAround(transaction, address, context),
  });
  if (stepped.kind === "told") return stepped.value;
  const inBlock = await askSource(blockVmTrace, transaction, context);
  if (inBlock.kind === "told") return inBlock.value;
  for (const told of [own, stepped, inBlock]) if (told.kind === "refused") throw told.error;
  throw errors.cannotTrace([ownVmTrace.name, STEPPING, blockVmTrace.name]);
}

const STEPPING = "debug_traceTransaction with steps (anvil: --steps-tracing)";

const ownVmTrace: Source<MinedTransaction, VmTrace> = {
  name: "trace_replayTransaction with vmTrace",
  method: "trace_replayTransaction",
  params: ({ hash }) => [hash, ["vmTrace"]],
  read: (result) => vmTraceIn(result),
};

const blockVmTrace: Source<MinedTransaction, VmTrace> = {
  name: "trace_replayBlockTransactions with vmTrace",
  method: "trace_replayBlockTransactions",
  params: ({ block }) => [toQuantity(block.number), ["vmTrace"]],
  read: (result, transaction) => vmTraceIn(replayFor(transaction, result)),
};

function vmTraceIn(replay: unknown): VmTrace | undefined {
  if (!isJson(replay)) return undefined;
  const vmTrace = normaliseVmTrace(replay["vmTrace"]);
  const { output } = replay;
  if (!isJson(vmTrace)) return undefined;
  return {
    vmTrace: JSON.stringify(vmTrace),
    output: isData(output) ? output : undefined,
    gasLeft: gasLeftAfter(vmTrace),
  };
}

type Surroundings = {
  readonly context: CallContext;
  /** Of an account that is not among the known ones. */
  readonly codeOf: (address: string) => Promise<string>;
};

/** How often a node is asked anew for code that nobody expected to run. */
const ATTEMPTS = 16;

/** @throws RpcError -32005 when there are more steps, or more text, than the network's limits allow. */
export async function stepThrough(
  stepping: Stepping,
  codes: Codes,
  { context, codeOf }: Surroundings,
): Promise<SourceAnswer<VmTrace>> {
  const { steps: maxSteps, bytes: maxBytes } = context.network.limits.traces;
  const known = new Map(codes);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const options = { top: stepping.top, maxSteps, maxBytes };
    const { told, reader } = await askReading(
      { ...stepping, name: `${stepping.method} with steps` },
      () => new StepReader(options, { codes: known }),
      context,
    );
    if (reader?.outcome?.kind === "too large")
      throw errors.traceTooLarge(
        reader.steps > maxSteps ? `${maxSteps} steps` : `${maxBytes} bytes`,
      );
    if (reader?.missing === undefined || reader.outcome?.kind !== "unreadable")
      return told.kind === "told"
        ? held(readOf(told.value, reader, { codes: known, stepping }), context)
        : told;
    known.set(reader.missing, await codeOf(reader.missing));
  }
  return { kind: "missing" };
}

/** It is part of the answer, which may be of many transactions. */
function held(told: SourceAnswer<VmTrace>, context: CallContext): SourceAnswer<VmTrace> {
  if (told.kind === "told") context.hold(heldBytesOf([told.value.vmTrace]));
  return told;
}

function readOf(
  rest: Buffer,
  reader: StepReader | undefined,
  { codes, stepping: { top } }: { codes: Codes; stepping: Stepping },
): SourceAnswer<VmTrace> {
  if (reader?.outcome?.kind !== "written") return { kind: "missing" };
  const code = "init" in top ? top.init : codes.get(top.to);
  // A node that traces without recording steps: there is code, and nothing of it ran.
  if (reader.steps === 0 && code !== "0x") return { kind: "missing" };
  const { returnValue } = Object(JSON.parse(rest.toString())) as { returnValue?: unknown };
  const output = typeof returnValue === "string" ? `0x${returnValue.replace(/^0x/, "")}` : "";
  const value = {
    vmTrace: reader.vmTrace(),
    output: isData(output) ? output : undefined,
    gasLeft: reader.gasLeft(),
  };
  return { kind: "told", value };
}
