import { describe, expect, it } from "vitest";
import { type BillSum, barsOf, costText, topOf } from "./bill-figures.ts";

const sum = (computeUnits: number): BillSum => ({ computeUnits, refused: 0 }) as BillSum;

describe("a bill", () => {
  it("has a bar for each day, also where nothing was used", () => {
    const bill = { from: "2026-02-27", to: "2026-03-01", days: { "2026-02-28": sum(5) } };
    expect(barsOf(bill, ({ computeUnits }) => ({ whole: computeUnits }))).toEqual([
      { name: "2026-02-27", whole: 0 },
      { name: "2026-02-28", whole: 5 },
      { name: "2026-03-01", whole: 0 },
    ]);
    expect(barsOf({ ...bill, to: "2026-02-01" }, () => ({ whole: 1 }))).toEqual([]);
  });

  it("tells who used most first, and how many are left out", () => {
    const { rows, leftOut } = topOf({ a: sum(1), b: sum(3), c: sum(2) }, 2);
    expect(rows.map(({ name }) => name)).toEqual(["b", "c"]);
    expect(leftOut).toBe(1);
  });

  it.each([
    [undefined, "EUR", "–"],
    [5, undefined, "–"],
    [0, "EUR", "0.00 EUR"],
    [1234.5, "EUR", "1,234.50 EUR"],
    [0.0000123, "EUR", "0.000012 EUR"],
  ])("writes %j %s as %s", (cost, currency, text) => {
    expect(costText(cost, currency)).toBe(text);
  });
});
