import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  memorySize,
  memorySlice,
  readStep,
  type Step,
  stackCount,
  stackItem,
} from "./struct-logs.ts";

const log = { pc: 0, op: "ADD", gas: 9, gasCost: 3, depth: 1, stack: [] };
const withStack = (...stack: unknown[]) => readStep({ ...log, stack }) as Step;

describe("a step", () => {
  it.each([
    { node: "geth", told: { memory: ["00".repeat(32)], storage: {}, refund: 1 }, error: "" },
    { node: "Erigon, with counts as text", told: { gas: "0x9", gasCost: "3" }, error: "" },
    { node: "Nethermind, without an error", told: { error: null }, error: "" },
    { node: "one with a flag", told: { error: false }, error: "" },
    { node: "one with an error", told: { error: "out of gas" }, error: "out of gas" },
    { node: "one with an object", told: { error: { code: 1 } }, error: '{"code":1}' },
  ])("is read as $node writes it", ({ told, error }) => {
    expect(readStep({ ...log, ...told })).toMatchObject({ gas: 9, cost: 3, depth: 1, error });
  });

  it("has no end of a cost that the node could not count", () => {
    expect(readStep({ ...log, gasCost: 2 ** 64 })?.cost).toBe(Infinity);
    expect(readStep({ ...log, gasCost: "0xffffffffffffffff" })?.cost).toBe(Infinity);
  });

  it.each([
    ...[null, 1, "step", [log]],
    ...[
      { ...log, pc: -1 },
      { ...log, pc: 0.5 },
      { ...log, gas: "" },
      { ...log, gas: "1e3" },
    ],
    ...[
      { ...log, gas: 2 ** 60 },
      { ...log, depth: undefined },
      { ...log, gasCost: null },
    ],
    ...[
      { ...log, op: 1 },
      { ...log, stack: null },
      { ...log, stack: "0x1" },
    ],
  ])("is not %j", (value) => {
    expect(readStep(value)).toBeUndefined();
  });
});

describe("an item of the stack", () => {
  it.each([
    ["0x1", "0x1"],
    ["1", "0x1"],
    [`0x${"0".repeat(62)}aB`, "0xab"],
    ["0".repeat(64), "0x0"],
    ["0x", "0x0"],
    [`0x${"f".repeat(64)}`, `0x${"f".repeat(64)}`],
    [255, "0xff"],
  ])("%j is the QUANTITY %s", (item, quantity) => {
    expect(stackItem(withStack("0x7", item), 0)).toBe(quantity);
    expect(stackItem(withStack(item, "0x7"), 1)).toBe(quantity);
  });

  it.each(["0xg", `0x${"1".repeat(65)}`, "-1", -1, 1.5, null, {}])("is not %j", (item) => {
    expect(stackItem(withStack(item), 0)).toBeUndefined();
  });

  it("is a count only below 2^53", () => {
    expect(stackCount(withStack("0x1fffffffffffff"), 0)).toBe(Number.MAX_SAFE_INTEGER);
    expect(stackCount(withStack("0x20000000000000"), 0)).toBeUndefined();
    expect(stackCount(withStack(), 0)).toBeUndefined();
  });
});

describe("the memory", () => {
  const words = ["aa".repeat(32), `${"00".repeat(31)}Bb`];
  const spellings = [
    words,
    words.map((word) => `0x${word}`),
    words.join(""),
    `0x${words.join("")}`,
  ];

  it.each(spellings.map((memory) => ({ memory })))("is read from $memory", ({ memory }) => {
    expect(memorySize(memory)).toBe(64);
    expect(memorySlice(memory, 31, 2)).toBe("0xaa00");
    expect(memorySlice(memory, 63, 1)).toBe("0xbb");
    expect(memorySlice(memory, 62, 4)).toBe("0x00bb0000");
    expect(memorySlice(memory, 1000, 2)).toBe("0x0000");
    expect(memorySlice(memory, 5, 0)).toBe("0x");
  });

  it.each([{ memory: undefined }, { memory: null }])("that is not told is empty", ({ memory }) => {
    expect(memorySize(memory)).toBe(0);
    expect(memorySlice(memory, 1, 2)).toBe("0x0000");
  });

  it.each([{ memory: ["aa"] }, { memory: [1] }, { memory: "0xgg" }, { memory: 1 }])(
    "is not $memory",
    ({ memory }) => {
      expect(memorySlice(memory, 0, 1)).toBeUndefined();
    },
  );

  it("says the same in all spellings", () => {
    fc.assert(
      fc.property(fc.nat(100), fc.nat(100), (offset, size) => {
        const slices = spellings.map((memory) => memorySlice(memory, offset, size));
        expect(new Set(slices)).toEqual(new Set([slices[0]]));
        expect(slices[0]).toHaveLength(2 + 2 * size);
      }),
    );
  });
});
