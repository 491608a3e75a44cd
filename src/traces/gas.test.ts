import { runInNewContext } from "node:vm";
import { Common, Hardfork, Mainnet } from "@ethereumjs/common";
import { createTx } from "@ethereumjs/tx";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Trace } from "./call-tree.ts";
import {
  gasLeftAfter,
  gasLeftIn,
  intrinsicGas,
  LAST_STEP_TRACER,
  TOO_MANY_STEPS,
  withGasLeft,
} from "./gas.ts";

type TracedStep = { op: number; depth?: number; gas: number; cost: number; stack?: number[] };

/** Runs the tracer as a node does. */
function run(steps: readonly TracedStep[], memory = 0): unknown {
  const tracer = runInNewContext(`(${LAST_STEP_TRACER})`);
  for (const { op, depth = 1, gas, cost, stack = [] } of steps)
    tracer.step({
      op: { toNumber: () => op },
      stack: { peek: (at: number) => BigInt(stack[at] ?? 0) },
      memory: { length: () => memory },
      ...{ getDepth: () => depth, getGas: () => gas, getCost: () => cost },
    });
  return JSON.parse(JSON.stringify(tracer.result()));
}

const [PUSH1, CALL, SELFDESTRUCT, RETURN, STOP] = [0x60, 0xf1, 0xff, 0xf3, 0x00];
const push = { op: PUSH1, gas: 103, cost: 3 };

describe("what the top frame had left", () => {
  it.each([
    ["a STOP", [push, { op: STOP, gas: 100, cost: 0 }], 100],
    ["a RETURN", [push, { op: RETURN, gas: 100, cost: 6, stack: [0, 64] }], 94],
    ["a self-destruct", [push, { op: SELFDESTRUCT, gas: 5_100, cost: 5_000 }], 100],
    [
      "a STOP after a call",
      [
        push,
        { op: CALL, gas: 90, cost: 60 },
        { ...push, depth: 2 },
        { op: STOP, gas: 70, cost: 0 },
      ],
      70,
    ],
    ["no step", [], "nothing ran"],
    ["all spent", [push, { op: STOP, gas: 0, cost: 0 }], 0],
  ])("is told by geth of %s", (_, steps, left) => {
    expect(gasLeftIn(run(steps))).toBe(left);
  });

  const first = { op: PUSH1, gas: 103, cost: 0 };

  it.each([
    ["a STOP", { op: STOP, gas: 100, cost: 3 }, 0, 100],
    ["a RETURN of what is there", { op: RETURN, gas: 100, cost: 3, stack: [0, 64] }, 64, 100],
    ["a RETURN of new memory", { op: RETURN, gas: 100, cost: 3, stack: [1, 64] }, 32, 94],
    ["a RETURN of much", { op: RETURN, gas: 5_000, cost: 3, stack: [0, 32_000] }, 0, 47],
    ["a RETURN of nothing from afar", { op: RETURN, gas: 9, cost: 3, stack: [9_999, 0] }, 0, 9],
    ["a self-destruct", { op: SELFDESTRUCT, gas: 5_100, cost: 3 }, 0, undefined],
  ])(
    "is found from what revm tells of %s, which is a step late with costs",
    (_, last, memory, left) => {
      expect(gasLeftIn(run([first, last], memory))).toBe(left);
    },
  );

  it.each([
    ["a frame that failed", run([push, { op: PUSH1, gas: 2, cost: 3 }])],
    ["a price above the gas", run([push, { op: RETURN, gas: 2, cost: 3 }])],
    ["nothing", null],
    ["no object", "nothing ran"],
    ["an empty object", {}],
    ["no last step", { first: 3 }],
    ["texts", { first: 3, last: { op: STOP, gas: "0x1", cost: 0 } }],
    ["less than nothing", { first: 3, last: { op: STOP, gas: -1, cost: 0 } }],
    ["fractions", { first: 3, last: { op: STOP, gas: 0.5, cost: 0 } }],
    ["no memory", { first: 0, last: { op: RETURN, gas: 9, cost: 3, offset: 0, size: 1 } }],
  ])("is not told by %s", (_, told) => {
    expect(gasLeftIn(told)).toBeUndefined();
  });

  it.each([
    [[], "nothing ran"],
    [[{ ex: { used: 9 } }, { ex: { used: 7 } }], 7],
    [[{ ex: null }], undefined],
    [[{ ex: { used: "7" } }], undefined],
    [null, undefined],
  ])("is in a vmTrace of %j", (ops, left) => {
    expect(gasLeftAfter({ ops })).toBe(left);
  });
});

