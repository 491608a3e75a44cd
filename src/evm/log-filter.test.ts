import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ADDRESS,
  conditionsOf,
  criteriaHash,
  fieldOfTopic,
  hashTerm,
  type LogFilter,
  logFilter,
  matcherOf,
  scopeOf,
} from "./log-filter.ts";

const topic = `0x${"ab".repeat(32)}`;
const address = `0x${"cd".repeat(20)}`;

describe("a log filter", () => {
  it.each([
    {},
    { fromBlock: "0x1", toBlock: "latest" },
    { fromBlock: null, toBlock: null, address: null, topics: null, blockHash: null },
    { address },
    { address: [] },
    { address: Array(1000).fill(address) },
    { topics: [] },
    { topics: [topic, null, [topic, topic], []] },
    { topics: [Array(1000).fill(topic)] },
    { topics: [[null, topic]] },
    { blockHash: topic, somethingNew: 1 },
  ])("may be %j", (filter) => {
    expect(logFilter.safeParse(filter).success).toBe(true);
  });

  it.each([
    "latest",
    [],
    { fromBlock: 1 },
    { fromBlock: "0x01" },
    { address: "0x1" },
    { address: [address, topic] },
    { address: Array(1001).fill(address) },
    { topics: topic },
    { topics: [null, null, null, null, null] },
    { topics: ["0x12"] },
    { topics: [[[topic]]] },
    { topics: [Array(1001).fill(topic)] },
    { blockHash: address },
  ])("may not be %j", (filter) => {
    expect(logFilter.safeParse(filter).success).toBe(false);
  });

  it("has a range, of the latest block when it says nothing, or one block", () => {
    expect(scopeOf({})).toEqual({ kind: "range", from: "latest", to: "latest" });
    expect(scopeOf({ fromBlock: "0x5", toBlock: null })).toMatchObject({ from: "0x5" });
    expect(scopeOf({ blockHash: topic, fromBlock: null })).toMatchObject({ kind: "block" });
    expect(() => scopeOf({ blockHash: topic, toBlock: "latest" })).toThrow(
      "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other",
    );
  });

  it("is passed on without nulls and without what is unknown", () => {
    const optional = fc.option(fc.constant(address));
    fc.assert(
      fc.property(optional, fc.option(fc.array(fc.constant(topic))), (contract, topics) => {
        const conditions = conditionsOf({ address: contract, topics, other: 1 });
        expect(Object.values(conditions)).not.toContain(null);
        expect(Object.keys(conditions)).toHaveLength((contract ? 1 : 0) + (topics ? 1 : 0));
      }),
    );
  });

  it("is judged, whatever JSON it is", () => {
    fc.assert(
      fc.property(
        fc.record(
          { address: fc.jsonValue(), topics: fc.jsonValue(), fromBlock: fc.jsonValue() },
          { requiredKeys: [] },
        ),
        (filter) => {
          const checked = logFilter.safeParse(filter);
          if (!checked.success) expect(checked.error.issues[0]?.message).toBeTruthy();
        },
      ),
    );
  });
});

const A = `0x${"aB".repeat(20)}`;
const T = `0x${"cD".repeat(32)}`;

const shapeOf = (filter: Parameters<typeof matcherOf>[0]) => {
  const { conditions, leastTopics } = matcherOf(filter);
  return [conditions.map(({ field: place, values }) => [place, ...values]), leastTopics];
};

it.each([
  { filter: {}, want: [[], 0] },
  { filter: { address: [], topics: [] }, want: [[], 0] },
  { filter: { address: null, topics: null }, want: [[], 0] },
  { filter: { address: A }, want: [[[0, A.toLowerCase()]], 0] },
  { filter: { address: [A, A.toLowerCase()] }, want: [[[0, A.toLowerCase()]], 0] },
  { filter: { topics: [null, T] }, want: [[[2, T.toLowerCase()]], 2] },
  { filter: { topics: [[T, null]] }, want: [[], 1] }, // as in geth, a null accepts any topic
  { filter: { topics: [[], null, null] }, want: [[], 3] }, // but the log must have three topics
])("$filter wants $want", ({ filter, want }) => {
  expect(shapeOf(filter)).toEqual(want);
});

it("has terms that do not depend on the case of digits, but on the place", () => {
  expect(hashTerm(T, fieldOfTopic(0))).toBe(hashTerm(T.toLowerCase(), fieldOfTopic(0)));
  const places = [ADDRESS, ...[0, 1, 2, 3].map(fieldOfTopic)];
  expect(new Set(places.map((place) => hashTerm(T, place))).size).toBe(5);
});

it("spreads values that differ in one digit over all 32 bits", () => {
  const terms = Array.from({ length: 20_000 }, (_, index) =>
    hashTerm(`0x${index.toString(16).padStart(64, "0")}`, fieldOfTopic(1)),
  );
  expect(new Set(terms).size).toBeGreaterThan(19_990);
  expect(new Set(terms.map((term) => term >>> 24)).size).toBe(256);
});

const a = `0x${"ab".repeat(20)}`;
const b = `0x${"cd".repeat(20)}`;
const t = `0x${"12".repeat(32)}`;
const u = `0x${"ef".repeat(32)}`;
const nameOf = (filter: LogFilter): string => criteriaHash(filter).toString("hex");

describe("filters that search for the same have one name", () => {
  const cases: [LogFilter, LogFilter][] = [
    [{}, { address: [], topics: [] }],
    [{ address: null, topics: null }, { fromBlock: "0x1" }],
    [{ address: a }, { address: [a.toUpperCase().replace("0X", "0x")] }],
    [{ address: [a, b] }, { address: [b, a, b] }],
    [{ topics: [t] }, { topics: [[t]] }],
    [{ topics: [[t, u], null] }, { topics: [[u, t], []] }],
    [{ topics: [null, t] }, { topics: [[t, null], t] }],
  ];
  it.each(cases)("%j and %j", (one, other) => expect(nameOf(one)).toBe(nameOf(other)));
});

describe("others have another", () => {
  const cases: [LogFilter, LogFilter][] = [
    [{}, { topics: [null] }],
    [{ topics: [null] }, { topics: [null, null] }],
    [{ address: a }, { address: b }],
    [{ address: a }, { address: [a, b] }],
    [{ topics: [t, u] }, { topics: [u, t] }],
    [{ topics: [t, u] }, { topics: [[t, u]] }],
    [{ topics: [null, t] }, { topics: [t] }],
  ];
  it.each(cases)("%j and %j", (one, other) => expect(nameOf(one)).not.toBe(nameOf(other)));
});
