import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { WebSocketServer } from "ws";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { listening, type WebSocketAnswer, webSocketNode } from "../../../test/support/fake-node.ts";
import { MemoryBudget } from "../../lib/memory-budget.ts";
import type { ConnectionOptions, Exchange } from "./connection.ts";
import { webSocketConnection } from "./websocket-connection.ts";

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

function connectionTo(
  url: string,
  { memory, ...options }: Partial<ConnectionOptions> & { memory?: MemoryBudget } = {},
) {
  const clock = new FakeClock();
  const connection = webSocketConnection(
    { url, headers: {}, connections: 1, timeoutMs: 1_000, responseBytes: 1_000, ...options },
    { clock, memory },
  );
  undo.push(() => connection.close());
  return { clock, connection };
}

const textOf = (exchange: Exchange): string =>
  exchange.kind === "answered" ? exchange.body.toString() : exchange.kind;

const result = (id: number): string => `{"jsonrpc":"2.0","id":${id},"result":"${id}"}`;
const echo: WebSocketAnswer = (socket, id) => socket.send(result(id));

it("the handshake names the gateway, unless the operator names it otherwise", async () => {
  const server = createServer();
  const agents: (string | undefined)[] = [];
  new WebSocketServer({ server }).on("connection", (socket, { headers }) => {
    agents.push(headers["user-agent"]);
    socket.on("message", () => socket.send(result(1)));
  });
  const node = await listening(server);
  undo.push(node.close);
  const url = node.url.replace("http", "ws");
  for (const headers of [{}, { "User-Agent": "mine" }]) {
    const { connection } = connectionTo(url, { headers: headers as Record<string, string> });
    expect((await connection.send(call(1), never)).kind).toBe("answered");
  }
  expect(agents).toEqual([expect.stringMatching(/^headgate\/\d/), "mine"]);
});

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

describe("an answer as it comes over a WebSocket", () => {
  const MB = 1 << 20;
  /** The beginning of a server's text frame for a message of `bytes` bytes, cut off after `sent` bytes of it. */
  const frame = (bytes: number, sent: number): Buffer => {
    const head = Buffer.alloc(10);
    head.writeUInt16BE(0x817f, 0);
    head.writeBigUInt64BE(BigInt(bytes), 2);
    const text = `{"jsonrpc":"2.0","id":1,"result":"`;
    const body = `${text}${"a".repeat(bytes - text.length - 2)}"}`;
    return Buffer.concat([head, Buffer.from(body).subarray(0, sent)]);
  };

  /** Waits long enough for a busy machine. */
  const until = (look: () => boolean) => vi.waitUntil(look, { timeout: 100_000 });

  async function begun(bytes: number, sent: number) {
    const memory = new MemoryBudget({ bytes: 100 * MB }, { onRefused: () => undefined });
    const carriers: Socket[] = [];
    const pongs: number[] = [];
    let isAsked = false;
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    undo.push(() => server.close());
    await once(server, "listening");
    server.on("connection", (socket, { socket: carrier }) => {
      carriers.push(carrier);
      socket.on("pong", () => pongs.push(1));
      socket.on("error", () => undefined);
      socket.on("message", () => {
        isAsked = true;
        if (sent > 0) carrier.write(frame(bytes, sent));
      });
    });
    const { port } = server.address() as AddressInfo;
    const { connection } = connectionTo(`ws://127.0.0.1:${port}`, {
      responseBytes: 10 * MB,
      memory,
    });
    const answered = connection.send(call(1), never);
    // The node may send an answer only after the request, so the test waits for the request first.
    const come = () => until(() => isAsked && memory.waitingAs("arriving") >= sent);
    return { memory, carriers, pongs, connection, answered, come };
  }

  it("is counted, and given back when it is whole", async () => {
    const { memory, carriers, answered, come } = await begun(4 * MB, 3 * MB);
    await come();
    expect(memory.waitingFor.gateway).toBeGreaterThanOrEqual(3 * MB);
    carriers[0]?.write(frame(4 * MB, 4 * MB).subarray(10 + 3 * MB));
    expect(textOf(await answered)).toHaveLength(4 * MB);
    expect(memory.waiting).toBe(0);
  });

  it.each([
    { what: "its node has gone", end: ({ carriers }: Begun) => carriers[0]?.destroy() },
    { what: "the connection is closed", end: ({ connection }: Begun) => connection.close() },
  ])("is given back when $what", async ({ end }) => {
    const started = await begun(4 * MB, 3 * MB);
    await started.come();
    void end(started);
    expect((await started.answered).kind).toBe("unreachable");
    expect(started.memory.waiting).toBe(0);
  });

  it("is ended where it is frames without end that hold nothing", async () => {
    const { memory, carriers, answered, come } = await begun(MB, 0);
    await come();
    carriers[0]?.write(Buffer.from([0x01, 0x00])); // a text message begins with an empty frame
    const flood = setInterval(() => carriers[0]?.write(Buffer.alloc(MB)), 1); // more empty frames of it
    undo.push(() => clearInterval(flood));
    expect((await answered).kind).toBe("unreachable");
    expect(memory.waiting).toBe(0);
  });

  it("is not made of pings", async () => {
    const { memory, carriers, answered, come, pongs } = await begun(MB, 0);
    await come();
    carriers[0]?.write(frame(MB, MB));
    await answered;
    const ping = Buffer.concat([Buffer.from([0x89, 100]), Buffer.alloc(100)]);
    for (let time = 0; time < 50; time += 1) carriers[0]?.write(ping);
    await until(() => pongs.length === 50);
    expect(memory.waiting).toBe(0);
  });

  type Begun = Awaited<ReturnType<typeof begun>>;
});
