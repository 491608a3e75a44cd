import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { Allowance } from "./allowances.ts";

const start = (size: number, perSecond: number) => {
  const options = { name: "k", isAlone: true, kind: "rate", bounds: { size, perSecond } } as const;
  const state = { take: () => Promise.reject(new Error("nobody asks the state")) };
  const bucket = new Allowance(options, { clock: new FakeClock(), members: () => 1, state });
  const take = (units: number, nowMs: number): boolean => {
    const isEnough = !bucket.lacks(units, nowMs);
    if (isEnough) bucket.take(units, nowMs);
    return isEnough;
  };
  return { bucket, take };
};

describe("a rate", () => {
  it("refuses what is over the burst and says when to come back", () => {
    const { bucket, take } = start(20, 10);
    expect(take(20, 0)).toBe(true);
    expect(take(15, 0)).toBe(false);
    expect(bucket.shortage(15, 0)).toEqual({
      limit: 10,
      remaining: 0,
      retryAfter: 2,
      rule: "rate",
    });
    expect(take(15, 1500)).toBe(true);
  });

  it("lets a call that is dearer than the burst take all of a full bucket", () => {
    const { take } = start(20, 10);
    expect(take(50, 0)).toBe(true);
    expect(take(50, 1900)).toBe(false);
    expect(take(50, 2000)).toBe(true);
  });

  it("goes on from where it was when it is changed", () => {
    const { bucket, take } = start(100, 10);
    bucket.resize({ size: 20, perSecond: 5 });
    expect(take(21, 0)).toBe(true);
    expect(take(1, 199)).toBe(false);
    expect(take(1, 200)).toBe(true);
  });

  it("never gives more than burst + rate × time, and all of that to those who ask often", () => {
    const steps = fc.array(
      fc.record({ waitMs: fc.nat(500), cost: fc.integer({ min: 1, max: 30 }) }),
    );
    fc.assert(
      fc.property(steps, (asked) => {
        const { take } = start(40, 50);
        let now = 0;
        let taken = 0;
        for (const { waitMs, cost } of asked) {
          now += waitMs;
          if (take(cost, now)) taken += cost;
        }
        expect(taken).toBeLessThanOrEqual(40 + (now / 1000) * 50 + 1e-6);
        const fromMs = now;
        let more = 0;
        for (; now < 100_000; now += 20) if (take(1, now)) more += 1;
        expect(more).toBeGreaterThanOrEqual(((100_000 - fromMs) / 1000) * 50 - 1);
      }),
      { numRuns: 30 },
    );
  });
});
