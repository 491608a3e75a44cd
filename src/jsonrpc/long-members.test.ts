import fc from "fast-check";
import { expect, it } from "vitest";
import { atOnce } from "../lib/turns.ts";
import { findLongMembers } from "./long-members.ts";
import { findMembers } from "./members.ts";

const NAMES = ["id", "result", "error"];
const both = (text: string) => {
  const json = Buffer.from(text);
  return [atOnce(findLongMembers(json, NAMES)), findMembers(json, NAMES)];
};

it("finds what findMembers finds, in any JSON and in what was cut off", () => {
  const anything = fc
    .record({
      value: fc.oneof(
        fc.dictionary(fc.oneof(fc.constantFrom(...NAMES), fc.string()), fc.jsonValue()),
        fc.jsonValue(),
      ),
      indent: fc.nat(3),
      cut: fc.nat(200),
    })
    .map(({ value, indent, cut }) => {
      const text = JSON.stringify(value, null, indent);
      return cut > 100 ? text : text.slice(0, cut);
    });
  fc.assert(
    fc.property(anything, (text) => {
      const [long, short] = both(text);
      expect(long).toEqual(short);
    }),
    { numRuns: 3_000 },
  );
});

it("finds the end of a value that is longer than a step", () => {
  const logs = Array.from({ length: 10_000 }, (_, at) => ({ at, data: '"}]{'.repeat(at % 7) }));
  const [long, short] = both(JSON.stringify({ id: 7, result: logs, error: null }));
  expect(long).toEqual(short);
  expect(long?.[1]?.end).toBeGreaterThan(1 << 17);
});
