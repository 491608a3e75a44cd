// The error of a failed execution for the caller: geth's code, words and data.
import { bytesToHex } from "@ethereumjs/util";
import type { RunTxResult } from "@ethereumjs/vm";
import { RpcFailure } from "./arguments.ts";
import { quantity } from "./shapes.ts";

/** Throws geth's error when a message reverts or breaks a rule of the EVM. */
export function throwIfFailed({ execResult: { exceptionError, returnValue } }: RunTxResult): void {
  if (!exceptionError) return;
  const { error } = exceptionError;
  if (error !== "revert") throw new RpcFailure(-32000, gethWords[error] ?? error);
  const reason = revertReason(returnValue);
  const message = reason === undefined ? "execution reverted" : `execution reverted: ${reason}`;
  throw new RpcFailure(3, message, bytesToHex(returnValue));
}

/** The reason in Solidity's `Error(string)` or `Panic(uint256)`, or undefined for other data. */
function revertReason(returned: Uint8Array): string | undefined {
  const selector = bytesToHex(returned.subarray(0, 4));
  const word = (at: number): number => Number(bytesToHex(returned.subarray(at, at + 32)));
  if (selector === "0x4e487b71" && returned.length === 36)
    return panics[word(4)] ?? `unknown panic code: ${quantity(word(4))}`;
  if (selector !== "0x08c379a0" || returned.length < 68) return undefined;
  const start = 4 + word(4) + 32;
  return new TextDecoder().decode(returned.subarray(start, start + word(start - 32)));
}

const panics: Readonly<Record<number, string>> = {
  0: "generic panic",
  1: "assert(false)",
  17: "arithmetic underflow or overflow",
  18: "division or modulo by zero",
  33: "enum overflow",
  34: "invalid encoded storage byte array accessed",
  49: "out-of-bounds array access; popping on an empty array",
  50: "out-of-bounds access of an array or bytesN",
  65: "out of memory",
  81: "uninitialized function",
};

const gethWords: Readonly<Record<string, string>> = {
  "invalid JUMP": "invalid jump destination",
  "static state change": "write protection",
  "create collision": "contract address collision",
};
