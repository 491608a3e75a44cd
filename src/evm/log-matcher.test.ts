import { expect, it } from "vitest";
import { matcherOf } from "./log-matcher.ts";
import { ADDRESS, hashTerm, placeOfTopic } from "./log-terms.ts";

const A = `0x${"aB".repeat(20)}`;
const T = `0x${"cD".repeat(32)}`;

const shapeOf = (filter: Parameters<typeof matcherOf>[0]) => {
  const { conditions, leastTopics } = matcherOf(filter);
  return [conditions.map(({ place, values }) => [place, ...values]), leastTopics];
};

it.each([
  { filter: {}, want: [[], 0] },
  { filter: { address: [], topics: [] }, want: [[], 0] },
  { filter: { address: null, topics: null }, want: [[], 0] },
  { filter: { address: A }, want: [[[0, A.toLowerCase()]], 0] },
  { filter: { address: [A, A.toLowerCase()] }, want: [[[0, A.toLowerCase()]], 0] },
  { filter: { topics: [null, T] }, want: [[[2, T.toLowerCase()]], 2] },
  { filter: { topics: [[T, null]] }, want: [[], 1] }, // as geth: a null takes anything
  { filter: { topics: [[], null, null] }, want: [[], 3] }, // but three topics there must be
])("$filter wants $want", ({ filter, want }) => {
  expect(shapeOf(filter)).toEqual(want);
});

it("has terms that do not depend on the case of digits, but on the place", () => {
  expect(hashTerm(T, placeOfTopic(0))).toBe(hashTerm(T.toLowerCase(), placeOfTopic(0)));
  const places = [ADDRESS, ...[0, 1, 2, 3].map(placeOfTopic)];
  expect(new Set(places.map((place) => hashTerm(T, place))).size).toBe(5);
});

it("spreads values that differ in one digit over all 32 bits", () => {
  const terms = Array.from({ length: 20_000 }, (_, index) =>
    hashTerm(`0x${index.toString(16).padStart(64, "0")}`, placeOfTopic(1)),
  );
  expect(new Set(terms).size).toBeGreaterThan(19_990);
  expect(new Set(terms.map((term) => term >>> 24)).size).toBe(256);
});
