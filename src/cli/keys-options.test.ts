// The requests that the options of `headgate keys` make.
import { describe, expect, it } from "vitest";
import { readDuration, requestOf } from "./keys-options.ts";

const NOON = Date.UTC(2026, 10, 21, 12);

describe("the options of a key", () => {
  it.each([
    { values: { networks: "main, test" }, want: { networks: ["main", "test"] } },
    { values: { "read-only": true }, want: { readOnly: true } },
    { values: { "read-only": false }, want: { readOnly: false } },
    { values: { rate: "1.5", burst: "3" }, want: { rate: { computeUnits: 1.5, burst: 3 } } },
    { values: { burst: "3", rate: "none" }, want: { rate: null } },
    { values: { rate: "none", burst: "3" }, want: { rate: null } },
    {
      values: { "per-day": "5", "per-month": "none" },
      want: { computeUnits: { perDay: 5, perMonth: null } },
    },
    {
      values: { batch: "7", "log-blocks": "50" },
      want: { limits: { batch: 7, logs: { blocks: 50 } } },
    },
    { values: { expires: "90d" }, want: { expires: "2027-02-19T12:00:00.000Z" } },
    { values: { expires: "2027-01-31T00:00:00Z" }, want: { expires: "2027-01-31T00:00:00Z" } },
    { values: { expires: "none" }, want: { expires: null } },
    { values: { json: true, config: "x.yaml" }, want: {} },
  ])("$values ask for $want", ({ values, want }) => {
    expect(requestOf(values, NOON)).toEqual(want);
  });

  it.each(["", "-1", "fast", "1e3", "0x10", "1."])("take no number such as %j", (rate) => {
    expect(() => requestOf({ rate }, NOON)).toThrow(`--rate: expected a number, got ${rate}`);
  });
});

describe("a duration", () => {
  it.each([
    ["0", 0],
    ["30s", 30_000],
    ["5m", 300_000],
    ["24h", 86_400_000],
    ["90d", 7_776_000_000],
    ["5", undefined],
    ["-5m", undefined],
    ["5 m", undefined],
    ["1234567s", undefined],
    ["5w", undefined],
  ])("%j is %j ms", (text, ms) => {
    expect(readDuration(text)).toBe(ms);
  });
});
