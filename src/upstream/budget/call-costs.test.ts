import { describe, expect, it } from "vitest";
import { CallCosts } from "./call-costs.ts";

describe("what a call costs", () => {
  const costs = new CallCosts({ "*": 10, "eth_get*": 20, eth_getLogs: 75, "eth_getBlock*": 16 });

  it.each([
    ["eth_getLogs", 75],
    ["eth_getBlockByHash", 16],
    ["eth_getCode", 20],
    ["net_version", 10],
    [`eth_get${"s".repeat(100_000)}`, 20],
  ])("%.20s: %i", (method, want) => {
    expect(costs.of(method)).toBe(want);
    expect(costs.of(method)).toBe(want);
  });

  it("is 1 where nothing else is told", () => {
    expect(new CallCosts().of("eth_call")).toBe(1);
    expect(new CallCosts({ "eth_*": 5 }).of("net_version")).toBe(1);
  });

  it("may be nothing, or a part of a unit", () => {
    const cheap = new CallCosts({ eth_chainId: 0, eth_call: 0.5 });
    expect([cheap.of("eth_chainId"), cheap.of("eth_call")]).toEqual([0, 0.5]);
  });

  it("stays right after more names than are remembered", () => {
    for (let count = 0; count < 5000; count += 1) costs.of(`eth_get${count}`);
    expect(costs.of("eth_get17")).toBe(20);
    expect(costs.of("eth_getLogs")).toBe(75);
  });
});
