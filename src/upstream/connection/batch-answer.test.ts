import { describe, expect, it } from "vitest";
import { readReply } from "../reply.ts";
import { readBatchAnswer } from "./batch-answer.ts";
import type { Exchange } from "./connection.ts";

const answered = (text: string, status = 200): Exchange => ({
  kind: "answered",
  status,
  body: Buffer.from(text),
});

/** The replies to the calls 1 and 2, in a word each; or the outcome of the batch. */
function told(exchange: Exchange): string {
  const outcome = readBatchAnswer(exchange);
  if (outcome.kind === "refused" || outcome.kind === "too large") return outcome.kind;
  const each = [1, 2].map((id) => {
    const own = outcome.kind === "all" ? outcome.exchange : outcome.exchanges.get(id);
    const reply = own && readReply(own, id);
    if (reply?.kind === "result") return String(reply.json);
    return reply?.kind === "failed" ? reply.reason : (reply?.kind ?? "none");
  });
  return each.join(", ");
}

const error = (code: number, message: string, id: unknown = null): string =>
  JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } });
const result = (id: unknown, value: unknown): string =>
  JSON.stringify({ jsonrpc: "2.0", id, result: value });

const DRPC = "Batch of more than 3 requests are not allowed on free plan";

describe("an array", () => {
  it.each([
    [[result(1, 10), result(2, 20)], "10, 20"],
    [[result(2, 20), result(1, 10)], "10, 20"],
    [[result(1, 10), result(1, 11), result(2, 20)], "10, 20"],
    [[result(7, 70), result("1", 0), result(null, 0), "1", "[]", result(2, 20)], "none, 20"],
    [[result(1, 10), error(3, "execution reverted: batch", 2)], "10, refused"],
    [
      [error(3, "execution reverted: batch", 1), error(3, "execution reverted: batch", 2)],
      "refused, refused",
    ],
    [[error(-32601, "no such method", 1), result(2, 20)], "missing, 20"],
    [[error(-32005, "rate limit", 1), result(2, 20)], "busy, 20"],
    [[result(1, 10), error(-32003, "response too large", 2)], "10, none"],
    [[result(1, "response too large"), result(2, "batch")], '"response too large", "batch"'],
    [[result(1, 10)], "10, none"],
    [[], "none, none"],
  ])("%j gives %s", (parts, want) => {
    expect(told(answered(`[${parts.join(",")}]`))).toBe(want);
  });

  it("keeps the status and what the node asks for", () => {
    const body = Buffer.from(`[${result(1, 1)},${result(2, 2)}]`);
    const whole: Exchange = { kind: "answered", status: 429, body, retryAfterMs: 5 };
    expect(told(whole)).toBe("busy, busy");
    const outcome = readBatchAnswer(whole);
    const first = outcome.kind === "each" && outcome.exchanges.get(1);
    expect(first).toMatchObject({ status: 429, retryAfterMs: 5 });
  });
});

describe("the refusal of a batch", () => {
  it.each([
    ["geth", `[${error(-32600, "batch too large", 1)}]`],
    ["reth", error(-32010, "The batch request was too large")],
    ["reth without batches", error(-32005, "Batched requests are not supported by this server")],
    ["Besu", error(-32005, "Number of requests exceeds max batch size")],
    ["Erigon", error(-32000, "batch limit 100 exceeded: 200 requests given")],
    ["no batches at all", error(-32600, "Invalid Request")],
    ["a method that is not there", error(-32601, "Method not found", 1)],
    [
      "one error each",
      `[${error(-32600, "batch too large", 1)},${error(-32600, "batch too large", 2)}]`,
    ],
  ])("is told by the words of %s", (_, text) => {
    expect(told(answered(text))).toBe("refused");
    expect(told(answered(text, 400))).toBe("refused");
  });

  it.each([
    [413, "<html>"],
    [400, ""],
    [405, "Method Not Allowed"],
    [403, '{"message":"Batch requests are not part of your plan"}'],
    [500, error(-32600, "Invalid Request")],
    [500, error(31, DRPC)],
    [500, `[${error(31, DRPC, 1)},${error(31, DRPC, 2)}]`],
  ])("is told by the status %i and %j", (status, text) => {
    expect(told(answered(text, status))).toBe("refused");
  });
});

describe("one answer for all", () => {
  it.each([
    [200, error(-32005, "rate limit exceeded"), "busy, busy"],
    [200, error(-32005, "rate limit exceeded for batch", 1), "busy, busy"],
    [429, error(-32600, "batch too large"), "busy, busy"],
    [429, "slow down", "busy, busy"],
    [503, "", "HTTP 503, HTTP 503"],
    [500, "<html>", "HTTP 500, HTTP 500"],
    [401, "unauthorized", "HTTP 401, HTTP 401"],
    [404, "no such page", "HTTP 404, HTTP 404"],
    [502, `<html>${"x".repeat(1_000)} a batch of cookies`, "HTTP 502, HTTP 502"],
    [
      200,
      error(-32000, "Unauthorized", 2),
      "the node refuses our account, the node refuses our account",
    ],
    [200, "", "malformed answer, malformed answer"],
    [200, "null", "malformed answer, malformed answer"],
    [200, "[1", "malformed answer, malformed answer"],
    [200, `[${result(1, 1)},`, "malformed answer, malformed answer"],
    [200, result(2, 20), "none, 20"], // the node answers only one of the calls
  ])("with the status %i: %j", (status, text, want) => {
    expect(told(answered(text, status))).toBe(want);
  });

  it.each<[Exchange, string]>([
    [{ kind: "timeout" }, "timeout, timeout"],
    [{ kind: "unreachable", reason: "ECONNRESET" }, "ECONNRESET, ECONNRESET"],
    [{ kind: "too large" }, "too large"],
    [answered(error(-32011, "The batch response was too large")), "too large"],
    [answered(`[${error(-32003, "response too large", 1)}]`), "too large"],
  ])("of no answer: %j", (exchange, want) => {
    expect(told(exchange)).toBe(want);
  });
});
