import { describe, expect, it } from "vitest";
import { LearnedLimit } from "./learned-limit.ts";

/** Of 70 a second, after a node refused 100 at second 0. */
function learned(configured?: number): LearnedLimit {
  const limit = new LearnedLimit(configured);
  limit.lower(100, 0);
  expect(limit.inForce(0)).toBe(70);
  return limit;
}

describe("a learned limit", () => {
  it.each<{ rule: string; sent: number; afterMs: number; want: number }>([
    { rule: "rises slowly by what is within it", sent: 70, afterMs: 5_000, want: 73.5 },
    { rule: "does not rise by what is far below it", sent: 48, afterMs: 5_000, want: 70 },
    { rule: "rises slowly by a burst that it allows", sent: 105, afterMs: 5_000, want: 73.5 },
    { rule: "rises at once to what the node took beyond it", sent: 106, afterMs: 5_000, want: 106 },
    { rule: "rises to twice as much at most", sent: 900, afterMs: 5_000, want: 140 },
    { rule: "rises slowly right after a refusal", sent: 900, afterMs: 1_999, want: 73.5 },
  ])("$rule", ({ sent, afterMs, want }) => {
    const limit = learned();
    limit.raise(sent, afterMs);
    expect(limit.inForce(afterMs)).toBeCloseTo(want);
  });

  it("rises again and again while the node takes more than it", () => {
    const limit = learned();
    for (const afterMs of [5_000, 5_001, 5_002]) limit.raise(500, afterMs);
    expect(limit.inForce(5_002)).toBe(500);
  });

  it("is none any more where it comes up to the configured one", () => {
    const limit = learned(120);
    expect(limit.isLearned(0)).toBe(false); // of one that is configured it is the lower
    limit.raise(500, 5_000);
    expect(limit.inForce(5_000)).toBe(120);
  });

  it("is learned until it is forgotten", () => {
    const limit = learned();
    expect([limit.isLearned(599_999), limit.isLearned(600_000)]).toEqual([true, false]);
    expect(limit.inForce(600_000)).toBeUndefined();
    expect(new LearnedLimit(undefined).isLearned(0)).toBe(false);
  });
});
