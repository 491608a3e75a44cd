import { describe, expect, it } from "vitest";
import { readReply } from "../reply.ts";
import { statedPauseMs } from "./busy-nodes.ts";

describe("a busy node", () => {
  const ID = 18;
  const error = (rest: object): string => JSON.stringify({ id: ID, error: rest });
  const daily = { code: -32005, message: "daily request count exceeded, request rate limited" };
  const backoff = { rate: { backoff_seconds: 30 } };

  it.each([
    ["by its header", 2_000, 429, "Too Many Requests", 2_000],
    ["by its header before its words", 2_000, 200, error({ ...daily, data: backoff }), 2_000],
    ["by its words", undefined, 200, error({ ...daily, data: backoff }), 30_000],
    ["not at all, of a day's quota", undefined, 429, error(daily), 300_000],
    ["not at all", undefined, 429, "", undefined],
    ["not at all, with a result", undefined, 429, '{"id":18,"result":"0x1"}', undefined],
    [
      "not at all, with a refusal",
      undefined,
      429,
      error({ code: -32602, message: "no" }),
      undefined,
    ],
  ])("tells how long to wait %s", (_how, headerMs, status, body, retryAfterMs) => {
    const exchange = { status, body: Buffer.from(body), retryAfterMs: headerMs };
    const reply = readReply({ kind: "answered", ...exchange }, ID);
    expect(reply).toMatchObject({ kind: "busy", retryAfterMs });
  });

  it.each([
    ["by its status", 429, "node", { retryAfterMs: 300_000 }],
    ["by its status", 402, "anyone", { retryAfterMs: 300_000 }],
    ["in words to a caller", 200, "node", { byWords: "to a caller" }],
    ["in words to a caller", 500, "node", { byWords: "to a caller" }],
    ["in words to a caller", 403, "anyone", { byWords: "to a caller" }],
    [
      "in words to the gateway",
      200,
      "node to gateway",
      { retryAfterMs: 300_000, byWords: "to the gateway" },
    ],
  ] as const)("says it %s, with status %s to %s", (_how, status, voice, want) => {
    const exchange = { status, body: Buffer.from(error(daily)) };
    const reply = readReply({ kind: "answered", ...exchange }, ID, { voice });
    expect(reply).toEqual({ kind: "busy", retryAfterMs: undefined, ...want });
  });
});

it.each([
  ["request rate limited", { rate: { allowed_rps: 10, backoff_seconds: 30 } }, 30_000],
  ["rate limit exceeded", { limit: 100, retryAfter: 2 }, 2_000],
  ["Too many requests, reason: call rate limit exhausted, retry in 10s", undefined, 10_000],
  ["Too many requests, reason: call rate limit exhausted, retry in 10m0s", undefined, 600_000],
  ["retry in 2m", null, 120_000],
  ["retry in 0.5s", undefined, 500],
  ["slow down, retry in 500ms", undefined, 500], // milliseconds, not 500 minutes
  ["retry in 1m1.5s", undefined, 61_500],
  ["please retry in a moment", { see: "https://example.org" }, undefined],
  ["Too many requests", "0x", undefined],
  ["rate limited", { rate: { backoff_seconds: 1e300 } }, 3_600_000],
  ["rate limited", { rate: { backoff_seconds: -5 } }, undefined],
  ["rate limited", { rate: { backoff_seconds: "30" } }, undefined],
  ["rate limited", { rate: 7, retryAfter: null }, undefined],
])("%s with %o is a pause of %s ms", (text, data, want) => {
  expect(statedPauseMs(text, data)).toBe(want);
});
