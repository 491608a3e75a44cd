import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { servedMsOf } from "../../test/support/served-time.ts";
import { BestMatch, matcherOf } from "./pattern.ts";

describe("a pattern", () => {
  it.each([
    [["eth_*"], "eth_call", true],
    [["eth_*"], "xeth_call", false],
    [["eth_call"], "eth_callMany", false],
    [["e.h_*"], "eth_call", false],
    [["*_call"], "eth_call", true],
    [["*_call"], "eth_callMany", false],
    [["eth_*_*"], "eth_a_b", true],
    [["ab*ba"], "aba", false], // the parts before and after the star do not overlap
    [["a*b*b"], "ab", false],
    [["**"], "", true],
    [["*"], "any\nthing", true],
    [[], "eth_call", false],
  ])("of %j matches %s: %s", (patterns, name, want) => {
    expect(matcherOf(patterns)(name)).toBe(want);
  });

  it("says what its definition says", () => {
    const letters = { unit: fc.constantFrom("a", "b", "*"), maxLength: 8 };
    const names = { unit: fc.constantFrom("a", "b"), maxLength: 10 };
    fc.assert(
      fc.property(fc.string(letters), fc.string(names), (pattern, name) => {
        expect(matcherOf([pattern])(name)).toBe(matches(pattern, name));
      }),
      { numRuns: 5_000 },
    );
  });

  it("of very many stars is decided at once", async () => {
    const name = `${"a".repeat(100_000)}!`;
    const ownMs = await servedMsOf(() => {
      expect(matcherOf([`${"a*".repeat(13)}b`])(name)).toBe(false);
      expect(matcherOf([`${"*a".repeat(1_000)}*`])(name)).toBe(true);
      expect(matcherOf([`${"*a".repeat(1_000)}`])(name)).toBe(false);
    });
    expect(ownMs).toBeLessThan(1_000);
  });
});

it.each([
  [{ "*": 1, "eth_*": 2, eth_call: 3 }, "eth_call", 3],
  [{ "*": 1, "eth_*": 2, "eth_get*": 3 }, "eth_getCode", 3],
  [{ "eth_get****": 1, "eth_get*s": 2 }, "eth_getLogs", 2], // stars do not make a pattern longer
  [{ "*_call": 1, "eth_c*": 2 }, "eth_call", 1], // of two patterns of the same length, the first wins
  [{ "eth_*": 2 }, "net_version", undefined],
])("of %j, for %s, %s is first", (values, name, want) => {
  expect(new BestMatch<number>(values).of(name)).toBe(want);
});

/** The definition of a match, letter by letter. */
function matches(pattern: string, name: string): boolean {
  if (pattern === "") return name === "";
  const [first, rest] = [pattern[0], pattern.slice(1)];
  if (first === "*") return matches(rest, name) || (name !== "" && matches(pattern, name.slice(1)));
  return name[0] === first && matches(rest, name.slice(1));
}
