// Readers of answers while these arrive.
import { afterEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import * as fake from "../../../test/support/fake-node.ts";
import type { BodyReader, Connection, Exchange } from "./connection.ts";
import { HttpConnection } from "./http-connection.ts";
import { webSocketConnection } from "./websocket-connection.ts";

const request = { id: 1, json: '{"jsonrpc":"2.0","id":1,"method":"m","params":[]}' };
const never = new AbortController().signal;
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const LIMIT = { headers: {}, connections: 1, timeoutMs: 100, responseBytes: 1_000_000 };
/** A timeout in milliseconds that leaves time for a real handshake on a busy machine. */
const WITH_HANDSHAKE = 5_000;
/** A text longer than an HTTP connection takes as a whole. */
const LONG = "x".repeat(4_000_000);

/** Counts the bytes of a body, and stops after `most`. */
class Counter implements BodyReader {
  bytes = 0;
  readonly #most: number;
  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most;
  }
  add(chunk: Buffer): boolean {
    this.bytes += chunk.length;
    return this.bytes <= this.#most;
  }
  finish(): Buffer | undefined {
    return Buffer.from(`{"read":${this.bytes}}`);
  }
}

async function over(node: Promise<fake.FakeNode>, clock = new FakeClock(), bytes = 1_000_000) {
  const { url, close } = await node;
  const options = { ...LIMIT, url, responseBytes: bytes };
  const connection: Connection = url.startsWith("ws")
    ? webSocketConnection({ ...options, timeoutMs: WITH_HANDSHAKE }, { clock })
    : new HttpConnection(options, { clock });
  undo.push(close, () => connection.close());
  return connection;
}

const http = (text: string) => fake.httpNode((_, response) => response.end(text));
const webSocket = (text: string) =>
  fake.webSocketNode((socket, id) => socket.send(`{"id":${id},"result":"${text}"}`));

const told = (exchange: Exchange): string =>
  exchange.kind === "answered" ? String(exchange.body) : exchange.kind;

describe("a body that is read while it comes", () => {
  it("may be of any length over HTTP", async () => {
    const connection = await over(http(LONG));
    const reader = new Counter();
    expect(told(await connection.send(request, never, reader))).toBe('{"read":4000000}');
    expect(told(await connection.send(request, never))).toBe("too large");
  });

  it("is one message over a WebSocket", async () => {
    const clock = new FakeClock();
    const connection = await over(webSocket(LONG), clock, 5_000_000);
    const sent = connection.send(request, never, new Counter());
    const answer = await Promise.race([sent, turning(clock, sent)]);
    expect(told(answer)).toBe('{"read":4000020}');
  });

  it("ends with a reader that wants no more, and the next call is answered", async () => {
    const connection = await over(http(LONG));
    const reader = new Counter(100_000);
    expect(told(await connection.send(request, never, reader))).toBe("aborted");
    expect(reader.bytes).toBeLessThan(1_000_000);
    expect(told(await connection.send(request, never, new Counter()))).toBe('{"read":4000000}');
  });

  it("is not read when it is no answer: a status other than 200 is told with its text", async () => {
    const node = fake.httpNode((_, response) => response.writeHead(429).end("slow down"));
    const reader = new Counter();
    const exchange = await (await over(node)).send(request, never, reader);
    expect(exchange).toMatchObject({
      kind: "answered",
      status: 429,
      body: Buffer.from("slow down"),
    });
    expect(reader.bytes).toBe(0);
  });

  it.each([http, webSocket])("is no answer when it makes no sense to the reader", async (node) => {
    const reader = { whenStopped: "malformed" as const, add: () => false, finish: () => undefined };
    const exchange = await (await over(node("x"))).send(request, never, reader);
    expect(exchange).toEqual({ kind: "unreachable", reason: "malformed answer" });
  });

  it("is empty when the reader could make nothing of it", async () => {
    const connection = await over(http("{"));
    const reader = { add: () => true, finish: () => undefined };
    expect(told(await connection.send(request, never, reader))).toBe("");
  });

  it("may take its time, but not pause", async () => {
    const clock = new FakeClock();
    let more: (text: string) => unknown = () => undefined;
    const node = fake.httpNode((_, response) => {
      response.write("a");
      more = (text) => response.write(text);
    });
    const connection = await over(node, clock);
    const reader = new Counter();
    const read = (bytes: number) => expect.poll(() => reader.bytes, { interval: 1 }).toBe(bytes);
    const sent = connection.send(request, never, reader);
    await read(1);
    for (const bytes of [2, 3, 4]) {
      await clock.advance(60); // 180 ms in all, longer than the timeout of 100 ms
      more("b");
      await read(bytes);
    }
    await clock.advance(101);
    expect(told(await sent)).toBe("timeout");
  });
});

/** Lets time pass until the answer has come. */
async function turning(clock: FakeClock, sent: Promise<Exchange>): Promise<Exchange> {
  let isDone = false;
  void sent.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    await clock.advance(0);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return sent;
}
