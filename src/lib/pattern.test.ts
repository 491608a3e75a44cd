import { expect, it } from "vitest";
import { matcherOf } from "./pattern.ts";

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
