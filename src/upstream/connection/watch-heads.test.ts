// New heads that a node announces over real sockets.
import pino from "pino";
import { afterEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { type WebSocketAnswer, webSocketNode } from "../../../test/support/fake-node.ts";
import { fakeTraits } from "../../../test/support/fake-pool.ts";
import { Turns } from "../../lib/turns.ts";
import { requestJson } from "../reply.ts";
import { Upstream } from "../upstream.ts";
import { connect } from "./connect.ts";

const never = new AbortController().signal;
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

function upstreamAt(url: string) {
  const clock = new FakeClock();
  const counted: string[] = [];
  const upstreamAnswered = (record: { kind: string; purpose: string }): void =>
    void counted.push(`${record.kind} ${record.purpose}`);
  const upstream = new Upstream(
    {
      ...{ name: "a", network: "n", family: "evm", chainId: 1, url, headers: {} },
      ...{ connections: 1, timeoutMs: 1_000, responseBytes: 10_000 },
      ...{ vendor: "a", weight: 1, price: 0, rate: {}, isPrivate: false, probe: false },
    },
    {
      clock,
      turns: new Turns({ clock }),
      log: pino({ level: "silent" }),
      metrics: { upstreamAnswered, upstreamUsable: () => undefined, upstreamLied: () => undefined },
      heads: { saw: () => undefined },
      hasOthers: () => false,
      traitsOf: fakeTraits,
      state: { get: async () => undefined, update: async () => ({ isChanged: true, texts: [] }) },
      connect,
    },
    () => undefined,
  );
  undo.push(() => upstream.close());
  return { upstream, clock, counted };
}

async function watchedNode(answer: WebSocketAnswer) {
  const node = await webSocketNode(answer);
  undo.push(node.close);
  const heard: unknown[] = [];
  const ended = Promise.withResolvers<void>();
  const listener = {
    onHead: (head: unknown) => void heard.push(head),
    onEnd: () => {
      heard.push("end");
      ended.resolve();
    },
  };
  return { node, heard, ended: ended.promise, listener, ...upstreamAt(node.url) };
}

const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const announcing = (head: string): string =>
  `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x5","result":${head}}}`;
const header = (number: unknown, of: unknown): string =>
  announcing(JSON.stringify({ number, hash: of, parentHash: hash("0") }));

describe("new heads", () => {
  it("are told by number and hash, garbage is not, until the socket is lost", async () => {
    const garbage = [
      header("0x", hash("1")),
      header("", hash("1")),
      header(1, hash("1")),
      header("0xffffffffffffffff", hash("1")),
      header(null, hash("1")),
      header("0x1", "0x1"),
      header("0x1", null),
      ...["null", "1", '"0x1"', "[]", "{}", "{"].map(announcing),
    ];
    const { upstream, node, heard, ended, listener, counted } = await watchedNode((socket, id) => {
      for (const text of [`{"id":${id},"result":"0x5"}`, header("0x1f", hash("A")), ...garbage])
        socket.send(text);
      socket.send(header("0x0", hash("b")));
      socket.close();
    });
    expect(await upstream.announcements.watchHeads(listener, never)).toBe(true);
    await ended;
    const heads = [
      { number: 31, hash: hash("a") },
      { number: 0, hash: hash("b") },
    ];
    expect(heard).toEqual([...heads, "end"]);
    expect(node.requests).toEqual([requestJson(10, "eth_subscribe", '["newHeads"]')]);
    expect(counted).toEqual(["result follow"]);
    expect(upstream.announcements.canSubscribe).toBe(true);
  });

  it("are no longer told when the signal aborts, and the node hears of it", async () => {
    const { upstream, node, heard, listener } = await watchedNode((socket, id) =>
      socket.send(id === 0 ? header("0x1", hash("1")) : `{"id":${id},"result":"0x5"}`),
    );
    const watching = new AbortController();
    expect(await upstream.announcements.watchHeads(listener, watching.signal)).toBe(true);
    watching.abort();
    await node.asked(2);
    expect(node.requests[1]).toBe(requestJson(0, "eth_unsubscribe", '["0x5"]'));
    await upstream.ask("m", "[]", never);
    expect(heard).toEqual([]);
    expect(await upstream.announcements.watchHeads(listener, AbortSignal.abort())).toBe(false);
    expect(upstream.announcements.canSubscribe).toBe(true);
  });

  it.each([
    '"error":{"code":-32601,"message":"notifications not supported"}',
    '"error":{"code":-32000,"message":"no"}',
    '"result":null',
  ])("are not expected of a node that refuses, for a while: %s", async (answer) => {
    const { upstream, clock, heard, listener } = await watchedNode((socket, id) =>
      socket.send(`{"id":${id},${answer}}`),
    );
    expect(await upstream.announcements.watchHeads(listener, never)).toBe(false);
    expect(upstream.announcements.canSubscribe).toBe(false);
    await clock.advance(600_000);
    await upstream.close();
    expect(upstream.announcements.canSubscribe).toBe(true); // after ten minutes the node may have been upgraded
    expect(heard).toEqual([]);
  });

  it.each(["busy", "lost"])("may be asked for again of a node that is %s", async (how) => {
    const { upstream, listener } = await watchedNode((socket, id) => {
      if (how === "lost") socket.terminate();
      else socket.send(`{"id":${id},"error":{"code":429,"message":"slow down"}}`);
    });
    expect(await upstream.announcements.watchHeads(listener, never)).toBe(false);
    expect(upstream.announcements.canSubscribe).toBe(true);
  });

  it("are not announced over HTTP", async () => {
    const { upstream } = upstreamAt("http://127.0.0.1:1");
    expect(upstream.announcements.canSubscribe).toBe(false);
    const listener = { onHead: () => undefined, onEnd: () => undefined };
    expect(await upstream.announcements.watchHeads(listener, never)).toBe(false);
  });
});