it("is given up after many steps", () => {
  const [many, tooMany] = [250_000, 250_001].map((length) => Array.from({ length }, () => push));
  expect(() => run(many ?? [])).not.toThrow();
  expect(() => run(tooMany ?? [])).toThrow(TOO_MANY_STEPS);
});

describe("what the top call used", () => {
  const [from, to] = [`0x${"a".repeat(40)}`, `0x${"b".repeat(40)}`];
  const call: Trace = {
    action: { callType: "call", from, gas: "0x64", input: "0x", to, value: "0x0" },
    result: { gasUsed: "0xa", output: "0x" },
    ...{ subtraces: 0, traceAddress: [], type: "call" },
  };
  const used = (trace: Trace, left: number | "nothing ran") =>
    withGasLeft([trace, call], left)[0]?.result?.["gasUsed"];

  it("is what execution took", () => {
    expect(used(call, 80)).toBe("0x14");
    expect(used(call, 100)).toBe("0x0");
    expect(used(call, "nothing ran")).toBe("0x0");
    expect(withGasLeft([call, call], 80)[1]).toBe(call);
  });

  it("has the code in it that a create leaves", () => {
    const gas = "0xffff";
    const create: Trace = {
      ...{ ...call, type: "create", action: { from, gas, init: "0x", value: "0x0" } },
      result: { address: to, code: "0x0102", gasUsed: "0xa" },
    };
    expect(used(create, 65_000)).toBe(`0x${(65_535 - 65_000 + 400).toString(16)}`);
  });

  it("stays as it was told where nothing else is known", () => {
    const { result: _, ...failed } = { ...call, error: "Reverted" };
    const identity = { ...call, action: { ...call.action, to: `0x${"4".padStart(40, "0")}` } };
    const huge = { ...call, action: { ...call.action, gas: `0x${"f".repeat(16)}` } };
    expect(withGasLeft([failed], 80)).toEqual([failed]);
    expect(used(identity, "nothing ran")).toBe("0xa");
    expect(used(huge, 80)).toBe("0xa");
    expect(used(call, 101)).toBe("0xa");
    expect(withGasLeft([], 80)).toEqual([]);
  });
});

const frontier = { isHomestead: false, isIstanbul: false, isShanghai: false };
const homestead = { ...frontier, isHomestead: true };
const istanbul = { ...homestead, isIstanbul: true };
const shanghai = { ...istanbul, isShanghai: true };
const address = `0x${"ab".repeat(20)}` as const;
const slot = `0x${"cd".repeat(32)}` as const;

it.each([
  [Hardfork.Chainstart, frontier],
  [Hardfork.Homestead, homestead],
  [Hardfork.Istanbul, istanbul],
  [Hardfork.Shanghai, shanghai],
  [Hardfork.Prague, shanghai],
])("is what ethereumjs says in %s", (hardfork, rules) => {
  const common = new Common({ chain: Mainnet, hardfork });
  const [least, most] = [fc.constant(0), fc.integer({ min: 1, max: 255 })];
  const bytes = fc.array(fc.oneof(least, most), { maxLength: 200 });
  fc.assert(
    fc.property(bytes, fc.boolean(), (input, isCreate) => {
      const data = Uint8Array.from(input);
      const tx = createTx({ data, ...(isCreate ? {} : { to: address }) }, { common });
      const told = { input: `0x${Buffer.from(data).toString("hex")}` };
      expect(intrinsicGas(told, { isCreate, rules })).toBe(Number(tx.getIntrinsicGas()));
    }),
  );
});

it("counts access lists and authorizations, which have their own transactions", () => {
  const common = new Common({ chain: Mainnet, hardfork: Hardfork.Prague });
  const accessList = [
    { address, storageKeys: [slot, slot] },
    { address, storageKeys: [] },
  ];
  const gas = (told: object) => intrinsicGas({ ...told }, { isCreate: false, rules: shanghai });
  const listed = createTx({ type: 1, to: address, accessList }, { common });
  expect(gas({ type: "0x1", accessList })).toBe(Number(listed.getIntrinsicGas()));
  expect(gas({ accessList, authorizationList: [{}, {}] })).toBe(21_000 + 4_800 + 3_800 + 50_000);
  expect(gas({ accessList: null, authorizationList: null })).toBe(21_000);
  expect(gas({ data: "0x01" })).toBe(21_016);
});

it.each([
  { input: "0x1" },
  { input: 1 },
  { accessList: {} },
  { accessList: [null] },
  { accessList: [{ address, storageKeys: "0x" }] },
  { authorizationList: "0x" },
])("says nothing of %j", (told) => {
  expect(intrinsicGas(told, { isCreate: false, rules: shanghai })).toBeUndefined();
});
