import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addPositions,
  allBlocks,
  intersect,
  noBlocks,
  numbersIn,
  SEGMENT_BLOCKS,
  unite,
} from "./log-index.ts";

const place = fc.integer({ min: 0, max: SEGMENT_BLOCKS - 1 });
const places = fc.uniqueArray(place, { maxLength: 600 });
const whole = { from: 0, to: 10 * SEGMENT_BLOCKS };
const setOf = (postings: Buffer | undefined) => {
  const set = noBlocks();
  if (postings) unite(set, postings);
  return set;
};
const rising = (numbers: Iterable<number>): number[] => [...new Set(numbers)].sort((a, b) => a - b);

describe("the blocks that have a term", () => {
  it("are all that were added, in any portions: as a list first, then as a bitmap", () => {
    fc.assert(
      fc.property(fc.array(places, { maxLength: 4 }), fc.nat(20), (portions, segment) => {
        let postings: Buffer | undefined;
        for (const portion of portions) postings = addPositions(postings, portion);
        const base = segment * SEGMENT_BLOCKS;
        const wanted = rising(portions.flat()).map((each) => base + each);
        const range = { from: 0, to: (segment + 1) * SEGMENT_BLOCKS };
        expect([...numbersIn(setOf(postings), segment, range)]).toEqual(wanted);
        expect(postings?.length ?? 0).toBeLessThanOrEqual(SEGMENT_BLOCKS / 8);
      }),
    );
  });

  it("are united and intersected as sets", () => {
    fc.assert(
      fc.property(places, places, (some, others) => {
        const union = setOf(addPositions(undefined, some));
        unite(union, addPositions(undefined, others));
        expect([...numbersIn(union, 0, whole)]).toEqual(rising([...some, ...others]));
        const both = setOf(addPositions(undefined, some));
        intersect(both, setOf(addPositions(undefined, others)));
        const inOthers = new Set(others);
        expect([...numbersIn(both, 0, whole)]).toEqual(
          rising(some.filter((each) => inOthers.has(each))),
        );
      }),
    );
  });

  it("are told within a range only", () => {
    fc.assert(
      fc.property(place, place, fc.nat(3), (one, other, segment) => {
        const base = segment * SEGMENT_BLOCKS;
        const [from, to] = [base + Math.min(one, other), base + Math.max(one, other)];
        const told = [...numbersIn(allBlocks(), segment, { from, to })];
        expect([told[0], told.at(-1), told.length]).toEqual([from, to, to - from + 1]);
      }),
    );
  });
});
