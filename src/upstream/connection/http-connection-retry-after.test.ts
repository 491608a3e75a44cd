import { createServer } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { listening } from "../../../test/support/fake-node.ts";
import { readRetryAfter } from "./http-answer.ts";
import { HttpConnection } from "./http-connection.ts";

const request = { id: 1, json: '{"jsonrpc":"2.0","id":1,"method":"m","params":[]}' };
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const NOON = { wallTime: () => 784_900_800_000 }; // Tue, 15 Nov 1994 12:00:00 GMT

describe("Retry-After", () => {
  it.each<[string | string[] | undefined, number | undefined]>([
    ["0", 0],
    ["120", 120_000],
    [" 7 ", 7_000],
    [["3", "9"], 3_000],
    ["Tue, 15 Nov 1994 12:00:30 GMT", 30_000],
    ["Tue, 15 Nov 1994 11:00:00 GMT", 0], // in the past
    ["3601", 3_600_000],
    ["99999999999999999999", 3_600_000],
    ["9".repeat(400), 3_600_000],
    ["Thu, 15 Nov 2094 12:00:00 GMT", 3_600_000],
    ["Tue, 99 Nov 1994 12:00:00 GMT", undefined],
    ["Tue, 15 Nov 1994 12:00:30", undefined], // without a time zone
    ["1.5", undefined],
    ["-5", undefined],
    ["1e3", undefined],
    ["soon", undefined],
    ["", undefined],
    [[], undefined],
    [undefined, undefined],
  ])("of %j is %j milliseconds", (header, want) => {
    expect(readRetryAfter(header, NOON)).toBe(want);
  });

  it.each([
    [429, 5_000],
    [503, 5_000],
    [200, undefined],
    [500, undefined],
    [301, undefined],
  ])("of an answer with the status %i is told as %j", async (status, want) => {
    const server = createServer((_, response) =>
      response.writeHead(status, { "Retry-After": "5" }).end("{}"),
    );
    const node = await listening(server);
    const connection = new HttpConnection(
      { url: node.url, headers: {}, connections: 1, timeoutMs: 100, responseBytes: 1_000 },
      { clock: new FakeClock() },
    );
    undo.push(node.close, () => connection.close());
    const exchange = await connection.send(request, new AbortController().signal);
    expect(exchange).toMatchObject({ kind: "answered", status });
    expect(exchange.kind === "answered" && exchange.retryAfterMs).toBe(want);
  });
});
