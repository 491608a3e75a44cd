// The struct logs that geth would write of each transaction, out of what ethereumjs tells of its steps.

import type { EVMResult, InterpreterStep, Message } from "@ethereumjs/evm";
import type { TypedTransaction } from "@ethereumjs/tx";
import {
  type Address,
  bigIntToHex,
  bytesToBigInt,
  bytesToHex,
  createAddressFromString,
} from "@ethereumjs/util";
import type { VM } from "@ethereumjs/vm";

export type StructLog = {
  pc: number;
  op: string;
  gas: number;
  gasCost: number;
  depth: number;
  stack: readonly string[];
  memory: readonly string[];
  error?: string | undefined;
};

export type Traced = {
  transaction: TypedTransaction;
  structLogs: readonly StructLog[];
  /** Of every account that a call went to, as it was before that. */
  codes: ReadonlyMap<string, string>;
  /** All that ran, even if undone, in the order of their beginning. */
  frames: readonly TracedFrame[];
  /** All that was written to storage, even if undone, in order. */
  stores: readonly { key: string; val: string }[];
};

export type TracedFrame = {
  /** What runs, "0x" for precompiled contracts. */
  code: string;
  steps: StructLog[];
  exception: string | undefined;
};

/** Every transaction that `vm` runs from now on, in a list that grows. */
export function recordStructLogs({ stateManager: state, events, evm }: VM): readonly Traced[] {
  const traced: Traced[] = [];
  const open: { frame: TracedFrame; message: Message }[] = [];
  const start = () => ({
    structLogs: [] as StructLog[],
    codes: new Map<string, string>(),
    frames: [] as TracedFrame[],
    stores: [] as { key: string; val: string }[],
  });
  let current = start();
  const note = async (address: Address): Promise<void> => {
    if (current.codes.has(address.toString())) return;
    const code = bytesToHex(await state.getCode(address));
    current.codes.set(address.toString(), code);
    if (code.startsWith("0xef0100")) await note(createAddressFromString(`0x${code.slice(8)}`));
  };
  const begin = async (message: Message): Promise<void> => {
    const code = message.to ? "0x" : bytesToHex(message.data);
    const frame = { code, steps: [], exception: undefined };
    open.push({ frame, message });
    current.frames.push(frame);
    if (message.to) await note(message.codeAddress);
  };
  const end = (result: EVMResult): void => {
    const frame = open.pop()?.frame;
    const last = frame?.steps.at(-1);
    if (!frame || !last) return;
    frame.exception = result.execResult.exceptionError?.error;
    last.error = refusal(last, frame);
    const stop = stopBehind(last, result);
    if (!stop) return;
    frame.steps.push(stop);
    current.structLogs.push(stop);
  };
  evm.events?.on("beforeMessage", (message, done) => void begin(message).finally(() => done?.()));
  evm.events?.on("afterMessage", end);
  evm.events?.on("step", (step) => {
    const log = structLogOf(step);
    const { frame, message } = open.at(-1) ?? {};
    // Now, as it can be a view of its creator's memory.
    if (frame?.steps.length === 0) frame.code = bytesToHex(message?.code as Uint8Array);
    frame?.steps.push(log);
    current.structLogs.push(log);
  });
  const { putStorage } = state;
  state.putStorage = async (address, key, value) => {
    current.stores.push({ key: quantityOf(key), val: quantityOf(value) });
    await putStorage.call(state, address, key, value);
  };
  events.on("beforeTx", () => {
    current = start();
  });
  events.on("afterTx", ({ transaction }) => {
    traced.push({ transaction, ...current });
    current = start(); // what the block itself calls is no one's
  });
  return traced;
}

const quantityOf = (bytes: Uint8Array): string => bigIntToHex(bytesToBigInt(bytes));

function structLogOf(step: InterpreterStep): StructLog {
  const { pc, opcode, gasLeft, memory, memoryWordCount } = step;
  const fee = opcode.dynamicFee ?? BigInt(opcode.fee);
  const passed = CALLS.has(opcode.name) ? passedOn(step.stack.at(-1) ?? 0n, gasLeft - fee) : 0n;
  return {
    pc,
    op: opcode.name,
    gas: Number(gasLeft),
    gasCost: Number(fee + passed),
    depth: step.depth + 1,
    stack: step.stack.map((item) => `0x${item.toString(16)}`),
    memory: wordsOf(memory, Number(memoryWordCount)),
  };
}

const CALLS = new Set(["CALL", "CALLCODE", "DELEGATECALL", "STATICCALL"]);

/** EIP-150. Where nothing is left there is no limit. */
function passedOn(requested: bigint, left: bigint): bigint {
  if (left < 0n) return requested;
  const limit = left - left / 64n;
  return requested < limit ? requested : limit;
}

function wordsOf(memory: Uint8Array, count: number): string[] {
  const text = bytesToHex(memory)
    .slice(2)
    .padEnd(64 * count, "0");
  return Array.from({ length: count }, (_, index) => text.slice(64 * index, 64 * (index + 1)));
}

/** geth runs into a STOP behind the end of the code, ethereumjs does not. */
function stopBehind({ op, depth }: StructLog, { execResult }: EVMResult): StructLog | undefined {
  const { runState, exceptionError } = execResult;
  if (!runState || exceptionError || HALTS.has(op)) return undefined;
  return {
    pc: runState.programCounter,
    op: "STOP",
    gas: Number(runState.gasLeft),
    gasCost: 0,
    depth,
    stack: runState.stack.getStack().map((item) => `0x${item.toString(16)}`),
    memory: wordsOf(runState.memory._store, Number(runState.memoryWordCount)),
  };
}

const HALTS = new Set(["STOP", "RETURN", "REVERT", "SELFDESTRUCT"]);

/** geth tells of errors only where it does not begin an operation. */
function refusal(
  { op, gas, gasCost }: StructLog,
  { exception: why }: TracedFrame,
): string | undefined {
  if (why === "stack underflow" || why === "stack overflow") return why;
  if (why === "static state change") return "out of gas: write protection";
  // The code that a RETURN leaves can be too much for the gas too.
  return why === "out of gas" && (!HALTS.has(op) || gasCost > gas) ? why : undefined;
}
