import { expect, it } from "vitest";
import { type Trace, traceAt, tracesOfFlat, withPosition } from "./call-tree.ts";

const address = (digit: string): string => `0x${digit.repeat(40)}`;
const [a, b] = [address("a"), address("b")];
const sha256 = `0x${"2".padStart(40, "0")}`;
const action = { callType: "call", from: a, to: b, gas: "0x64", input: "0x", value: "0x0" };
const result = { gasUsed: "0xa", output: "0x" };
const call = { type: "call", action, result, subtraces: 0, traceAddress: [] as number[] };
const at = (...traceAddress: number[]) => ({ ...call, traceAddress });
const precompileAt = (...path: number[]) => ({ ...at(...path), action: { ...action, to: sha256 } });
const place = {
  blockHash: `0x${"1".repeat(64)}`,
  blockNumber: 7,
  transactionHash: `0x${"2".repeat(64)}`,
  transactionPosition: 3,
};

const shape = (traces: readonly Trace[] | undefined) =>
  traces?.map(({ traceAddress, subtraces }) => [traceAddress.join(), subtraces]);

it("strips the place, and puts it back in the order of OpenEthereum", () => {
  const traces = tracesOfFlat([{ ...place, ...call }]);
  expect(traces).toEqual([call]);
  const names = (value: object | undefined) => Object.keys(value ?? {}).join(" ");
  expect(names(traces?.[0])).toBe("action result subtraces traceAddress type");
  const [placed] = traces?.map((trace) => withPosition(trace, { ...place, ...{ more: 1 } })) ?? [];
  expect(placed).toEqual({ ...call, ...place });
  expect(names(placed)).toBe(
    "action blockHash blockNumber result subtraces traceAddress transactionHash transactionPosition type",
  );
});

it("gives what failed no result, and OpenEthereum's words", () => {
  const [trace] = tracesOfFlat([{ ...call, error: "execution reverted" }]) ?? [];
  const { result: _, ...rest } = call;
  expect(trace).toEqual({ ...rest, error: "Reverted" });
});

it.each([null, "", undefined])("takes the error %j for none", (error) => {
  expect(tracesOfFlat([{ ...call, error }])).toEqual([call]);
});

it("names how a contract was created where the node does", () => {
  const created = { gasUsed: "0xa", code: "0x01", address: b };
  const create = { from: a, gas: "0x64", init: "0x02", value: "0x0" };
  const traces = [
    { ...at(), type: "create", action: create, result: created },
    { ...at(0), type: "create", action: { ...create, creationMethod: "create2" }, result: created },
  ];
  expect(tracesOfFlat(traces)?.map((trace) => trace.action)).toEqual([
    create,
    { ...create, creationMethod: "create2" },
  ]);
});

it.each(["suicide", "selfdestruct"])("writes a %s", (type) => {
  const destroyed = { address: a, refundAddress: b, balance: "0x1" };
  expect(
    tracesOfFlat([at(), { ...at(0), type, action: destroyed, result: undefined }])?.[1],
  ).toEqual({ action: destroyed, result: null, subtraces: 0, traceAddress: [0], type: "suicide" });
});

it("leaves rewards out", () => {
  const reward = {
    ...at(),
    type: "reward",
    action: { author: a, rewardType: "block", value: "0x1" },
  };
  expect(tracesOfFlat([call, reward])).toEqual([call]);
  expect(tracesOfFlat([])).toEqual([]);
});

it("leaves calls to precompiles out, and numbers the rest anew", () => {
  const traces = [
    at(),
    precompileAt(0),
    at(1),
    precompileAt(1, 0),
    at(1, 1),
    precompileAt(2),
    at(3),
  ];
  expect(shape(tracesOfFlat(traces))).toEqual([
    ["", 2],
    ["0", 1],
    ["0,0", 0],
    ["1", 0],
  ]);
});

it("closes the gaps of a node that left some out without numbering anew", () => {
  expect(shape(tracesOfFlat([at(), at(1), at(1, 2), at(4)]))).toEqual([
    ["", 2],
    ["0", 1],
    ["0,0", 0],
    ["1", 0],
  ]);
});

it("takes the intrinsic gas off where geth counted it in", () => {
  const told = {
    ...call,
    action: { ...action, gas: "0x5209" },
    result: { gasUsed: "0x5208", output: "0x" },
  };
  expect(tracesOfFlat([told], { intrinsicGas: 21_000 })).toMatchObject([
    { action: { gas: "0x1" }, result: { gasUsed: "0x0" } },
  ]);
});

it.each([
  ["no list", { 0: call }],
  ["null", [null]],
  ["no path", [{ ...call, traceAddress: undefined }]],
  ["a path of text", [at(), { ...call, traceAddress: ["0"] }]],
  ["a negative step", [at(), at(-1)]],
  ["a child without a parent", [at(0)]],
  ["two tops", [at(), at()]],
  ["a grandchild without a child", [at(), at(0, 0)]],
  ["a child of another", [at(), at(0), at(1, 0)]],
  ["siblings out of order", [at(), at(1), at(0)]],
  ["the same twice", [at(), at(0), at(0)]],
  ["an unknown type", [{ ...call, type: "jump" }]],
  ["an unknown call type", [{ ...call, action: { ...action, callType: "jump" } }]],
  ["no action", [{ ...call, action: null }]],
  ["neither result nor error", [{ ...call, result: null }]],
  ["a create without a result", [{ ...call, type: "create", result: null }]],
])("makes nothing of %s", (_, traces) => {
  expect(tracesOfFlat(traces)).toBeUndefined();
});

it("finds the trace at exactly a path", () => {
  const traces = tracesOfFlat([at(), at(0), at(0, 0), at(1)]) ?? [];
  expect(traceAt(traces, [])).toBe(traces[0]);
  expect(traceAt(traces, [0, 0])).toBe(traces[2]);
  expect(traceAt(traces, [1])).toBe(traces[3]);
  expect(traceAt(traces, [2])).toBeUndefined();
  expect(traceAt(traces, [1, 0])).toBeUndefined();
  expect(traceAt([], [])).toBeUndefined();
});
