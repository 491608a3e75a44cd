import { expect, it } from "vitest";
import { tracesOfCallFrame } from "./call-tree.ts";

const address = (digit: string): string => `0x${digit.repeat(40)}`;
const [a, b, c] = [address("a"), address("b"), address("c")];
const sha256 = `0x${"2".padStart(40, "0")}`;
const call = { type: "CALL", from: a, to: b, gas: "0x64", gasUsed: "0xa", input: "0x" };

const inside = (...calls: unknown[]) => tracesOfCallFrame({ ...call, calls })?.slice(1);

it("numbers frames in the order they began", () => {
  const told = { ...call, calls: [{ ...call, calls: [call] }, call] };
  expect(
    tracesOfCallFrame(told)?.map(({ traceAddress, subtraces }) => [traceAddress, subtraces]),
  ).toEqual([
    [[], 2],
    [[0], 1],
    [[0, 0], 0],
    [[1], 0],
  ]);
});

it("writes a call as OpenEthereum does", () => {
  const told = { ...call, input: "0x01", output: "0x02", value: "0x5", logs: [], revertReason: "" };
  expect(tracesOfCallFrame(told)).toEqual([
    {
      action: { from: a, callType: "call", gas: "0x64", input: "0x01", to: b, value: "0x5" },
      result: { gasUsed: "0xa", output: "0x02" },
      subtraces: 0,
      traceAddress: [],
      type: "call",
    },
  ]);
});

it.each(["CREATE", "CREATE2"])("writes %s as a create", (type) => {
  const told = { ...call, type, to: c, input: "0x01", output: "0x02", value: "0x5" };
  expect(inside(told)).toEqual([
    {
      action: {
        ...{ from: a, value: "0x5", gas: "0x64", init: "0x01" },
        creationMethod: type.toLowerCase(),
      },
      result: { gasUsed: "0xa", code: "0x02", address: c },
      subtraces: 0,
      traceAddress: [0],
      type: "create",
    },
  ]);
});

it("writes a failed create with neither result nor address", () => {
  const told = { ...call, type: "CREATE", to: undefined, error: "max code size exceeded" };
  expect(inside(told)).toEqual([
    {
      action: { from: a, value: "0x0", gas: "0x64", init: "0x", creationMethod: "create" },
      error: "Out of gas",
      subtraces: 0,
      traceAddress: [0],
      type: "create",
    },
  ]);
});

it("writes a self-destruct as a suicide without a result", () => {
  const told = { ...call, type: "SELFDESTRUCT", value: "0x7", gas: "0x0", gasUsed: "0x0" };
  expect(inside(told)).toEqual([
    {
      action: { address: a, refundAddress: b, balance: "0x7" },
      result: null,
      subtraces: 0,
      traceAddress: [0],
      type: "suicide",
    },
  ]);
});

it("takes a self-destruct without an heir for one whose heir is itself, as reth and anvil write it", () => {
  const told = { ...call, type: "SELFDESTRUCT", to: undefined, value: "0x7" };
  expect(inside(told)).toMatchObject([
    { action: { address: a, refundAddress: a, balance: "0x7" }, type: "suicide" },
  ]);
});

it("gives a delegate call its parent's value, and a static call none", () => {
  const delegate = { ...call, type: "DELEGATECALL" };
  const told = [
    { ...call, value: "0x9", calls: [{ ...delegate, calls: [delegate] }] },
    { ...call, type: "STATICCALL", value: "0x3", calls: [delegate] },
    { ...call, type: "CALLCODE", value: "0x4", calls: [{ ...delegate, value: "0x1" }] },
  ];
  expect(inside(...told)?.map(({ action }) => [action["callType"], action["value"]])).toEqual([
    ["call", "0x9"],
    ["delegatecall", "0x9"],
    ["delegatecall", "0x9"],
    ["staticcall", "0x0"],
    ["delegatecall", "0x0"],
    ["callcode", "0x4"],
    ["delegatecall", "0x1"],
  ]);
});

const toPrecompile = { ...call, to: sha256 };

it.each([
  ["a call to a precompile", toPrecompile],
  ["a static call to a precompile", { ...toPrecompile, type: "STATICCALL" }],
  ["a failed call to a precompile", { ...toPrecompile, error: "out of gas" }],
  // geth gives this error for a call without gas (core/vm/contracts.go: RunPrecompiledContract).
  [
    "a precompile without gas",
    { ...toPrecompile, gas: "0x0", gasUsed: "0x0", error: "out of gas" },
  ],
  ["blake2f without rounds", { ...toPrecompile, gasUsed: "0x0", output: "0x01" }],
  ["modexp for nothing", { ...call, to: `0x${"5".padStart(40, "0")}`, gasUsed: "0x0" }],
  ["P256VERIFY", { ...call, to: `0x${"100".padStart(40, "0")}` }],
  [
    "a call without balance",
    { ...call, gasUsed: "0x0", error: "insufficient balance for transfer" },
  ],
  [
    "a create too deep",
    { ...call, type: "CREATE", gasUsed: "0x0", error: "max call depth exceeded" },
  ],
])("leaves out %s, and numbers the rest anew", (_, told) => {
  const rest = inside(told, call, told, { ...call, calls: [told] });
  expect(rest?.map(({ traceAddress, subtraces }) => [traceAddress, subtraces])).toEqual([
    [[0], 0],
    [[1], 0],
  ]);
  expect(tracesOfCallFrame({ ...call, calls: [told, call] })?.[0]?.subtraces).toBe(1);
});

