import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { whyFalse } from "../../test/support/at-once.ts";
import { matcherOf } from "./log-filter.ts";
import { areLogsOdd, findLogMistake, inChainOrder } from "./log-validation.ts";

const ADDRESS = `0x${"aa".repeat(20)}`;
const TOPIC = `0x${"11".repeat(32)}`;
const hex = (value: number): string => `0x${value.toString(16)}`;
const hashOf = (value: number): string => `0x${value.toString(16).padStart(64, "0")}`;

const log = (block: number, index: number, others: object = {}) => ({
  ...{ address: ADDRESS, topics: [TOPIC], data: "0x01" },
  ...{ blockNumber: hex(block), blockHash: hashOf(block), transactionHash: hashOf(99) },
  ...{ transactionIndex: hex(index >> 1), logIndex: hex(index), removed: false },
  ...others,
});
const without = (name: string): object => ({ ...log(7, 0), [name]: undefined });

const matcher = matcherOf({ address: ADDRESS, topics: [TOPIC] });
const question = { matcher, within: { from: 5, to: 9 }, most: 1_000 };
const why = (logs: unknown, asked = question): string | undefined =>
  whyFalse(Buffer.from(typeof logs === "string" ? logs : JSON.stringify(logs)), asked);

describe("what a node tells of a log query", () => {
  it.each([
    { of: "no logs", logs: [] },
    { of: "null", logs: "null" },
    { of: "logs in order", logs: [log(5, 0), log(5, 3), log(7, 1), log(9, 0)] },
    { of: "logs without `removed`", logs: [{ ...log(7, 0), removed: undefined }] },
    { of: "members that are not known", logs: [log(7, 0, { blockTimestamp: "0x1", more: {} })] },
    { of: "addresses in capitals", logs: [log(7, 0, { address: ADDRESS.replaceAll("a", "A") })] },
  ])("is believed with $of", ({ logs }) => {
    expect(why(logs)).toBeUndefined();
  });

  const { removed: _, ...members } = log(7, 0);
  it.each([
    { what: "something that is no list", logs: { logs: [] } },
    { what: "something that is no log", logs: [7] },
    ...Object.keys(members).map((name) => ({
      what: `a log without ${name}`,
      logs: [without(name)],
    })),
    { what: "another address", logs: [log(7, 0, { address: `0x${"bb".repeat(20)}` })] },
    { what: "an address cut short", logs: [log(7, 0, { address: "0xaa" })] },
    { what: "another topic", logs: [log(7, 0, { topics: [`0x${"22".repeat(32)}`] })] },
    { what: "a topic too few", logs: [log(7, 0, { topics: [] })] },
    { what: "five topics", logs: [log(7, 0, { topics: Array(5).fill(TOPIC) })] },
    { what: "a log below the range", logs: [log(4, 0)] },
    { what: "a log above the range", logs: [log(10, 0)] },
    { what: "a log twice", logs: [log(7, 0), log(7, 0)] },
    { what: "a log twice, in disorder", logs: [log(8, 0), log(7, 0), log(8, 0)] },
    {
      what: "two hashes of a block, far apart",
      logs: [log(7, 0), log(8, 0), log(7, 1, { blockHash: hashOf(3) })],
    },
    { what: "two hashes of a block", logs: [log(7, 0), log(7, 1, { blockHash: hashOf(3) })] },
    { what: "two blocks of a hash", logs: [log(7, 0), log(8, 0, { blockHash: hashOf(7) })] },
    { what: "a removed log", logs: [log(7, 0, { removed: true })] },
    { what: "a Data beside data", logs: [log(7, 0, { Data: "0x02" })] },
    { what: "data that is none", logs: [log(7, 0, { data: "0xzz" })] },
  ])("is not, with $what", ({ logs }) => {
    expect(why(logs)).toBeDefined();
  });

  const restarted = [log(7, 0), log(7, 1), log(7, 2, { logIndex: "0x0" })];
  const ordered = [log(5, 0), log(7, 0), log(7, 1), log(7, 2), log(9, 0)];
  const [a, b, c, d, e] = ordered;
  it.each([
    { of: "logs from the newest to the oldest", logs: ordered.toReversed(), want: ordered },
    { of: "blocks in disorder", logs: [e, a, b, c, d], want: ordered },
    { of: "logs of a block in disorder", logs: [a, d, c, b, e], want: ordered },
    {
      of: "transactions in disorder",
      logs: [log(7, 2), log(7, 3, { transactionIndex: "0x0" })],
      want: [log(7, 3, { transactionIndex: "0x0" }), log(7, 2)],
    },
    {
      of: "several logs with one index, in the node's order",
      logs: [log(7, 0), log(7, 0, { data: "0x03" }), log(7, 0, { data: "0x02" })],
      want: [log(7, 0), log(7, 0, { data: "0x03" }), log(7, 0, { data: "0x02" })],
    },
    {
      of: "indexes that begin anew in each transaction, from the newest to the oldest",
      logs: restarted.toReversed(),
      want: restarted,
    },
  ])("is odd with $of, which are put in order", ({ logs, want }) => {
    const json = Buffer.from(JSON.stringify(logs, undefined, 1));
    expect(whyFalse(json, question)).toBeUndefined();
    expect(areLogsOdd(json)).toBe(true);
    const bytes = want.map((one) => JSON.stringify([one], undefined, 1).slice(2, -2).trim());
    expect(inChainOrder(json).toString()).toBe(`[${bytes.join(",")}]`);
  });

  it("is in order with log indexes that begin anew in each transaction", () => {
    const json = Buffer.from(JSON.stringify(restarted));
    expect(whyFalse(json, question)).toBeUndefined();
    expect(areLogsOdd(json)).toBe(false);
    expect(inChainOrder(json)).toBe(json);
  });

  it("is in order however the logs of a chain are shuffled", () => {
    const chain = Array.from({ length: 3_000 }, (_one, at) => log(5 + (at >> 10), at & 1023));
    fc.assert(
      fc.property(fc.shuffledSubarray(chain, { minLength: 2_000 }), (logs) => {
        const json = Buffer.from(JSON.stringify(logs));
        expect(whyFalse(json, { ...question, most: 5_000 })).toBeUndefined();
        const kept = new Set(logs);
        expect(JSON.parse(inChainOrder(json).toString())).toEqual(
          JSON.parse(JSON.stringify(chain.filter((one) => kept.has(one)))),
        );
      }),
      { numRuns: 5 },
    );
  });

  it("of one block is of that block", () => {
    const asked = { ...question, within: new Set([hashOf(7)]) } as never;
    expect(why([log(7, 0), log(7, 1)], asked)).toBeUndefined();
    expect(why([log(8, 0)], asked)).toBe("a log of another block");
  });

  it("of an epoch may be of several blocks, each with its logs together", () => {
    const inEpoch = (block: number, index: number) => ({
      ...log(block, index, { address: "cfx:some", topics: [] }),
      ...{ blockNumber: undefined, epochNumber: "0x7", removed: undefined },
    });
    const ofEpochs = { matcher: matcherOf({}), within: { from: 7, to: 7 }, isOfEpochs: true };
    const whyOf = (logs: unknown) => whyFalse(Buffer.from(JSON.stringify(logs)), ofEpochs);
    expect(whyOf([inEpoch(9, 0), inEpoch(9, 1), inEpoch(8, 0)])).toBeUndefined();
    expect(whyOf([inEpoch(9, 0), inEpoch(8, 0), inEpoch(9, 1)])).toBeDefined();
    expect(whyOf([log(7, 0)])).toBeDefined();
  });

  it("is not looked at beyond what is answered", () => {
    const many = [log(7, 0), log(7, 1), log(7, 1), log(1, 0)];
    expect(why(many, { ...question, most: 1 })).toBeUndefined();
    expect(why(many, { ...question, most: 2 })).toBeDefined();
  });
});

it("is looked through in steps, none of them long", () => {
  const logs = Buffer.from(JSON.stringify(Array.from({ length: 3_000 }, (_, at) => log(7, at))));
  const work = findLogMistake(logs, { matcher, within: { from: 5, to: 9 } });
  let steps = 0;
  let next = work.next();
  for (; !next.done; next = work.next()) steps += 1;
  expect(next.value).toBeUndefined();
  expect(steps).toBeGreaterThan(logs.length / 40_000);
});
