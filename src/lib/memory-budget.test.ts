import { describe, expect, it } from "vitest";
import { defaultBudget, MemoryBudget, type MemoryRefusal } from "./memory-budget.ts";

const MB = 2 ** 20;

const budgetOf = (bytes: number) => {
  const refused: MemoryRefusal[] = [];
  return {
    refused,
    budget: new MemoryBudget({ bytes }, { onRefused: (what) => refused.push(what) }),
  };
};

describe("the memory budget", () => {
  it("counts by kind, and in all", () => {
    const { budget } = budgetOf(100);
    budget.hold("arriving", 10);
    budget.hold("unsent", 20);
    budget.release("arriving", 4);
    expect([budget.waiting, budget.waitingAs("arriving"), budget.waitingAs("unsent")]).toEqual([
      26, 6, 20,
    ]);
  });

  it.each([
    // Of a budget of 16 MB, so much may wait for the call to be begun.
    { what: "a hash", computeUnits: 1, isInBatch: false, upTo: 16 },
    { what: "a receipt", computeUnits: 3, isInBatch: false, upTo: 16 },
    { what: "a batch of receipts", computeUnits: 3, isInBatch: true, upTo: 5 },
    { what: "eth_call", computeUnits: 5, isInBatch: false, upTo: 8 },
    { what: "logs", computeUnits: 10, isInBatch: false, upTo: 3 },
    { what: "a batch of log queries", computeUnits: 10, isInBatch: true, upTo: 1 },
    { what: "a trace", computeUnits: 25, isInBatch: false, upTo: 3 },
  ])("lets $what begin while no more than $upTo of 16 MB wait", (row) => {
    const { budget, refused } = budgetOf(16 * MB);
    budget.hold("unsent", row.upTo * MB);
    const isAdmitted = (): boolean =>
      row.isInBatch
        ? budget.admitsBatch(() => row.computeUnits)
        : budget.admitsCall(row.computeUnits);
    expect(isAdmitted()).toBe(true);
    expect(refused).toEqual([]);
    budget.hold("unsent", 0.5 * MB);
    expect(isAdmitted()).toBe(false);
    expect(refused).toEqual([row.isInBatch ? "batches" : "calls"]);
  });

  it("reads no large answer on above three parts in 32, and no request above all of it", () => {
    const { budget, refused } = budgetOf(16 * MB);
    budget.hold("arriving", 1.5 * MB + 1);
    expect([budget.admitsLargeAnswer(), budget.admitsRequest()]).toEqual([false, true]);
    budget.hold("bodies", 14.5 * MB);
    expect(budget.admitsRequest()).toBe(false);
    expect(refused).toEqual(["answers", "requests"]);
  });

  it.each([
    { total: 24_000, constrained: 0, want: 6_000 },
    { total: 24_000, constrained: 2 ** 64, want: 6_000 }, // as some kernels say: no limit
    { total: 24_000, constrained: 2_000, want: 500 },
    { total: 24 * 2 ** 30, constrained: 0, want: 2 ** 30 },
  ])("is a quarter of what may be used, and at most 1 GiB: $total, $constrained", (memory) => {
    expect(defaultBudget(memory)).toBe(memory.want);
  });
});
