import { describe, expect, it } from "vitest";
import type { CallAnswer } from "../../src/admin/schemas.ts";
import { isShown, joined, MOST_CALLS } from "./slow-calls.ts";

const call = (number: number, more: Partial<CallAnswer> = {}): CallAnswer => ({
  at: `2026-11-23T00:00:${String(number).padStart(4, "0")}Z`,
  ...{ network: "main", key: "app", request: `r${number}`, method: "eth_call", id: "1" },
  ...{ outcome: "failed", source: "upstream", bytes: 1, ms: number, steps: [], asked: [] },
  leftOut: 0,
  ...more,
});

describe("the calls that a page holds", () => {
  it("are the newest first, each once, and the same list where nothing is new", () => {
    const shown = joined([], [call(1), call(3)]);
    expect(joined(shown, [call(2), call(3)]).map(({ ms }) => ms)).toEqual([3, 2, 1]);
    expect(joined(shown, [call(1)])).toBe(shown);
  });

  it("are so many at most, for however long the page is open", () => {
    let shown: readonly CallAnswer[] = [];
    for (let number = 0; number < 2_000; number += 20)
      shown = joined(
        shown,
        Array.from({ length: 20 }, (_, at) => call(number + at)),
      );
    expect(shown).toHaveLength(MOST_CALLS);
    expect(shown[0]?.ms).toBe(1_999);
  });

  it.each([
    ["", true],
    ["network=main&outcome=failed&key=AP&method=call&ms=5", true],
    ["network=other", false],
    ["outcome=ok", false],
    ["key=b", false],
    ["method=logs", false],
    ["ms=6", false],
    ["ms=x", true],
  ])("are filtered by %j: %s", (query, is) => {
    expect(isShown(call(5), new URLSearchParams(query))).toBe(is);
  });
});
