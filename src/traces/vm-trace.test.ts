import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { B, below, log, opsOf, tell } from "../../test/support/vm-trace-steps.ts";
import { normaliseVmTrace, VmTraceWriter } from "./vm-trace.ts";

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

describe("the text", () => {
  const call = log("STATICCALL", ["0x0", "0x0", "0x0", "0x0", B, "0x3c"], { gasCost: 63 });
  const steps = [
    ...[log("JUMPDEST"), { ...call, pc: 1 }],
    ...[below("PUSH0"), below("STOP", ["0x0"], { pc: 1 }), log("STOP", ["0x1"], { pc: 2 })],
  ];
  const codes = { [B]: "0x5f00" };

  it("begins what an operation enters inside of it", () => {
    const { text } = tell(steps, { codes });
    const inner =
      '{"code":"0x5f00","ops":[{"pc":0,"sub":null,"cost":3,"ex":{"mem":null,"push":["0x0"],"store":null,"used":60}},' +
      '{"pc":1,"sub":null,"cost":3,"ex":{"mem":null,"push":[],"store":null,"used":57}}]}';
    expect(text).toContain(
      `{"pc":1,"sub":${inner},"cost":63,"ex":{"mem":null,"push":["0x1"],"store":null,"used":100}}`,
    );
  });

  it("holds back nothing but the operation that is not over", () => {
    const many = Array.from({ length: 500 }, () => log("JUMPDEST"));
    const { pieces } = tell(many);
    // A piece for the beginning, one for each operation, and one for the end.
    expect(pieces).toHaveLength(502);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(150);
  });

  it("is as large as may be, and not larger", () => {
    const { text } = tell(steps, { codes });
    expect(tell(steps, { codes, maxBytes: text.length }).outcome).toEqual({ kind: "written" });
    for (let maxBytes = 0; maxBytes < text.length; maxBytes += 1) {
      const told = tell(steps, { codes, maxBytes });
      expect(told.outcome).toEqual({ kind: "too large" });
      expect(told.text.length).toBeLessThanOrEqual(maxBytes);
      expect(text.startsWith(told.text)).toBe(true);
    }
  });

  it("ends before more steps than may be", () => {
    expect(tell(steps, { codes, maxSteps: 5 }).outcome).toEqual({ kind: "written" });
    expect(tell(steps, { codes, maxSteps: 4 }).outcome).toEqual({ kind: "too large" });
  });
});

describe("by chance", () => {
  const item = fc.constantFrom<unknown>(
    "0x0",
    "1",
    "0xffffffff",
    B,
    `0x${"f".repeat(64)}`,
    "",
    7,
    null,
  );
  const count = fc.constantFrom<unknown>(
    0,
    1,
    2,
    32,
    700,
    "0x9",
    2 ** 60,
    -1,
    "x",
    null,
    undefined,
  );
  const names = [
    "PUSH1",
    "MSTORE",
    "CALL",
    "STATICCALL",
    "CREATE2",
    "RETURN",
    "SSTORE",
    "DUP3",
    "?",
  ];
  const memory = fc.oneof(
    fc.array(fc.constantFrom("00".repeat(32), `0x${"1".repeat(64)}`, "zz")),
    item,
  );
  const anything = fc.record({
    ...{ pc: fc.nat(60), op: fc.constantFrom(...names), gas: fc.constantFrom(1_000, 90) },
    ...{ gasCost: fc.constantFrom(0, 3, 700), depth: fc.constantFrom(1, 1, 2, 3) },
    ...{
      stack: fc.array(item, { maxLength: 8 }),
      memory,
      error: fc.constantFrom(undefined, "out of gas"),
    },
  });
  const broken = fc.record({
    pc: count,
    op: item,
    gas: count,
    gasCost: count,
    depth: count,
    stack: item,
  });
  const steps = fc.array(fc.oneof({ weight: 9, arbitrary: anything }, broken, fc.jsonValue()));

  it("nothing that a node tells does harm, and what is written is JSON of no more bytes", () => {
    let writtenOf = 0;
    fc.assert(
      fc.property(steps, fc.nat(3_000), (told, maxBytes) => {
        const { outcome, text } = tell(told, { maxBytes, codes: { [B]: "0x5b5b5b" } });
        expect(text.length).toBeLessThanOrEqual(maxBytes);
        if (outcome.kind !== "written") return;
        expect(JSON.parse(text)).toHaveProperty("ops");
        if (told.length > 1) writtenOf++;
      }),
      { numRuns: 2_000, seed: 1 },
    );
    expect(writtenOf).toBeGreaterThan(20);
  });
});

const operation = (sub: unknown = null) => ({
  cost: 3,
  ex: { mem: null, push: ["0x0"], store: null, used: 7 },
  pc: 0,
  sub,
});
const asErigon = (sub: unknown = null, idx = "0") => ({ ...operation(sub), idx, op: "PUSH1" });

it("leaves out what Erigon adds, in every frame", () => {
  const inner = { code: "0x01", ops: [asErigon(null, "0-0"), asErigon(null, "0-1")] };
  const told = { code: "0x00", ops: [asErigon(inner), asErigon()] };
  const wanted = { code: "0x01", ops: [operation(), operation()] };
  expect(normaliseVmTrace(told)).toEqual({ code: "0x00", ops: [operation(wanted), operation()] });
});

it("does not write on what it was given", () => {
  const told = { code: "0x00", ops: [asErigon({ code: "0x01", ops: [asErigon()] })] };
  const before = structuredClone(told);
  normaliseVmTrace(told);
  expect(told).toEqual(before);
});

it.each([
  null,
  "0x",
  [],
  { code: "0x", ops: [] }, // Erigon's vmTrace of a transfer
  { code: "0x", ops: null },
  { code: "0x", ops: [null, 1, { pc: 1, sub: [1] }] },
])("leaves %j as it is", (value) => {
  expect(normaliseVmTrace(value)).toEqual(value);
});

it("is not taken from revm, which counts otherwise", () => {
  const revm = { ...operation(), ex: { ...operation().ex, mem: { data: "0x", off: 0 } } };
  expect(normaliseVmTrace({ code: "0x00", ops: [operation(), revm] })).toBeUndefined();
  const within = operation({ code: "0x00", ops: [revm] });
  expect(normaliseVmTrace({ code: "0x00", ops: [within] })).toBeUndefined();
});

it("follows frames as deep as they go", () => {
  let trace: unknown = { code: "0x", ops: [asErigon()] };
  for (let depth = 0; depth < 100_000; depth++) trace = { code: "0x", ops: [asErigon(trace)] };
  let frame = normaliseVmTrace(trace) as { ops: { sub: unknown; idx?: string }[] } | null;
  let frames = 0;
  while (frame) {
    expect(frame.ops[0]?.idx).toBeUndefined();
    frame = (frame.ops[0]?.sub as typeof frame) ?? null;
    frames++;
  }
  expect(frames).toBe(100_001);
});

it("takes anything", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => void normaliseVmTrace({ ops: [value] })));
});
