import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HedgeBudget, hedgeDelayMs } from "./network-calls.ts";

const LIMITS = { share: 0.1, leastMs: 25, mostMs: 2_000 };

it.each([
  { of: "a method of unknown times", p95Ms: undefined, want: 500 },
  { of: "a usual method", p95Ms: 80, want: 80 },
  { of: "a very fast method", p95Ms: 3, want: 25 },
  { of: "a very slow method", p95Ms: 9_000, want: 2_000 },
])("$of is waited for $want ms", ({ p95Ms, want }) => {
  expect(hedgeDelayMs(p95Ms, LIMITS)).toBe(want);
});

it("waits for nobody longer than the most, though nothing is known", () => {
  expect(hedgeDelayMs(undefined, { ...LIMITS, mostMs: 100 })).toBe(100);
});

describe("the budget of second calls", () => {
  const spendAll = (budget: HedgeBudget): number => {
    let count = 0;
    for (; count < 1_000 && budget.spend(); ) count += 1;
    return count;
  };

  it("has fifty at first, and then as many as were earned, fifty at most", () => {
    const budget = new HedgeBudget({ share: 0.25 });
    expect(spendAll(budget)).toBe(50);
    for (let calls = 0; calls < 40; calls += 1) budget.earn();
    expect(spendAll(budget)).toBe(10);
    for (let calls = 0; calls < 10_000; calls += 1) budget.earn();
    expect(spendAll(budget)).toBe(50);
  });

  it("has none where the operator wants none", () => {
    const budget = new HedgeBudget({ share: 0 });
    budget.earn();
    expect(budget.spend()).toBe(false);
  });

  it("never gives more than the share of the calls and what was saved, in any stretch of them", () => {
    const share = fc.double({ min: 0.01, max: 1, noNaN: true });
    fc.assert(
      fc.property(share, fc.array(fc.boolean(), { maxLength: 500, size: "max" }), (part, steps) => {
        const budget = new HedgeBudget({ share: part });
        let earned = 50;
        for (const isCall of steps) {
          if (isCall) {
            budget.earn();
            earned = Math.min(50, earned + part);
          } else if (budget.spend()) earned -= 1;
          expect(earned).toBeGreaterThan(-1e-9);
        }
      }),
    );
  });
});
