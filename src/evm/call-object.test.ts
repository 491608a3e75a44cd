import { describe, expect, it } from "vitest";
import { callObject, forAnyNode, withCappedGas } from "./call-object.ts";

const to = `0x${"cd".repeat(20)}`;

describe("a call object", () => {
  it.each([{}, { to, data: "0x" }, { to: null, input: "0x60" }, { to, gas: "0x5208", new: [1] }])(
    "may be %j",
    (call) => {
      expect(callObject.safeParse(call).success).toBe(true);
    },
  );

  it.each([
    null,
    "0x",
    [],
    { to: "0x" },
    { to, gas: 21000 },
    { to, value: "0x00" },
    { data: "0x1" },
  ])("may not be %j", (call) => {
    expect(callObject.safeParse(call).success).toBe(false);
  });

  it("says input also as data, which every node reads", () => {
    expect(forAnyNode({ to, input: "0xaB" })).toEqual({ to, input: "0xaB", data: "0xaB" });
    const both = { to, input: "0xaB", data: "0xAb" };
    expect(forAnyNode(both)).toBe(both);
    expect(() => forAnyNode({ input: "0xab", data: "0xcd" })).toThrow(
      'both "data" and "input" are set and not equal. Please use "input" to pass transaction call data',
    );
  });

  it.each([
    { gas: "0x20c85580", want: "0x20c85580" },
    { gas: "0x20C85581", want: "0x20c85580" },
    { gas: `0x${"f".repeat(64)}`, want: "0x20c85580" },
    { gas: "0x5208", want: "0x5208" },
  ])("with gas $gas asks for $want", ({ gas, want }) => {
    expect(withCappedGas({ to, gas })).toEqual({ to, gas: want });
  });
});