it.each([
  ["a precompile called with value", { ...toPrecompile, value: "0x1" }],
  ["a precompile's code", { ...toPrecompile, type: "CALLCODE" }],
  ["a precompile's code, delegated", { ...toPrecompile, type: "DELEGATECALL" }],
  ["what is no precompile yet", { ...toPrecompile, gasUsed: "0x0" }],
  ["a full stack in Nethermind's words", { ...call, error: "max call depth exceeded" }],
])("keeps %s", (_, told) => {
  expect(inside(told)).toHaveLength(1);
});

it("keeps a precompile called at the top", () => {
  expect(tracesOfCallFrame(toPrecompile)).toHaveLength(1);
});

it("says of a precompile that dislikes its input that it failed", () => {
  const told = { ...toPrecompile, value: "0x1", error: "bn256: malformed point" };
  expect(inside(told)?.[0]?.error).toBe("Built-in failed");
});

it("takes the intrinsic gas off the top frame only", () => {
  const told = { ...call, gas: "0x10000", gasUsed: "0x6000", calls: [call] };
  const [top, child] = tracesOfCallFrame(told, { intrinsicGas: 21_000 }) ?? [];
  expect(top).toMatchObject({ action: { gas: "0xadf8" }, result: { gasUsed: "0xdf8" } });
  expect(child).toMatchObject({ action: { gas: "0x64" }, result: { gasUsed: "0xa" } });
});

it("leaves the gas of a node that did not count it in, and takes it off the receipt's", () => {
  const told = { ...call, gas: "0xadf8", gasUsed: "0x6000" };
  const options = { intrinsicGas: 21_000, gasLimit: "0x10000" };
  const want = [{ action: { gas: "0xadf8" }, result: { gasUsed: "0xdf8" } }];
  expect(tracesOfCallFrame(told, options)).toMatchObject(want);
  expect(tracesOfCallFrame({ ...told, gas: "0x10000" }, options)).toMatchObject(want);
});

it("never goes below no gas used, for refunds can be more than execution took", () => {
  const told = { ...call, gas: "0x10000", gasUsed: "0x5000" };
  expect(tracesOfCallFrame(told, { intrinsicGas: 21_000 })).toMatchObject([
    { result: { gasUsed: "0x0" } },
  ]);
});

const nested = (depth: number) => {
  let told: object = call;
  for (let level = 0; level < depth; level += 1) told = { ...call, calls: [told] };
  return told;
};

it("follows calls as deep as the EVM nests them, and no deeper", () => {
  expect(tracesOfCallFrame(nested(1024))?.at(-1)?.traceAddress).toHaveLength(1024);
  expect(tracesOfCallFrame(nested(100_000))).toBeUndefined();
});

it("refuses more paths than gas could pay for", () => {
  const wide = { ...call, calls: new Array(20_000).fill(call) };
  let told: object = wide;
  for (let level = 0; level < 1000; level += 1) told = { ...call, calls: [told] };
  expect(tracesOfCallFrame(told)).toBeUndefined();
});

it.each([
  ["nothing", undefined],
  ["null", null],
  ["a text", "0x"],
  ["a list", [call]],
  ["no members", {}],
  ["an unknown type", { ...call, type: "JUMP" }],
  ["no type", { ...call, type: 1 }],
  ["an address too short", { ...call, to: "0x01" }],
  ["no sender", { ...call, from: null }],
  ["gas as a number", { ...call, gas: 100 }],
  ["no gas used", { ...call, gasUsed: undefined }],
  ["odd input", { ...call, input: "0x1" }],
  ["odd output", { ...call, output: "0x1" }],
  ["a negative value", { ...call, value: "-0x1" }],
  ["an error that is no text", { ...call, error: { message: "no" } }],
  ["calls that are no list", { ...call, calls: { 0: call } }],
  ["a call that is none", { ...call, calls: [call, null] }],
  ["a create without its address", { ...call, type: "CREATE", to: undefined }],
  ["a self-destruct of nobody", { ...call, calls: [{ type: "SELFDESTRUCT", to: a }] }],
])("makes nothing of %s", (_, told) => {
  expect(tracesOfCallFrame(told)).toBeUndefined();
});

it("makes nothing of a top frame with less gas than was counted in", () => {
  expect(tracesOfCallFrame(call, { intrinsicGas: 21_000 })).toBeUndefined();
});
