import fc from "fast-check";
import { expect, it } from "vitest";
import { findFork } from "./find-fork.ts";

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
