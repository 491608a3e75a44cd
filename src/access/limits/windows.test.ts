import { describe, expect, it } from "vitest";
import { isLongOver, windowAt } from "./windows.ts";

const at = (text: string): number => Date.parse(text);

describe("the days and months of quotas", () => {
  it.each([
    ["day", "2026-11-21T00:00:00.000Z", "2026-11-21", "2026-11-22T00:00:00Z"],
    ["day", "2026-11-21T23:59:59.999Z", "2026-11-21", "2026-11-22T00:00:00Z"],
    ["day", "2028-02-28T12:00:00Z", "2028-02-28", "2028-02-29T00:00:00Z"],
    ["month", "2026-11-01T00:00:00Z", "2026-11", "2026-12-01T00:00:00Z"],
    ["month", "2026-12-31T23:59:59.999Z", "2026-12", "2027-01-01T00:00:00Z"],
    ["month", "2028-02-10T00:00:00Z", "2028-02", "2028-03-01T00:00:00Z"],
  ] as const)("the %s of %s is %s and ends at %s", (kind, time, label, end) => {
    expect(windowAt(kind, at(time))).toEqual({ label, endsAtMs: at(end) });
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
