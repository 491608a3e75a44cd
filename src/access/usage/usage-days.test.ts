import { describe, expect, it } from "vitest";
import { daysIn, readRange } from "./usage-days.ts";

const options = { wallTimeMs: Date.UTC(2026, 10, 21, 23, 59, 59, 999), mostDays: 92 };

describe("a range of days", () => {
  it.each([
    [{}, "2026-11-01", "2026-11-21"],
    [{ to: "2026-02-28" }, "2026-02-01", "2026-02-28"],
    [{ from: "2026-10-30" }, "2026-10-30", "2026-11-21"],
    [{ from: "2024-02-29", to: "2024-02-29" }, "2024-02-29", "2024-02-29"],
    [{ from: "2026-09-01", to: "2026-12-01" }, "2026-09-01", "2026-12-01"],
  ])("%j is %s to %s", (wanted, from, to) => {
    expect(readRange(wanted, options)).toEqual({ kind: "days", from, to });
  });

  it.each([
    [{ from: "yesterday" }, "from", "want a UTC day such as 2026-11-21"],
    [{ to: "2026-02-30" }, "to", "want a UTC day such as 2026-11-21"],
    [{ to: "2026-2-3" }, "to", "want a UTC day such as 2026-11-21"],
    [{ from: "" }, "from", "want a UTC day such as 2026-11-21"],
    [{ from: "2026-11-22" }, "from", "2026-11-22 is after 2026-11-21, the last day asked for"],
    [
      { from: "2026-08-31", to: "2026-12-01" },
      "from",
      "2026-08-31 to 2026-12-01 are 93 days, want at most 92",
    ],
  ])("%j is a mistake in %s: %s", (wanted, field, why) => {
    expect(readRange(wanted, options)).toEqual({ kind: "mistake", field, why });
  });

  it("has its days in order, over the ends of months and years", () => {
    expect(daysIn({ from: "2026-12-30", to: "2027-01-02" })).toEqual([
      "2026-12-30",
      "2026-12-31",
      "2027-01-01",
      "2027-01-02",
    ]);
  });
});
