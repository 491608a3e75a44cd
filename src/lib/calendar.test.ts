import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { daysIn, isLongOver, periodAt, readRange } from "./calendar.ts";

const at = (text: string): number => Date.parse(text);

describe("a month of the calendar", () => {
  it.each([
    ["1970-01-01T00:00:00.000Z", "1970-01"],
    ["2024-02-29T23:59:59.999Z", "2024-02"],
    ["2025-12-31T23:59:59.999Z", "2025-12"],
    ["2026-01-01T00:00:00.000Z", "2026-01"],
    ["2100-02-28T23:59:59.999Z", "2100-02"], // 2100 is no leap year
    ["2100-03-01T00:00:00.000Z", "2100-03"],
  ])("has %s, which is in %s", (time, want) => {
    expect(periodAt("month", at(time)).label).toBe(want);
  });

  it("begins and ends where the calendar says, at any time", () => {
    const anyTime = fc.date({ min: new Date(0), max: new Date("2999-12-31"), noInvalidDate: true });
    fc.assert(
      fc.property(anyTime, (time) => {
        const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()];
        expect(periodAt("month", time.getTime())).toEqual({
          label: time.toISOString().slice(0, 7),
          beginsAtMs: Date.UTC(year, month),
          endsAtMs: Date.UTC(year, month + 1),
        });
      }),
    );
  });
});

describe("the days and months of quotas", () => {
  it.each([
    ["day", "2026-11-21T00:00:00.000Z", "2026-11-21", "2026-11-21", "2026-11-22"],
    ["day", "2026-11-21T23:59:59.999Z", "2026-11-21", "2026-11-21", "2026-11-22"],
    ["day", "2028-02-28T12:00:00Z", "2028-02-28", "2028-02-28", "2028-02-29"],
    ["month", "2026-11-01T00:00:00Z", "2026-11", "2026-11-01", "2026-12-01"],
    ["month", "2026-12-31T23:59:59.999Z", "2026-12", "2026-12-01", "2027-01-01"],
    ["month", "2028-02-10T00:00:00Z", "2028-02", "2028-02-01", "2028-03-01"],
  ] as const)("the %s of %s is %s, from %s until %s", (kind, time, label, from, until) => {
    expect(periodAt(kind, at(time))).toEqual({
      label,
      beginsAtMs: at(`${from}T00:00:00Z`),
      endsAtMs: at(`${until}T00:00:00Z`),
    });
  });

  it.each([
    ["2026-11-21", false],
    ["2026-11-19", false],
    ["2026-11-18", true],
    ["2026-11", false],
    ["2026-10", false],
    ["2026-09", true],
  ])("on 2026-11-21, %s is long over: %s", (label, want) => {
    expect(isLongOver(label, at("2026-11-21T12:00:00Z"))).toBe(want);
  });
});

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
