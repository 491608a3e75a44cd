import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BodyScan } from "./body-scan.ts";

const BOUNDS = { depth: 5, members: 3 };

const scan = (text: string, cuts: readonly number[] = []) => {
  const body = Buffer.from(text);
  const scanned = new BodyScan(BOUNDS);
  const ends = [...cuts.map((cut) => cut % (body.length + 1)), body.length].sort((a, b) => a - b);
  let start = 0;
  for (const end of ends) {
    const verdict = scanned.take(body.subarray(start, end));
    if (verdict !== "within bounds") return verdict;
    start = end;
  }
  return "within bounds";
};

describe("a body", () => {
  it.each([
    ["", "within bounds"],
    ["[1,2,3]", "within bounds"],
    ["[1,2,3,4]", "too many members"],
    ['[[1,2,3,4],{"a":1,"b":2,"c":3,"d":4}]', "within bounds"],
    ['{"a":1,"b":2,"c":3,"d":4}', "within bounds"],
    ['[",,,,",1]', "within bounds"],
    ['["\\",",1,2,3]', "too many members"],
    ["[[[[[]]]]]", "within bounds"],
    ["[[[[[[]]]]]]", "too deep"],
    ['{"a":{"a":{"a":{"a":{"a":{}}}}}}', "too deep"],
    ['["[[[[[[[[", "{{{{{{{"]', "within bounds"],
    [`["${"x".repeat(100)}\\"[[[[[[[["]`, "within bounds"],
    [`["${"x".repeat(100)}\\\\",[[[[[[[["]`, "too deep"],
    ["[[],[],[[[[]]]]]", "within bounds"],
    ["]]]][[[[[[[[[[", "too deep"],
  ])("%s is %s", (text, want) => {
    expect(scan(text)).toBe(want);
  });

  it("is judged the same in whatever pieces it comes, and as the parser sees it", () => {
    const deep = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 8, depthSize: "large" },
        fc.constantFrom(
          1,
          null,
          '"',
          "\\",
          '\\",[[[[[[',
          "]",
          ",",
          "x".repeat(60),
          `${"x".repeat(60)}\\"`,
        ),
        fc.array(tie("value"), { maxLength: 5 }),
        fc.dictionary(fc.constantFrom("a", '"', "[\\"), tie("value"), { maxKeys: 5 }),
      ),
    })).value;
    fc.assert(
      fc.property(deep, fc.array(fc.nat()), (value, cuts) => {
        const isMany = Array.isArray(value) && value.length > BOUNDS.members;
        const isDeep = depthOf(value) > BOUNDS.depth;
        const verdict = scan(JSON.stringify(value), cuts);
        if (!isMany && !isDeep) expect(verdict).toBe("within bounds");
        else expect([isMany && "too many members", isDeep && "too deep"]).toContain(verdict);
      }),
      { numRuns: 2_000 },
    );
  });
});

const depthOf = (value: unknown): number =>
  typeof value === "object" && value !== null
    ? 1 + Math.max(0, ...Object.values(value).map(depthOf))
    : 0;

it("is over as soon as a bound is passed", () => {
  const bytes = Buffer.from("[".repeat(1 << 20));
  let read = 0;
  const watched = new Proxy(bytes, {
    get: (target, name) => {
      read += 1;
      return Reflect.get(target, name) as unknown;
    },
  });
  expect(new BodyScan(BOUNDS).take(watched)).toBe("too deep");
  expect(read).toBeLessThan(20);
});
