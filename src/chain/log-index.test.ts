import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseList } from "../jsonrpc/element-reader.ts";
import { atOnce } from "../lib/turns.ts";
import {
  addPositions,
  allBlocks,
  intersect,
  locateLogs,
  noBlocks,
  numbersIn,
  SEGMENT_BLOCKS,
  unite,
} from "./log-index.ts";

const position = fc.integer({ min: 0, max: SEGMENT_BLOCKS - 1 });
const positions = fc.uniqueArray(position, { maxLength: 600 });
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
      fc.property(fc.array(positions, { maxLength: 4 }), fc.nat(20), (portions, segment) => {
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
      fc.property(positions, positions, (some, others) => {
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
      fc.property(position, position, fc.nat(3), (one, other, segment) => {
        const base = segment * SEGMENT_BLOCKS;
        const [from, to] = [base + Math.min(one, other), base + Math.max(one, other)];
        const told = [...numbersIn(allBlocks(), segment, { from, to })];
        expect([told[0], told.at(-1), told.length]).toEqual([from, to, to - from + 1]);
      }),
    );
  });
});

describe("the logs of a receipt", () => {
  const [one, other] = ["1", "2"].map((digit) => `0x${digit.repeat(40)}`);
  const topic = `0x${"3".repeat(64)}`;
  const log = { address: one, topics: [topic, topic], data: "0x", removed: false };
  const late = { data: "0x", removed: false, topics: [topic], address: other };
  const bare = { address: other, topics: [], removed: false };

  it.each([
    { logs: [log, late, bare] },
    { x: "{", logs: [log], y: "}" },
    { x: "}{", logs: [late, log] },
    {
      logs: [
        { ...log, data: "}" },
        { ...bare, data: "{" },
      ],
    },
    { x: { logs: [bare] }, logs: [log] },
    { logs: [{ ...log, data: '","topics":["' }] },
  ])("are found with their addresses and topics in %j", (receipt) => {
    const json = Buffer.from(`[{"logs":[]},${JSON.stringify(receipt)}]`);
    const list = atOnce(parseList(json, { path: [], most: 2 }));
    if (list.kind !== "parsed") throw new Error("this is JSON");
    const { start = 0, end } = list.at.elements[1] ?? {};
    const own = json.subarray(start, end);
    const placed = { json: own, inner: list.at.inner?.[1], at: start };
    const located = atOnce(locateLogs(placed, list.elements[1]));
    const read = located?.logs.map(({ start: from, length, addressAt = -1, topicsAt = -1 }) => {
      const text = own.toString("latin1", from, from + length);
      const topics = text.slice(topicsAt, text.indexOf("]", topicsAt) + 1);
      const address = text.slice(addressAt, text.indexOf('"', addressAt));
      return { whole: JSON.parse(text), address, topics: JSON.parse(topics) };
    });
    expect(read).toEqual(
      receipt.logs.map((each) => ({ whole: each, address: each.address, topics: each.topics })),
    );
    expect(located).toEqual(atOnce(locateLogs({ json: own }, list.elements[1])));
  });
});
