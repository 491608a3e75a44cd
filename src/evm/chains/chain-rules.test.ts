import { expect, it } from "vitest";
import { blockRulesOf, chainRulesOf, listedChains } from "./chain-rules.ts";

it("lists no chain twice, and says of each who says so", () => {
  const ids = listedChains().flatMap((each) => each.ids);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { rules } of listedChains()) {
    expect(rules.source).not.toBe("");
    expect(rules.eras.at(-1)?.from).toBe(0);
  }
});

it("calls nothing a lie on a chain that is not listed", () => {
  const { name, eras } = chainRulesOf(424_242);
  expect({ name, eras: eras.length }).toEqual({ name: undefined, eras: 1 });
  expect(Object.values(blockRulesOf(424_242).fit)).not.toContain("must");
});

it.each([
  { chainId: 137, number: 80_084_799, leftOut: "state sync", header: "must" },
  { chainId: 137, number: 80_084_800, leftOut: "none", header: "must" },
  { chainId: 42161, number: 22_207_817, leftOut: "none", header: "must" },
  { chainId: 314, number: 1, leftOut: "none", header: "may" },
])("has the rules of the era of block $number of chain $chainId", ({ chainId, number, ...own }) => {
  const { leftOut, fit } = blockRulesOf(chainId, number);
  expect({ leftOut, header: fit.header }).toEqual(own);
});

it("knows how far below the head a block is final, and where heights have no block", () => {
  expect(chainRulesOf(137)).toMatchObject({ blockMs: 2000, finalAfter: 500 });
  expect(chainRulesOf(314).hasMissingHeights).toBe(true);
  expect(chainRulesOf(1).hasMissingHeights).toBe(false);
});
