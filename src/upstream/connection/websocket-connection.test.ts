import { createServer } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { FakeClock } from "../fake-clock.ts";
import type { ConnectionOptions, Exchange } from "./connection.ts";
import { listening, type WebSocketAnswer, webSocketNode } from "./fake-node.ts";
import { WebSocketConnection } from "./websocket-connection.ts";

const never = new AbortController().signal;
const call = (id: number) => ({ id, json: `{"jsonrpc":"2.0","id":${id},"method":"m"}` });
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const wsNode = async (answer: WebSocketAnswer) => {
  const node = await webSocketNode(answer);
  undo.push(node.close);
  return node;
};

function connectionTo(url: string, options: Partial<ConnectionOptions> = {}) {
  const clock = new FakeClock();
  const connection = new WebSocketConnection(
    { url, headers: {}, connections: 1, timeoutMs: 1_000, responseBytes: 1_000, ...options },
    { clock },
  );
  undo.push(() => connection.close());
  return { clock, connection };
}

const textOf = (exchange: Exchange): string =>
  exchange.kind === "answered" ? exchange.body.toString() : exchange.kind;

const result = (id: number): string => `{"jsonrpc":"2.0","id":${id},"result":"${id}"}`;
const echo: WebSocketAnswer = (socket, id) => socket.send(result(id));

describe("answers over one WebSocket", () => {
  it("find their calls, in whatever order they come", async () => {
    const { url } = await wsNode((socket, _id, seen) => {
      if (seen.length === 3) for (const one of [3, 1, 2]) socket.send(result(one));
    });
    const { connection, clock } = connectionTo(url);
    const all = await Promise.all([1, 2, 3].map((id) => connection.send(call(id), never)));
    expect(all.map(textOf)).toEqual([1, 2, 3].map(result));
    expect(clock.waiting).toBe(1); // the next ping
  });

  it.each<[string, string | Buffer]>([
    ["with the id at the end", '{"jsonrpc":"2.0","result":{"id":9},"id":1}'],
    ["with spaces", ' { "id" : 1 , "result" : [] }'],
    ["in a binary frame", Buffer.from(result(1))],
  ])("are found %s", async (_, text) => {
    const { url } = await wsNode((socket) => {
      for (const noise of [
        '{"method":"eth_subscription","params":{"id":1}}',
        "1",
        "{",
        '{"\\x":1}',
      ])
        socket.send(noise);
      socket.send(text);
    });
    const { connection } = connectionTo(url);
    expect(textOf(await connection.send(call(1), never))).toBe(String(text));
  });

  it("come for all calls that were made before the socket opened, without a warning", async () => {
    const warnings: Error[] = [];
    const warn = (warning: Error): void => void warnings.push(warning);
    process.on("warning", warn);
    undo.push(() => process.off("warning", warn));
    const { url, opened } = await wsNode(echo);
    const { connection } = connectionTo(url);
    const ids = Array.from({ length: 100 }, (_, index) => index);
    const all = await Promise.all(ids.map((id) => connection.send(call(id), never)));
    expect(all.map(textOf)).toEqual(ids.map(result));
    expect(opened).toHaveLength(1);
    await new Promise(setImmediate);
    expect(warnings).toEqual([]);
  });

  it("that are too large end the socket, and its calls with it", async () => {
    const { url } = await wsNode((socket, id) => socket.send(`${result(id)}${" ".repeat(1_000)}`));
    const { connection } = connectionTo(url);
    expect((await connection.send(call(1), never)).kind).toBe("unreachable");
  });
});

describe("a call over a WebSocket", () => {
  it.each(["timeout", "aborted"] as const)("is forgotten after %s", async (kind) => {
    let answerLate = (): void => undefined;
    const { url, asked } = await wsNode((socket, id, seen) => {
      if (id === 1) answerLate = () => socket.send(result(1));
      else if (seen.length > 1) echo(socket, id, seen);
    });
    const { connection, clock } = connectionTo(url);
    const caller = new AbortController();
    const first = connection.send(call(1), caller.signal);
    await asked(1);
    if (kind === "aborted") caller.abort();
    else await clock.advance(1_000);
    expect(await first).toEqual({ kind });
    answerLate();
    expect(textOf(await connection.send(call(2), never))).toBe(result(2));
  });

  it("that was given up before the socket opened is never sent", async () => {
    const { url, seen } = await wsNode(echo);
    const { connection } = connectionTo(url);
    const caller = new AbortController();
    const first = connection.send(call(1), caller.signal);
    caller.abort();
    expect(await first).toEqual({ kind: "aborted" });
    await connection.send(call(2), never);
    expect(seen).toEqual([2]);
    expect(await connection.send(call(3), AbortSignal.abort())).toEqual({ kind: "aborted" });
  });

  it("carries the user and the headers of the configuration in the handshake", async () => {
    const server = createServer();
    const heard = new Promise((resolve) =>
      new WebSocketServer({ server }).on("connection", (_socket, { headers }) => resolve(headers)),
    );
    const node = await listening(server);
    undo.push(node.close);
    const url = node.url.replace("http://", "ws://user:p%40ss@");
    const { connection } = connectionTo(url, { headers: { "x-token": "t" } });
    void connection.send(call(1), never);
    expect(await heard).toMatchObject({
      authorization: `Basic ${btoa("user:p@ss")}`,
      "x-token": "t",
    });
  });
});
