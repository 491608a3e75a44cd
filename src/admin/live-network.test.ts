import { describe, expect, it } from "vitest";
import { troublesOf } from "./live-network.ts";

const node: Parameters<typeof troublesOf>[0] = {
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
    const ill: typeof node = {
      ...node,
      ...{ isUsable: false, isDrained: true, isElsewhere: true },
      drained: { who: "ci", at: "2026-11-23T03:00:00.000Z" },
      groups: [
        { ...group, group: "chain", breaker: "open" },
        { ...group, group: "logs", breaker: "half-open" },
      ],
      failedPerSecond: 3,
      budget: { pausedForMs: 2_000 },
      caught: { lies: 1, proofFailures: 2, dissents: 3 },
    };
    expect(troublesOf(ill).map(({ text }) => text)).toEqual([
      "unusable",
      "on another branch",
      "circuit breaker open for chain",
      "circuit breaker half-open for logs",
      "failing 3.0/s",
      "paused for 2 s",
      "1 false answer",
      "2 failed proofs",
      "3 disagreements",
      "drained by ci",
    ]);
  });
});
