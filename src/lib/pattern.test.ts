import { expect, it } from "vitest";
import { byPrecedence, matcherOf } from "./pattern.ts";

it.each([
  [["eth_*"], "eth_call", true],
  [["eth_*"], "xeth_call", false],
  [["eth_call"], "eth_callMany", false],
  [["e.h_*"], "eth_call", false],
  [["*_call"], "eth_call", true],
  [[], "eth_call", false],
])("%j matches %s: %s", (patterns, name, want) => {
  expect(matcherOf(patterns)(name)).toBe(want);
});

it.each([
  [{ "*": 1, "eth_*": 2, eth_call: 3 }, "eth_call", 3],
  [{ "*": 1, "eth_*": 2, "eth_get*": 3 }, "eth_getCode", 3],
  [{ "eth_get****": 1, "eth_get*s": 2 }, "eth_getLogs", 2], // stars do not make a pattern longer
  [{ "*_call": 1, "eth_c*": 2 }, "eth_call", 1], // of two as long, the first
  [{ "eth_*": 2 }, "net_version", undefined],
])("of %j, for %s, %s is first", (values, name, want) => {
  expect(byPrecedence<number>(values).find(({ isOf }) => isOf(name))?.value).toBe(want);
});
