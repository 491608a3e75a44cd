// Subscriptions over a WebSocket: their events, and their end.
import type { Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { WebSocket } from "ws";
import { countedSignal } from "../../../test/support/counted-signal.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { type WebSocketAnswer, webSocketNode } from "../../../test/support/fake-node.ts";
import { requestJson } from "../reply.ts";
import type { Exchange } from "./connection.ts";
import { webSocketConnection } from "./websocket-connection.ts";

const never = new AbortController().signal;
const subscribing = (id: number) => ({ id, json: requestJson(id, "eth_subscribe", '["m"]') });
const opened = (id: number, subscription = '"0x5"') => `{"id":${id},"result":${subscription}}`;
const event = (result: string, subscription = '"0x5"') =>
  `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":${subscription},"result":${result}}}`;
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function connectionTo(answer: WebSocketAnswer) {
  const node = await webSocketNode(answer);
  const clock = new FakeClock();
  const connection = webSocketConnection(
    { url: node.url, headers: {}, connections: 1, timeoutMs: 1_000, responseBytes: 1_000 },
    { clock },
  );
  undo.push(node.close, () => connection.close());
  return { node, clock, connection };
}

/** A listener that writes each event down; `heard(n)` resolves when there are `n` lines. */
function scribe() {
  const lines: string[] = [];
  const waiting: { want: number; tell: () => void }[] = [];
  const note = (line: string): void => {
    lines.push(line);
    for (const { want, tell } of waiting) if (lines.length >= want) tell();
  };
  const heard = (want: number) =>
    new Promise<void>((tell) => (lines.length >= want ? tell() : waiting.push({ want, tell })));
  const listener = { onEvent: (result: Buffer) => note(String(result)), onEnd: () => note("end") };
  return { lines, heard, listener };
}

const inOnePacket = (sockets: readonly Socket[], write: () => void): void => {
  for (const socket of sockets) socket.cork();
  write();
  for (const socket of sockets) socket.uncork();
};

const textOf = (exchange: Exchange): string =>
  exchange.kind === "answered" ? exchange.body.toString() : exchange.kind;

describe("a subscription", () => {
  it("hears the event that comes in one packet with the answer, and those after it", async () => {
    let push = (_: string): void => undefined;
    const { connection, node } = await connectionTo((socket, id) => {
      push = (text) => socket.send(text);
      inOnePacket(node.sockets, () => {
        for (const text of [opened(id), event('{"number":"0x1"}'), event("2")]) socket.send(text);
      });
    });
    const { lines, heard, listener } = scribe();
    expect(textOf(await connection.subscribe(subscribing(1), listener, never))).toBe(opened(1));
    await heard(2);
    push(event('"3"'));
    await heard(3);
    expect(lines).toEqual(['{"number":"0x1"}', "2", '"3"']);
  });

  it("hears its own events only, and no garbage", async () => {
    const noise = [
      event("1", '"0x6"'),
      event("1", "5"),
      "{",
      '"x"',
      '{"params":[]}',
      '{"params":{}}',
      '{"params":{"subscription":"0x5"}}',
      '{"params":{"subscription":"0x5","result":}}',
      '{"params":{"subscription":"0x5","result":1}',
    ];
    const { connection } = await connectionTo((socket, id) => {
      for (const text of [opened(id), ...noise, event("9")]) socket.send(text);
    });
    const { lines, heard, listener } = scribe();
    await connection.subscribe(subscribing(1), listener, never);
    await heard(1);
    expect(lines).toEqual(["9"]);
  });

  it.each(["the node ends the socket", "the connection is closed"])(
    "ends once when %s, and leaves nothing behind",
    async (when) => {
      const { connection, node, clock } = await connectionTo((socket, id) =>
        socket.send(opened(id)),
      );
      const { lines, heard, listener } = scribe();
      const { controller, signal, listeners } = countedSignal();
      await connection.subscribe(subscribing(1), listener, signal);
      if (when === "the connection is closed") await connection.close();
      else node.opened[0]?.terminate();
      await heard(1);
      controller.abort();
      await connection.close();
      expect(lines).toEqual(["end"]);
      expect(clock.waiting).toBe(0);
      expect(listeners()).toBe(0);
    },
  );
});

describe("a subscription whose signal aborts", () => {
  const unsubscribe = requestJson(0, "eth_unsubscribe", '["0x5"]');

  it("is ended at the node, hears nothing more and is told of no end", async () => {
    const { connection, node } = await connectionTo((socket, id) => {
      socket.send(id === 0 ? event("late") : opened(id));
      if (id === 0) socket.send('{"id":0,"result":true}');
    });
    const { lines, listener } = scribe();
    const caller = new AbortController();
    await connection.subscribe(subscribing(1), listener, caller.signal);
    caller.abort();
    await node.asked(2);
    expect(node.requests[1]).toBe(unsubscribe);
    await connection.send({ id: 3, json: '{"id":3}' }, never); // comes after the late event
    await connection.close();
    expect(lines).toEqual([]);
  });

  it.each(["aborted", "timeout"])(
    "or times out before the answer is ended by it: %s",
    async (kind) => {
      let late: (() => void) | undefined;
      const { connection, node, clock } = await connectionTo((socket: WebSocket, id) => {
        if (id === 1) late = () => socket.send(opened(1));
      });
      const { lines, listener } = scribe();
      const caller = new AbortController();
      const exchange = connection.subscribe(subscribing(1), listener, caller.signal);
      await node.asked(1);
      if (kind === "aborted") caller.abort();
      else await clock.advance(1_000);
      expect(await exchange).toEqual({ kind });
      late?.();
      await node.asked(2);
      expect(node.requests[1]).toBe(unsubscribe);
      await connection.close();
      expect(lines).toEqual([]);
    },
  );
});

describe("a subscription that is not opened", () => {
  it.each([
    '{"id":1,"error":{"code":-32601,"message":"no such method"}}',
    '{"id":1,"result":null}',
    '{"id":1,"result":true}',
  ])("is never heard of: %s", async (answer) => {
    const { connection, node } = await connectionTo((socket, id) => {
      socket.send(id === 1 ? answer : opened(id));
      for (const subscription of ["null", "true", "undefined"])
        socket.send(event("1", subscription));
    });
    const { lines, listener } = scribe();
    const { controller, signal, listeners } = countedSignal();
    expect(textOf(await connection.subscribe(subscribing(1), listener, signal))).toBe(answer);
    expect(listeners()).toBe(0);
    await connection.send({ id: 2, json: '{"id":2}' }, never);
    controller.abort();
    await connection.close();
    expect(lines).toEqual([]);
    expect(node.seen).toEqual([1, 2]);
  });
});
