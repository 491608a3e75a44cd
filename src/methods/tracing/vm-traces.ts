// The vmTrace of a mined transaction or a call: a node's own, or written from a node's steps and the code that accounts
// had before.

import { isData, toQuantity } from "../../evm/values.ts";
import { ElementStream } from "../../jsonrpc/element-stream.ts";
import {
  type AnswerJson,
  heldBytesOf,
  JsonPacker,
  type PackedJson,
} from "../../jsonrpc/raw-json.ts";
import { errors } from "../../jsonrpc/rpc-error.ts";
import { isJson } from "../../proofs/json.ts";
import { type GasLeft, gasLeftAfter } from "../../traces/gas.ts";
import {
  normaliseVmTrace,
  type VmTraceOptions,
  type VmTraceOutcome,
  VmTraceWriter,
} from "../../traces/vm-trace.ts";
import { MAY_LAG } from "../forwarding.ts";
import type { CallContext } from "../method.ts";
import type { MinedTransaction } from "./mined.ts";
import {
  askReading,
  askSource,
  callSource,
  firstOf,
  replaySources,
  type SourceAnswer,
  tracerSources,
  whyNoSource,
} from "./sources.ts";
import { diffSources } from "./state-diffs.ts";

/** The call to a node that gives the steps, and the top frame of these steps. */
export type Stepping = {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly top: VmTraceOptions["top"];
};

/** The options for steps: all members except storage, which is large, and whose changes SSTORE shows. */
export const STEPS = {
  enableMemory: true,
  disableMemory: false,
  disableStack: false,
  disableStorage: true,
  enableReturnData: false,
};

export type VmTrace = {
  readonly vmTrace: AnswerJson;
  /** The output of the top call; undefined when no node told it. */
  readonly output?: string | undefined;
  /** The gas that the top frame left; undefined when the frame failed. */
  readonly gasLeft?: GasLeft | undefined;
};

/** The vmTrace of a mined transaction. @throws RpcError -32005 when it is too large; -32601 when no node can give it. */
export async function vmTraceOf(
  transaction: MinedTransaction,
  context: CallContext,
): Promise<VmTrace> {
  const own = await askSource(replayed.alone, transaction, context);
  if (own.kind === "result") return own.value;
  const { to, input } = transaction.json;
  const isCreate = (to ?? null) === null;
  const top = isCreate ? { init: String(input) } : { to: String(to).toLowerCase() };
  const stepping = { method: "debug_traceTransaction", params: [transaction.hash, STEPS], top };
  const codes = await codesBefore(transaction, context);
  const stepped = await stepThrough(stepping, codes, {
    context,
    codeOf: (address) => codeAround(transaction, address, context),
  });
  if (stepped.kind === "result") return stepped.value;
  const inBlock = await askSource(replayed.inBlock, transaction, context);
  if (inBlock.kind === "result") return inBlock.value;
  for (const answer of [own, stepped, inBlock]) if (answer.kind === "refused") throw answer.error;
  const ways = [replayed.alone.name, STEPPING, replayed.inBlock.name];
  throw whyNoSource([own, stepped, inBlock], ways);
}

const STEPPING = "debug_traceTransaction with steps (anvil: --steps-tracing)";

const replayed = replaySources("vmTrace", " with vmTrace", vmTraceIn);

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
  /** Asks for the code of an account whose code is not known. */
  readonly codeOf: (address: string) => Promise<string>;
};

/** How often the steps are asked for at most: each attempt may meet an account whose code is not known. */
const ATTEMPTS = 16;

/** Writes the vmTrace of a node's steps. @throws RpcError -32005 beyond the steps or bytes of `limits.traces`. */
export async function stepThrough(
  stepping: Stepping,
  codes: Codes,
  { context, codeOf }: Surroundings,
): Promise<SourceAnswer<VmTrace>> {
  const { steps: maxSteps, bytes: maxBytes } = context.network.limits.traces;
  const known = new Map(codes);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const options = { top: stepping.top, maxSteps, maxBytes };
    const { answer, reader } = await askReading(
      { ...stepping, name: `${stepping.method} with steps` },
      () => new StepReader(options, { codes: known }),
      context,
    );
    if (reader?.outcome?.kind === "too large")
      throw errors.traceTooLarge(
        reader.steps > maxSteps ? `${maxSteps} steps` : `${maxBytes} bytes`,
      );
    if (reader?.missing === undefined || reader.outcome?.kind !== "unreadable")
      return answer.kind === "result"
        ? readOf(answer.value, reader, { codes: known, stepping, context })
        : answer;
    known.set(reader.missing, await codeOf(reader.missing));
  }
  return { kind: "missing" };
}

function readOf(
  rest: Buffer,
  reader: StepReader | undefined,
  { codes, stepping: { top }, context }: { codes: Codes; stepping: Stepping; context: CallContext },
): SourceAnswer<VmTrace> {
  if (reader?.outcome?.kind !== "written") return { kind: "missing" };
  const code = "init" in top ? top.init : codes.get(top.to);
  // There is code, but no step ran: the node does not record steps.
  if (reader.steps === 0 && code !== "0x") return { kind: "missing" };
  const { returnValue } = Object(JSON.parse(rest.toString())) as { returnValue?: unknown };
  const output = typeof returnValue === "string" ? `0x${returnValue.replace(/^0x/, "")}` : "";
  const vmTrace = reader.vmTrace();
  context.hold(heldBytesOf([vmTrace])); // the answer holds it beside those of other transactions
  const value = {
    vmTrace,
    output: isData(output) ? output : undefined,
    gasLeft: reader.gasLeft(),
  };
  return { kind: "result", value };
}

