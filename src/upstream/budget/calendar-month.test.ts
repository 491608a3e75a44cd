import fc from "fast-check";
import { expect, it } from "vitest";
import { monthAt } from "./calendar-month.ts";

it.each([
  ["1970-01-01T00:00:00.000Z", "1970-01"],
  ["2024-02-29T23:59:59.999Z", "2024-02"],
  ["2025-12-31T23:59:59.999Z", "2025-12"],
  ["2026-01-01T00:00:00.000Z", "2026-01"],
  ["2100-02-28T23:59:59.999Z", "2100-02"], // no leap year
  ["2100-03-01T00:00:00.000Z", "2100-03"],
])("%s is in %s", (time, want) => {
  expect(monthAt(Date.parse(time)).label).toBe(want);
});

it("begins and ends where the calendar says, at any time", () => {
  const anyTime = fc.date({ min: new Date(0), max: new Date("2999-12-31"), noInvalidDate: true });
  fc.assert(
    fc.property(anyTime, (time) => {
      const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()];
      expect(monthAt(time.getTime())).toEqual({
        label: time.toISOString().slice(0, 7),
        beginsAtMs: Date.UTC(year, month),
        endsAtMs: Date.UTC(year, month + 1),
      });
    }),
  );
});
