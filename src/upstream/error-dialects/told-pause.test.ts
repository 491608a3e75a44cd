import { expect, it } from "vitest";
import { toldPauseMs } from "./told-pause.ts";

it.each([
  ["request rate limited", { rate: { allowed_rps: 10, backoff_seconds: 30 } }, 30_000],
  ["rate limit exceeded", { limit: 100, retryAfter: 2 }, 2_000],
  ["Too many requests, reason: call rate limit exhausted, retry in 10s", undefined, 10_000],
  ["Too many requests, reason: call rate limit exhausted, retry in 10m0s", undefined, 600_000],
  ["retry in 2m", null, 120_000],
  ["retry in 0.5s", undefined, 500],
  ["slow down, retry in 500ms", undefined, 500], // not so many minutes
  ["retry in 1m1.5s", undefined, 61_500],
  ["please retry in a moment", { see: "https://example.org" }, undefined],
  ["Too many requests", "0x", undefined],
  ["rate limited", { rate: { backoff_seconds: 1e300 } }, 3_600_000],
  ["rate limited", { rate: { backoff_seconds: -5 } }, undefined],
  ["rate limited", { rate: { backoff_seconds: "30" } }, undefined],
  ["rate limited", { rate: 7, retryAfter: null }, undefined],
])("%s with %o is a pause of %s ms", (text, data, want) => {
  expect(toldPauseMs(text, data)).toBe(want);
});
