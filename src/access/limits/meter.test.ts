import { describe, expect, it } from "vitest";
import { Costs, unservedNames } from "./meter.ts";

const declared = (name: string) => ({ name, cost: 5 });

describe("the costs of calls", () => {
  it.each([
    [{}, "eth_call", 5],
    [{ eth_call: 3 }, "eth_call", 3],
    [{ eth_call: 0 }, "eth_call", 0],
    [{ eth_call: 3 }, "eth_getCode", 5],
    [{ "eth_*": 7, eth_call: 3 }, "eth_call", 3],
    [{ "*": 9, "eth_*": 7, "eth_get*": 8 }, "eth_getCode", 8],
    [{ "*": 9, "eth_*": 7 }, "net_version", 9],
  ])("with %j, %s costs %s", (settings, name, want) => {
    const costs = new Costs(settings);
    expect([costs.of(declared(name)), costs.of(declared(name))]).toEqual([want, want]);
  });

  it("count from the moment that they are changed", () => {
    const method = declared("eth_call");
    const costs = new Costs({ eth_call: 3 });
    costs.of(method);
    costs.configure({ eth_call: 4 });
    expect(costs.of(method)).toBe(4);
  });

  it("are 1 for what no network has", () => {
    expect(new Costs({ "*": 9 }).of(undefined)).toBe(1);
  });

  it("name methods that are served, or patterns", () => {
    const isServed = (name: string) => name === "eth_call";
    expect(unservedNames({ eth_call: 1, eth_cal: 1, "trace_*": 1 }, isServed)).toEqual(["eth_cal"]);
  });
});
