import { describe, expect, it } from "vitest";
import { isLastUsable, reachTexts } from "./node-words.ts";
import type { LiveNode } from "./overview-figures.ts";

const node: LiveNode = {
  ...{ upstream: "a", isUsable: true, isDrained: false, isElsewhere: false },
  ...{ head: 7, lagBlocks: 0, lagSeconds: 0, inFlight: 0, lackedMethods: 0 },
  ...{ callsPerSecond: 0, failedPerSecond: 0, groups: [], budget: { pausedForMs: 0 } },
  ...{ caught: { lies: 0, proofFailures: 0, dissents: 0 }, troubles: [] },
};

describe("the last node that calls can go to", () => {
  it.each([
    { others: [], want: true },
    { others: [{}], want: false },
    { others: [{ isUsable: false }, { isDrained: true }], want: true },
  ])("beside $others: $want", ({ others, want }) => {
    const all = others.map((other, at) => ({ ...node, upstream: `other ${at}`, ...other }));
    expect(isLastUsable(node, [node, ...all])).toBe(want);
  });
});

it("tells how far back a node reaches, as far as that is known", () => {
  expect(reachTexts({})).toEqual([]);
  expect(reachTexts({ reaches: { state: 128, history: "all" } })).toEqual([
    "state: the newest 128 blocks",
    "history: all blocks",
  ]);
});
