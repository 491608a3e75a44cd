import { describe, expect, it } from "vitest";
import type { RpcError } from "../jsonrpc/rpc-error.ts";
import { ProofCallBudget } from "./proven-logs.ts";

const proposed = (work: () => void): { from: string; to: string } | undefined => {
  try {
    work();
    return undefined;
  } catch (error) {
    return (error as RpcError).data as { from: string; to: string };
  }
};
const budgetFor = (from: number, to: number): ProofCallBudget =>
  new ProofCallBudget({ range: { from, to }, most: 200, limit: 200 });

describe("what proving logs takes", () => {
  it("is a question for each header, and more for each block that may have logs", () => {
    const budget = budgetFor(1, 100);
    budget.plan(102);
    for (let seen = 0; seen < 100; seen += 1) budget.add(seen < 49 ? 2 : 0);
    expect(proposed(() => budget.add(2))).toMatchObject({ limit: 200 });
  });

  it("is known to be too much before a header is asked for: then a range is proposed that does in any case", () => {
    const range = proposed(() => budgetFor(1001, 2000).plan(1000));
    expect(range).toMatchObject({ from: "0x3e9", to: "0x41a" }); // 50 blocks, three calls to nodes each
  });

  it("is estimated from what was seen", () => {
    const budget = budgetFor(1, 150);
    budget.plan(150);
    const range = proposed(() => {
      for (let seen = 0; seen < 150; seen += 1) budget.add(seen % 2 === 0 ? 2 : 0);
    });
    expect(Number(range?.to)).toBeGreaterThan(70);
    expect(Number(range?.to)).toBeLessThan(80);
  });

  it("proposes less each time, and one block at least", () => {
    expect(
      proposed(() => {
        throw budgetFor(1, 10).usedUp();
      }),
    ).toMatchObject({ to: "0x4" });
    expect(proposed(() => budgetFor(7, 7).plan(201))).toMatchObject({ from: "0x7", to: "0x7" });
  });
});
