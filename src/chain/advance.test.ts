import fc from "fast-check";
import { expect, it } from "vitest";
import { findFork, planUpdate, wordOn } from "./advance.ts";

const chains = fc.record({
  lowest: fc.nat(50),
  shared: fc.integer({ min: 0, max: 3_000 }),
  apart: fc.integer({ min: 0, max: 3_000 }),
});

it("finds the newest block that both have, with few questions", async () => {
  await fc.assert(
    fc.asyncProperty(chains, async ({ lowest, shared, apart }) => {
      const fork = lowest + shared;
      const highest = fork + apart;
      let questions = 0;
      const found = await findFork(
        { lowest, highest },
        {
          ours: (number) => `ours ${Math.min(number, fork)} ${number}`,
          theirs: async (number) => {
            questions += 1;
            return number <= fork ? `ours ${number} ${number}` : `theirs ${number}`;
          },
        },
      );
      expect(found).toEqual({ number: fork, hash: `ours ${fork} ${fork}` });
      expect(questions).toBeLessThanOrEqual(2 * Math.log2(apart + 2) + 4);
    }),
  );
});

const theirs = (hash: string | undefined) => ({ ours: () => "ours", theirs: async () => hash });

it.each([
  { told: "theirs", range: { lowest: 3, highest: 9 }, want: "none" },
  { told: undefined, range: { lowest: 3, highest: 9 }, want: "unclear" },
  { told: "ours", range: { lowest: 5, highest: 4 }, want: "none" },
  { told: "ours", range: { lowest: 4, highest: 4 }, want: { number: 4, hash: "ours" } },
])("when the other chain tells $told, over $range, it is $want", async ({ told, range, want }) => {
  expect(await findFork(range, theirs(told))).toEqual(want);
});

const block = (number: number, hash: string, parentHash: string) => ({ number, hash, parentHash });
const head = { number: 10, hash: "x" };

it.each([
  { why: "the next block", branch: [block(11, "y", "x")], onto: head, want: { removed: 0 } },
  {
    why: "several next blocks",
    branch: [block(11, "y", "x"), block(12, "z", "y")],
    onto: head,
    want: { removed: 0 },
  },
  {
    why: "another branch",
    branch: [block(9, "b", "a"), block(10, "c", "b")],
    onto: { number: 8, hash: "a" },
    want: { removed: 2 },
  },
  { why: "falling back", branch: [], onto: { number: 7, hash: "a" }, want: { removed: 3 } },
  {
    why: "a branch that stands elsewhere",
    branch: [block(11, "y", "w")],
    onto: head,
    want: undefined,
  },
  { why: "a gap", branch: [block(12, "y", "w")], onto: head, want: undefined },
  {
    why: "a height without a block",
    branch: [block(12, "y", "x")],
    onto: head,
    want: { removed: 0 },
  },
  { why: "the same number twice", branch: [block(10, "y", "x")], onto: head, want: undefined },
  {
    why: "a branch that is not linked",
    branch: [block(11, "y", "x"), block(12, "z", "w")],
    onto: head,
    want: undefined,
  },
  {
    why: "a block above the head",
    branch: [block(12, "y", "q")],
    onto: { number: 11, hash: "q" },
    want: undefined,
  },
])("$why: $want", ({ branch, onto, want }) => {
  expect(planUpdate(head, branch, onto)).toEqual(want);
});

const NOW = 1_700_000_000;

it.each([
  { why: "a node at the height", claim: [100, NOW], its: [100, NOW], want: "denies" },
  { why: "a node above it", claim: [100, NOW], its: [180, NOW], want: "denies" },
  { why: "a node one block behind", claim: [100, NOW], its: [99, NOW - 12], want: "knows nothing" },
  {
    why: "one behind in the same second",
    claim: [100, NOW],
    its: [99, NOW],
    want: "knows nothing",
  },
  {
    why: "a node that fetches the chain",
    claim: [20_000_019, NOW],
    its: [0, 0],
    want: "knows nothing",
  },
  { why: "a node that tells no time", claim: [20_000_019, NOW], its: [0], want: "knows nothing" },
  {
    why: "a new head far below",
    claim: [99_000_000, NOW],
    its: [20_000_000, NOW - 6],
    want: "denies",
  },
  { why: "a claim from the future", claim: [101, NOW + 3_600], its: [99, NOW], want: "denies" },
])("$why: $want", ({ claim: [number = 0, timestamp = 0], its: [at = 0, time], want }) => {
  const position = { number: at, hash: "x", timestamp: time };
  expect(wordOn({ number, timestamp, wallSeconds: NOW }, position)).toBe(want);
});
