import { describe, expect, it } from "vitest";
import { isLastUsable, reachTexts, troublesOf } from "./node-troubles.ts";
import type { LiveNode } from "./overview-figures.ts";

const node: LiveNode = {
  ...{ upstream: "a", isUsable: true, isDrained: false, isElsewhere: false },
  ...{ head: 7, lagBlocks: 0, lagSeconds: 0, inFlight: 0, lackedMethods: 0 },
  ...{ callsPerSecond: 0, failedPerSecond: 0, groups: [], budget: { pausedForMs: 0 } },
  caught: { lies: 0, proofFailures: 0, dissents: 0 },
};

describe("what is the matter with a node", () => {
  it("is nothing while it does well", () => {
    expect(troublesOf(node)).toEqual([]);
  });

  it("is told, the worst first", () => {
    const group = { errorRate: 1 };
    const ill: LiveNode = {
      ...node,
      ...{ isUsable: false, isDrained: true, isElsewhere: true },
      groups: [
        { ...group, group: "chain", breaker: "open" },
        { ...group, group: "logs", breaker: "half-open" },
      ],
      failedPerSecond: 3,
      budget: { pausedForMs: 2_000 },
      caught: { lies: 1, proofFailures: 2, dissents: 3 },
    };
    expect(troublesOf(ill).map(({ text }) => text)).toEqual([
      "Unusable",
      "On another branch",
      "Given up for chain",
      "Tried again for logs",
      "Failing 3/s",
      "Paused for 2 s",
      "1 false answer",
      "2 failed proofs",
      "3 disagreements",
      "Drained",
    ]);
  });
});

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
