import { describe, expect, it } from "vitest";
import { readReply } from "../reply.ts";

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
    expect(reply).toEqual({ kind: "busy", retryAfterMs });
  });
});
