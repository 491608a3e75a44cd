import { expect, it } from "vitest";
import { B, log, opsOf, tell } from "../../test/support/vm-trace-steps.ts";
import { VmTraceWriter } from "./vm-trace.ts";

const word = (digits: string): string => digits.padStart(64, "0");
const done = (push: readonly string[], used: number, rest = {}) => ({
  ...{ mem: null, push, store: null, used, ...rest },
});

const stores = [
  log("PUSH1", []),
  log("PUSH2", ["0x20"], { pc: 2, gas: 97 }),
  log("DUP2", ["0x20", "0xabc"], { pc: 5, gas: 94 }),
  log("MSTORE", ["0x20", "0xabc", "0x20"], { pc: 6, gas: 91, gasCost: 9 }),
  log("PUSH0", ["0x20"], { pc: 7, gas: 82, gasCost: 2, memory: [word(""), word("abc")] }),
  log("SSTORE", ["0x20", "0x0"], { pc: 8, gas: 80, gasCost: 20, memory: [word(""), word("abc")] }),
  log("STOP", [], { pc: 9, gas: 60, gasCost: 0, memory: [word(""), word("abc")] }),
];

it("writes what each operation left on the stack, in memory and in storage", () => {
  const mem = { data: `0x${word("abc")}`, off: 32 };
  expect(opsOf(stores)).toEqual([
    { pc: 0, sub: null, cost: 3, ex: done(["0x20"], 97) },
    { pc: 2, sub: null, cost: 3, ex: done(["0xabc"], 94) },
    { pc: 5, sub: null, cost: 3, ex: done(["0x20", "0xabc", "0x20"], 91) },
    { pc: 6, sub: null, cost: 9, ex: done([], 82, { mem }) },
    { pc: 7, sub: null, cost: 2, ex: done(["0x0"], 80) },
    { pc: 8, sub: null, cost: 20, ex: done([], 60, { store: { key: "0x0", val: "0x20" } }) },
    { pc: 9, sub: null, cost: 0, ex: done([], 60) },
  ]);
});

type Log = ReturnType<typeof log>;
const stackOf = (step: Log): string[] => step.stack.map(String);
const memoryOf = (step: Log): string[] => step.memory as string[];

it.each<{ node: string; spell: (step: Log) => object }>([
  { node: "geth", spell: (step) => ({ ...step, refund: 0 }) },
  {
    node: "anvil",
    spell: (step) => ({ ...step, memory: memoryOf(step).map((one) => `0x${one}`) }),
  },
  {
    node: "Besu",
    spell: (step) => ({ ...step, stack: stackOf(step).map((one) => word(one.slice(2))) }),
  },
  {
    node: "Nethermind",
    spell: (step) => ({
      ...{ ...step, error: null },
      stack: stackOf(step).map((one) => `0x${word(one.slice(2))}`),
    }),
  },
  {
    node: "one with counts as text and memory in one piece",
    spell: (step) => ({
      ...{ ...step, gas: `0x${step.gas.toString(16)}`, gasCost: `${step.gasCost}` },
      memory: `0x${memoryOf(step).join("").toUpperCase()}`,
    }),
  },
])("says the same of the steps of $node", ({ spell }) => {
  expect(tell(stores.map(spell))).toEqual(tell(stores));
});

it.each([
  { op: "DUP2", before: ["0x1", "0x2"], push: ["0x1", "0x2", "0x1"] },
  { op: "SWAP1", before: ["0x1", "0x2"], push: ["0x2", "0x1"] },
  { op: "SHA3", before: ["0x2", "0x1"], push: ["0xaa"] },
  { op: "POP", before: ["0x1"], push: [] },
])("of $op tells all that it left, even where it was", ({ op, before, push }) => {
  const [operation] = opsOf([log(op, ["0x9", ...before]), log("STOP", ["0x9", ...push])]);
  expect(operation.ex.push).toEqual(push);
});

it.each([
  { op: "MLOAD", stack: ["0x1"], mem: { off: 1, data: `0x${"11".repeat(31)}00` } },
  { op: "MSTORE8", stack: ["0x11", "0x2"], mem: { off: 2, data: "0x11" } },
  { op: "MCOPY", stack: ["0x3", "0x5", "0x1e"], mem: { off: 30, data: "0x111100" } },
  { op: "EXTCODECOPY", stack: ["0x2", "0x0", "0x0", B], mem: { off: 0, data: "0x1111" } },
  { op: "CODECOPY", stack: ["0x0", "0x0", "0x40"], mem: null },
])("of $op tells the memory $mem", ({ op, stack, mem }) => {
  const memory = ["11".repeat(32), word("")];
  const [operation] = opsOf([log(op, stack), log("STOP", ["0x7"], { memory })]);
  expect(operation.ex.mem).toEqual(mem);
});

it("says when there is no use in further steps", () => {
  const writer = new VmTraceWriter(
    { top: { to: B }, maxSteps: 2, maxBytes: 1_000 },
    { codeOf: () => "0x5b", write: () => {} },
  );
  const answers = [log("JUMPDEST"), log("JUMPDEST"), log("JUMPDEST"), log("JUMPDEST")].map((one) =>
    writer.add(one),
  );
  expect(answers).toEqual([true, true, false, false]);
});
