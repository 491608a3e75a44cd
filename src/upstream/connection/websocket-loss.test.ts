// The loss of a WebSocket, and the reconnection after it.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import {
  httpNode,
  listening,
  rawNode,
  type WebSocketAnswer,
  webSocketNode,
} from "../../../test/support/fake-node.ts";
import { webSocketConnection } from "./websocket-connection.ts";

const never = new AbortController().signal;
const call = (id: number) => ({ id, json: `{"jsonrpc":"2.0","id":${id},"method":"m"}` });
const echo: WebSocketAnswer = (socket, id) => socket.send(`{"id":${id},"result":"0x1"}`);
const mute: WebSocketAnswer = () => undefined;
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

function connectionTo(url: string, headers: Record<string, string> = {}) {
  const clock = new FakeClock();
  let reopened = 0;
  const connection = webSocketConnection(
    { url, headers, connections: 1, timeoutMs: 60_000, responseBytes: 1_000 },
    {
      clock,
      onReopened: () => {
        reopened += 1;
      },
    },
  );
  undo.push(() => connection.close());
  return { clock, connection, reopened: () => reopened };
}

const wsNode = async (answer: WebSocketAnswer, options = {}) => {
  const node = await webSocketNode(answer, options);
  undo.push(node.close);
  return node;
};

/** A node that answers the first call with a close frame, and never ends the socket. */
async function nodeThatHangsAfterGoodbye() {
  const server = createServer();
  const saidGoodbye = new Promise<void>((told) =>
    server.on("upgrade", ({ headers }, socket) => {
      const key = `${headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
      const accept = createHash("sha1").update(key).digest("base64");
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
      );
      socket.once("data", () => {
        socket.write(Buffer.from([0x88, 0x00]));
        socket.once("data", () => told()); // the close frame of the client
      });
    }),
  );
  const node = await listening(server);
  undo.push(node.close);
  return { ...node, saidGoodbye };
}

const lost = (reason: string) => ({ kind: "unreachable", reason });

describe("a WebSocket that is lost", () => {
  it("answers its calls at once, and comes back after a pause", async () => {
    const { url } = await wsNode((socket, id, seen) =>
      seen.length < 3 ? seen.length === 2 && socket.terminate() : echo(socket, id, seen),
    );
    const { connection, clock, reopened } = connectionTo(url);
    const calls = [connection.send(call(1), never), connection.send(call(2), never)];
    expect(await Promise.all(calls)).toEqual(calls.map(() => lost("connection closed")));
    expect(clock.waiting).toBe(0);
    expect(await connection.send(call(3), never)).toEqual(lost("waiting to reconnect"));
    await clock.advance(100);
    expect(reopened()).toBe(0);
    expect((await connection.send(call(4), never)).kind).toBe("answered");
    expect(reopened()).toBe(1);
  });

  it("takes no more calls once the node has said goodbye", async () => {
    const node = await nodeThatHangsAfterGoodbye();
    const { connection, clock } = connectionTo(node.url.replace("http", "ws"));
    const first = connection.send(call(1), never);
    await node.saidGoodbye;
    expect(await connection.send(call(2), never)).toEqual(lost("waiting to reconnect"));
    expect(await first).toEqual(lost("connection closed"));
    expect(clock.waiting).toBe(0);
  });

  it("is noticed by a missing pong", async () => {
    const { url, opened, asked } = await wsNode(mute, { autoPong: false });
    const { connection, clock } = connectionTo(url);
    const first = connection.send(call(1), never);
    await asked(1);
    const pinged = new Promise((told) => opened[0]?.once("ping", told));
    await clock.advance(15_000);
    await pinged;
    await clock.advance(15_000);
    expect(await first).toEqual(lost("no sign of life"));
    expect(clock.waiting).toBe(0);
  });

  it("is kept as long as pongs come", async () => {
    const { url, opened, asked } = await wsNode((socket, id, seen) => {
      if (id === 2) echo(socket, id, seen);
    });
    const { connection, clock } = connectionTo(url);
    void connection.send(call(1), never);
    await asked(1);
    for (const _ of [1, 2, 3]) {
      await clock.advance(15_000);
      expect((await connection.send(call(2), never)).kind).toBe("answered"); // comes after the pong
    }
    expect(opened).toHaveLength(1);
  });
});

describe("a WebSocket that cannot be opened", () => {
  it("refuses every call, and is tried again after pauses of less than half a second", async () => {
    const node = await webSocketNode(mute);
    await node.close();
    const { connection, clock } = connectionTo(node.url);
    for (const pauseMs of [100, 200, 400, 400, 400]) {
      expect(await connection.send(call(1), never)).toEqual(lost("ECONNREFUSED"));
      await clock.advance(pauseMs - 1);
      expect(await connection.send(call(2), never)).toEqual(lost("waiting to reconnect"));
      await clock.advance(1);
    }
    expect(clock.waiting).toBe(0);
  });

  it("comes back when the node does", async () => {
    const gone = await webSocketNode(mute);
    await gone.close();
    const { connection, clock } = connectionTo(gone.url);
    expect(await connection.send(call(1), never)).toEqual(lost("ECONNREFUSED"));
    await wsNode(echo, { port: Number(new URL(gone.url).port) });
    await clock.advance(400);
    expect((await connection.send(call(2), never)).kind).toBe("answered");
  });

  it("tells the HTTP status of a refused handshake", async () => {
    const node = await listening(
      createServer().on("upgrade", (_request, socket) =>
        socket.end("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n"),
      ),
    );
    undo.push(node.close);
    const { connection } = connectionTo(node.url.replace("http", "ws"));
    expect(await connection.send(call(1), never)).toEqual(lost("HTTP 401"));
  });

  it.each([
    ["an HTTP node", () => httpNode((_request, response) => response.end("{}")), "HTTP 200"],
    [
      "no HTTP at all",
      () => rawNode((socket) => socket.end("hello\r\n\r\n")),
      "HPE_INVALID_CONSTANT",
    ],
    ["a reset", () => rawNode((socket) => socket.resetAndDestroy()), "ECONNRESET"],
  ])("%s is unreachable: no reason holds its address", async (_, start, reason) => {
    const node = await start();
    undo.push(node.close);
    const { connection } = connectionTo(`${node.url.replace("http", "ws")}/s3cr3t`);
    expect(await connection.send(call(1), never)).toEqual(lost(reason));
  });

  it("because of a header that cannot be written is unreachable, not thrown", async () => {
    const { url } = await wsNode(mute);
    const { connection } = connectionTo(url, { "x-token": "a\r\nb" });
    expect(await connection.send(call(1), never)).toMatchObject({ kind: "unreachable" });
  });
});

describe("a WebSocket that is closed", () => {
  it.each(["before it opened", "after it opened"])("ends its calls: %s", async (when) => {
    const { url, asked } = await wsNode(mute);
    const { connection, clock } = connectionTo(url);
    const first = connection.send(call(1), never);
    if (when === "after it opened") await asked(1);
    await connection.close();
    expect(await first).toEqual(lost("closed"));
    await clock.advance(60_000);
    expect((await connection.send(call(2), never)).kind).toBe("unreachable");
    await connection.close();
    expect(clock.waiting).toBe(0);
  });
});
