// A step as geth writes it, made from a step of ethereumjs.
import { bytesToHex } from "@ethereumjs/util";
import type { RunTxResult } from "@ethereumjs/vm";

export type EthereumjsStep = {
  readonly pc: number;
  readonly opcode: { readonly name: string; readonly fee: number; readonly dynamicFee?: bigint };
  readonly gasLeft: bigint;
  readonly depth: number;
  readonly stack: readonly bigint[];
  readonly memory: Uint8Array;
  readonly memoryWordCount: bigint;
};

export type FrameResult = Pick<RunTxResult, "execResult">;

export type GethStep = {
  pc: number;
  op: string;
  gas: number;
  gasCost: number;
  depth: number;
  stack: readonly string[];
  memory: readonly string[];
};

export function structLogOf(step: EthereumjsStep): GethStep {
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

/** The gas that a call passes on (EIP-150). Without gas left there is no limit. */
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

/** geth executes a STOP behind the end of the code, which ethereumjs does not. */
export function stopBehind(
  { op, depth }: GethStep,
  { execResult }: FrameResult,
): GethStep | undefined {
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

export const HALTS = new Set(["STOP", "RETURN", "REVERT", "SELFDESTRUCT"]);
