import { describe, expect, it } from "vitest";
import { RefusalBudget } from "./refusal-budget.ts";

describe("a budget of 10 a second", () => {
  it("lets 200 refusals pass at once, then so many a second", () => {
    const budget = new RefusalBudget({ perSecond: 10 });
    for (let count = 0; count < 200; count += 1) budget.charge("a", 1, 0);
    expect(budget.isQuiet).toBe(true);
    budget.charge("a", 1, 0);
    expect(budget.isQuiet).toBe(false);
    expect(budget.refusedForMs("a", 0)).toBe(100);
    expect(budget.refusedForMs("b", 0)).toBe(0);
    expect(budget.refusedForMs("a", 100)).toBe(0);
    expect(budget.isQuiet).toBe(true);
  });

  it("keeps nobody out for longer than 20 seconds, whatever it cost", () => {
    const budget = new RefusalBudget({ perSecond: 10 });
    budget.charge("a", 1e9, 0);
    expect(budget.refusedForMs("a", 0)).toBe(20_000);
  });

  it("is full again after a while", () => {
    const budget = new RefusalBudget({ perSecond: 10 });
    budget.charge("a", 150, 0);
    budget.charge("a", 200, 15_000);
    expect(budget.isQuiet).toBe(true);
    budget.charge("a", 1, 15_000);
    expect(budget.isQuiet).toBe(false);
  });

  it("remembers ten thousand callers, and lets those go who do not come again", () => {
    const budget = new RefusalBudget({ perSecond: 10 });
    for (let caller = 0; caller <= 10_000; caller += 1) budget.charge(`${caller}`, 300, 0);
    expect(budget.refusedForMs("0", 0)).toBe(0);
    expect(budget.refusedForMs("1", 0)).toBe(10_000);
    for (let caller = 0; caller < 10_000; caller += 1) budget.refusedForMs("somebody", 10_001);
    expect(budget.isQuiet).toBe(true);
  });
});

it("without a limit, nobody is refused", () => {
  const budget = new RefusalBudget({ perSecond: 0 });
  budget.charge("a", 1e9, 0);
  expect(budget.isQuiet).toBe(true);
});
