import { expect, it } from "vitest";
import { isNeverBegun, openEthereumWords } from "./frame.ts";

it.each([
  ["geth", "out of gas", "Out of gas"],
  ["geth", "out of gas: not enough gas for reentrancy sentry", "Out of gas"],
  ["geth", "contract creation code storage out of gas", "Out of gas"],
  ["geth", "max code size exceeded: code size 24577, limit 24576", "Out of gas"],
  ["geth", "contract address collision", "Out of gas"],
  ["geth", "execution reverted", "Reverted"],
  ["geth", "invalid opcode: opcode 0xfe not defined", "Bad instruction"],
  ["geth", "invalid jump destination", "Bad jump destination"],
  ["geth", "stack underflow (0 <=> 2)", "Stack underflow"],
  ["geth", "stack limit reached 1024 (1023)", "Out of stack"],
  ["geth", "write protection", "Mutable Call In Static Context"],
  // core/vm/interpreter.go puts "out of gas: " before the errors of its price functions.
  ["geth", "out of gas: write protection", "Mutable Call In Static Context"],
  ["geth", "out of gas: gas uint64 overflow", "Out of gas"],
  ["geth", "out of gas: max initcode size exceeded: code size 49153", "Out of gas"],
  ["geth", "return data out of bounds", "Out of bounds"],
  ["geth", "invalid code: must not begin with 0xef", "Invalid code"],
  ["Erigon", "invalid opcode: INVALID", "Bad instruction"],
  ["Besu", "Illegal state change", "Mutable Call In Static Context"],
  ["Besu", "INSUFFICIENT_STACK_ITEMS", "Stack underflow"],
  ["Besu", "Invalid opcode: 0xfe", "Bad instruction"],
  ["Nethermind", "Stack overflow", "Out of stack"],
  ["Nethermind", "Access violation", "Out of bounds"],
  ["Nethermind", "Reverted 0x08c379a0", "Reverted"],
  ["anvil", "StateChangeDuringStaticCall", "Mutable Call In Static Context"],
  ["anvil", "OutOfOffset", "Out of bounds"],
  ["anvil", "CreateCollision", "Out of gas"],
  ["OpenEthereum", "Built-in failed", "Built-in failed"],
  ["nobody", "the dog ate it", undefined],
  ["nobody", "", undefined],
])("reads the words of %s: %s", (_, words, want) => {
  expect(openEthereumWords(words)).toBe(want);
});

it.each([
  "insufficient balance for transfer",
  "max call depth exceeded",
  "OutOfFunds",
  "CallTooDeep",
])("knows that a frame never began: %s", (words) => {
  expect(isNeverBegun(words)).toBe(true);
});

it("reads no more of endless words than their start", () => {
  expect(openEthereumWords(`out of gas: ${"x".repeat(1e6)}`)).toBe("Out of gas");
  expect(isNeverBegun("out of gas")).toBe(false);
});
