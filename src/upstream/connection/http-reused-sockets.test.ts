// Requests over a socket that was used before, which the node may close at any moment.
import type { Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import * as fake from "../../../test/support/fake-node.ts";
import { systemClock } from "../../lib/clock.ts";
import { HttpConnection } from "./http-connection.ts";

const never = new AbortController().signal;
const json = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}';
const BODY = '{"id":1}';
const ANSWER = `HTTP/1.1 200 OK\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`;
const answered = { kind: "answered", status: 200 };
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** A node that answers the first `answers` requests of each socket, and then does `last` to the socket. */
async function nodeThat(last: (socket: Socket) => void, answers = 1) {
  const served = new Map<Socket, number>();
  let requests = 0;
  const node = await fake.rawNode((socket) => {
    requests += 1;
    const before = served.get(socket) ?? 0;
    served.set(socket, before + 1);
    if (before < answers) socket.write(ANSWER);
    else last(socket);
  });
  undo.push(node.close);
  const connection = new HttpConnection(
    { url: node.url, headers: {}, connections: 1, timeoutMs: 5_000, responseBytes: 1_000 },
    { clock: systemClock },
  );
  undo.push(() => connection.close());
  return { node, connection, requests: () => requests };
}

const ENDS: readonly [string, (socket: Socket) => void][] = [
  ["reset", (socket) => socket.resetAndDestroy()],
  ["closed", (socket) => socket.end()],
  ["destroyed", (socket) => socket.destroy()],
];

describe.each(ENDS)("a reused socket that is %s as the next request comes", (_, last) => {
  it("costs a repeatable call nothing: it is sent once more, over a new socket", async () => {
    const { node, connection } = await nodeThat(last);
    const request = { json, isRepeatable: true };
    for (let round = 0; round < 4; round += 1)
      expect(await connection.send(request, never)).toMatchObject(answered);
    expect(node.sockets.length).toBeGreaterThan(1);
  });

  it("fails a call that may not be repeated, which the node may have done", async () => {
    const { connection, requests } = await nodeThat(last);
    expect(await connection.send({ json, isRepeatable: false }, never)).toMatchObject(answered);
    const failed = await connection.send({ json, isRepeatable: false }, never);
    expect(failed.kind).toBe("unreachable");
    expect(requests()).toBe(2);
  });
});

it("a new socket that is reset fails the call at once", async () => {
  const { connection, requests } = await nodeThat((socket) => socket.resetAndDestroy(), 0);
  const exchange = await connection.send({ json, isRepeatable: true }, never);
  expect(exchange.kind).toBe("unreachable");
  expect(requests()).toBe(1);
});

it("a node that closes the new socket, too, is not asked a third time", async () => {
  let isGone = false;
  const node = await fake.rawNode((socket) => {
    if (isGone) socket.resetAndDestroy();
    else socket.write(ANSWER);
  });
  undo.push(node.close);
  const connection = new HttpConnection(
    { url: node.url, headers: {}, connections: 1, timeoutMs: 5_000, responseBytes: 1_000 },
    { clock: systemClock },
  );
  undo.push(() => connection.close());
  await connection.send({ json, isRepeatable: true }, never);
  isGone = true;
  const exchange = await connection.send({ json, isRepeatable: true }, never);
  expect(exchange.kind).toBe("unreachable");
  expect(node.sockets).toHaveLength(2);
});

it("an answer that has begun is not asked for again", async () => {
  const { connection, requests } = await nodeThat((socket) =>
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{", () =>
      setImmediate(() => socket.resetAndDestroy()),
    ),
  );
  await connection.send({ json, isRepeatable: true }, never);
  const exchange = await connection.send({ json, isRepeatable: true }, never);
  expect(exchange.kind).toBe("unreachable");
  expect(requests()).toBe(2);
});

it("a caller that leaves is not followed by a second attempt", async () => {
  const leaving = new AbortController();
  const { connection, requests } = await nodeThat((socket) => {
    leaving.abort();
    socket.resetAndDestroy();
  });
  await connection.send({ json, isRepeatable: true }, never);
  const exchange = await connection.send({ json, isRepeatable: true }, leaving.signal);
  expect(exchange.kind).toBe("aborted");
  expect(requests()).toBe(2);
});