async function codesBefore(transaction: MinedTransaction, context: CallContext): Promise<Codes> {
  const answer = await askSource(prestate, transaction, context);
  const codes = new Map(answer.kind === "result" ? answer.value : []);
  const list = transaction.json["authorizationList"];
  if (Array.isArray(list) && list.length > 0) await addDelegations(codes, transaction, context);
  return codes;
}

/** The codes of the accounts in a prestateTracer's result. */
function codesIn(accounts: unknown): Codes | undefined {
  if (!isJson(accounts)) return undefined;
  return new Map(
    Object.entries(accounts).map(([address, account]) => {
      const { code } = Object(account) as { code?: unknown };
      return [address.toLowerCase(), isData(code) ? code.toLowerCase() : "0x"];
    }),
  );
}

const PRESTATE = { words: "with prestateTracer", options: { tracer: "prestateTracer" } };
const prestate = tracerSources(PRESTATE, codesIn, () => false).alone;
export const callCodesSource = callSource(PRESTATE, codesIn);

/** Adds the delegations that accounts get before the transaction's first step (EIP-7702). */
async function addDelegations(
  codes: Map<string, string>,
  transaction: MinedTransaction,
  context: CallContext,
): Promise<void> {
  const diff = await firstOf(diffSources, transaction, context);
  for (const [address, { code }] of Object.entries(diff)) {
    if (code === "=") continue;
    const { from = "0x", to = "0x" } =
      "*" in code ? code["*"] : { to: "+" in code ? code["+"] : "0x" };
    if (DELEGATION.test(from) || DELEGATION.test(to)) codes.set(address, to);
  }
}

const DELEGATION = /^0xef0100/;

/** The code of an account that no prestate has: from before the block, or from its end if there was none before. */
async function codeAround(
  { block }: MinedTransaction,
  address: string,
  context: CallContext,
): Promise<string> {
  const before = await codeAt(address, Math.max(block.number - 1, 0), context);
  return before === "0x" ? codeAt(address, block.number, context) : before;
}

/** The code of an account. @param at A block number, or any other reference that nodes accept. */
export async function codeAt(address: string, at: unknown, context: CallContext): Promise<string> {
  const reference = typeof at === "number" ? toQuantity(at) : at;
  const params = JSON.stringify([address, reference]);
  const options = { ...MAY_LAG, reaches: context.chain?.head.number };
  const code: unknown = JSON.parse(String(await context.ask("eth_getCode", params, options)));
  return isData(code) ? code.toLowerCase() : "0x";
}

export type Codes = ReadonlyMap<string, string>;

/** The most bytes of one step, which has the whole memory, and of the rest of the answer. */
const MAX_BYTES = 1 << 26;
const MALFORMED: VmTraceOutcome = { kind: "unreadable", why: "malformed answer" };

/**
 * Reads steps as they arrive and writes the vmTrace meanwhile. The reader holds only the packed text, however many
 * steps there are.
 */
class StepReader {
  /** undefined until the last step was read, or no more steps are wanted. */
  outcome: VmTraceOutcome | undefined;
  /** Whether the reader has all it needs, so that no more steps are wanted. */
  isStopped = false;
  whenStopped: "malformed" | undefined;
  /** The first account whose code the steps need and `codes` lacks. */
  missing: string | undefined;
  steps = 0;
  readonly #packer = new JsonPacker();
  readonly #writer: VmTraceWriter;
  readonly #stream: ElementStream;

  /** @param parts.codes The codes of accounts before the transaction; "0x" for an account without code. */
  constructor(options: VmTraceOptions, { codes }: { codes: Codes }) {
    this.#writer = new VmTraceWriter(options, {
      codeOf: (address) => {
        const code = codes.get(address);
        if (code === undefined) this.missing ??= address;
        return code;
      },
      write: (json) => this.#packer.write(json),
    });
    const limits = { maxElementBytes: MAX_BYTES, maxRestBytes: MAX_BYTES };
    this.#stream = new ElementStream({ path: ["result", "structLogs"], ...limits }, (step) => {
      this.steps += 1;
      if (!this.#writer.add(step)) this.outcome = this.#writer.finish();
      return this.outcome === undefined;
    });
  }

  /** The memory that the reader takes, in bytes. */
  get heldBytes(): number {
    return this.#packer.heldBytes + this.#stream.heldBytes;
  }

  add(chunk: Buffer): boolean {
    const isSound = this.#stream.add(chunk);
    if (this.outcome !== undefined) this.isStopped = true;
    else if (!isSound) this.whenStopped = "malformed";
    return isSound && !this.isStopped;
  }

  finish(): Buffer | undefined {
    const rest = this.#stream.finish();
    this.outcome ??= rest ? this.#writer.finish() : MALFORMED;
    return rest;
  }

  /** The gas that the top frame left, after the last step; undefined when the frame failed. */
  gasLeft(): GasLeft | undefined {
    return this.#writer.gasLeft();
  }

  /** Valid when the outcome is "written". */
  vmTrace(): string | PackedJson {
    return this.#packer.finish();
  }
}
