import { describe, expect, it } from "vitest";
import { type Answer, CHAIN_1, DOWN, saying, startedPoolOf } from "../../test/support/fake-pool.ts";
import type { Session } from "./asking/call-options.ts";
import type { Exchange } from "./connection/connection.ts";
import type { Reply } from "./reply.ts";

describe("a call", () => {
  const missing = '"error":{"code":-32601,"message":"no such method"}';

  it.each<{ when: string; a: Answer; b: Answer; want: string; asked: string }>([
    { when: "the first answers", a: '"result":"a"', b: '"result":"b"', want: '"a"', asked: "a" },
    { when: "the first is down", a: DOWN, b: '"result":"b"', want: '"b"', asked: "a b" },
    {
      when: "the first is slow",
      a: { kind: "timeout" },
      b: '"result":"b"',
      want: '"b"',
      asked: "a b",
    },
    {
      when: "the first lacks the method",
      a: missing,
      b: '"result":"b"',
      want: '"b"',
      asked: "a b",
    },
    {
      when: "the first is asked too often",
      a: '"error":{"code":429,"message":"slow down"}',
      b: '"result":null',
      want: "null",
      asked: "a b",
    },
    {
      when: "the first refuses",
      a: '"error":{"code":3,"message":"execution reverted"}',
      b: '"result":"b"',
      want: "200 3 execution reverted",
      asked: "a",
    },
    {
      when: "all are down",
      a: DOWN,
      b: DOWN,
      want: "502 -32603 no upstream could answer",
      asked: "a b",
    },
    {
      when: "all are slow",
      a: { kind: "timeout" },
      b: { kind: "timeout" },
      want: "504 -32603 upstream timeout",
      asked: "a b",
    },
    {
      when: "the only one that has the method is slow",
      a: missing,
      b: { kind: "timeout" },
      want: "504 -32603 upstream timeout",
      asked: "a b",
    },
    {
      when: "one lacks the method and the other is down",
      a: missing,
      b: DOWN,
      want: "502 -32603 no upstream could answer",
      asked: "a b",
    },
    {
      when: "none has the method",
      a: missing,
      b: missing,
      want: "200 -32601 the method m does not exist/is not available",
      asked: "a b",
    },
  ])("when $when: $want", async ({ a, b, want, asked: nodes }) => {
    const { outcome, asked } = await startedPoolOf({ a: saying(a), b: saying(b) });
    expect(await outcome()).toBe(want);
    expect(asked.filter((line) => line.endsWith(" m"))).toEqual(
      nodes.split(" ").map((n) => `${n} m`),
    );
  });

  it("does not ask a node again for what it lacks, until it may have been upgraded", async () => {
    const { outcome, asked, clock } = await startedPoolOf({
      a: saying(missing),
      b: saying('"result":1'),
    });
    await outcome();
    await outcome();
    expect(asked).toEqual(["a m", "b m", "b m"]);
    await clock.advance(600_000);
    await outcome();
    const later = asked.slice(3).filter((each) => !each.endsWith("eth_chainId"));
    expect(later).toEqual(["a m", "b m"]);
  });

  it("of names that callers invent pushes out what nodes lack, and needs no more memory", async () => {
    const { outcome, pool } = await startedPoolOf({ a: saying(missing), b: saying(missing) });
    const names = Array.from({ length: 513 }, (_, index) => `eth_invented${index}`);
    for (const name of names) await outcome(name);
    const [a] = pool.nodes;
    expect(a?.isMissing("eth_invented512")).toBe(true);
    expect(a?.isMissing("eth_invented0")).toBe(false);
  });

  it("for the head never tells less than before, unless no node knows better", async () => {
    const heads = { a: "0x9", b: "0x9" };
    const { outcome, asked } = await startedPoolOf({
      a: (method) => (method === "eth_chainId" ? CHAIN_1 : `"result":"${heads.a}"`),
      b: (method) => (method === "eth_chainId" ? CHAIN_1 : `"result":"${heads.b}"`),
    });
    expect(await outcome("eth_blockNumber")).toBe('"0x9"');
    heads.a = "0x8"; // within the tolerated lag, but the caller would see the head fall
    expect(await outcome("eth_blockNumber")).toBe('"0x9"');
    heads.b = "0x8";
    expect(await outcome("eth_blockNumber")).toBe('"0x8"');
    asked.length = 0;
    expect(await outcome("eth_blockNumber")).toBe('"0x8"');
    expect(asked).toHaveLength(1);
  });

  it("tells nothing of the node's address when it refuses", async () => {
    const refusal = '"error":{"code":-32000,"message":"POST https://a.example.com/s3cr3t failed"}';
    const { outcome } = await startedPoolOf({ a: saying(refusal) });
    expect(await outcome()).toBe("200 -32000 POST https://***/*** failed");
  });

  it("whose time is up is not begun", async () => {
    const { outcome, asked } = await startedPoolOf({ a: saying('"result":1') });
    expect(await outcome("m", AbortSignal.abort())).toBe("504 -32603 upstream timeout");
    expect(asked).toEqual([]);
  });

  it("whose time is up while a node works ends there", async () => {
    const { outcome } = await startedPoolOf({
      a: saying({ kind: "aborted" }),
      b: saying('"result":"b"'),
    });
    expect(await outcome()).toBe("504 -32603 upstream timeout");
  });
});

describe("a transaction that is sent to several nodes at once", () => {
  it("is counted for each of them, and takes a turn at each", async () => {
    const { pool, optionsOf } = await startedPoolOf({
      a: saying('"result":"0xab"'),
      b: saying('"result":"0xab"'),
    });
    const change = await pool.prepare({ ...optionsOf("a", "b"), broadcast: 2 });
    change.commit(0);
    const attempts: string[] = [];
    const turns: string[] = [];
    for (const { name, turns: ofNode } of pool.nodes) {
      const begin = ofNode.begin.bind(ofNode);
      ofNode.begin = (...given) => {
        turns.push(name);
        return begin(...given);
      };
    }
    await pool.call("eth_sendRawTransaction", "[]", new AbortController().signal, {
      arrivalOf: () => 0,
      asker: { holder: "k", client: "", weight: 1, remainingMs: 1_000 },
      ledger: { attempted: () => void attempts.push("one"), merged: () => undefined },
    });
    expect(turns).toEqual(["a", "b"]);
    expect(attempts).toHaveLength(2);
  });
});

describe("a call while no node is usable", () => {
  it("is told so when its time is over", async () => {
    const { outcome, clock } = await startedPoolOf({ a: () => DOWN });
    const call = outcome();
    for (let step = 0; step < 12; step += 1) await clock.advance(250);
    expect(await call).toBe("503 -32603 no upstream is available for this network");
  });

  it("is answered as soon as one is", async () => {
    let isUp = false;
    const { outcome, clock } = await startedPoolOf({
      a: () => (isUp ? CHAIN_1 : DOWN),
    });
    const call = outcome();
    isUp = true;
    await clock.advance(250);
    expect(await call).toBe('"0x1"');
    expect(clock.waiting).toBe(2); // the timers of the next identity check, and that writes the learned capabilities
  });

  it.each(["its time is up", "the pool is closed"])("ends when %s", async (when) => {
    const { outcome, clock, pool } = await startedPoolOf({ a: () => DOWN });
    const caller = new AbortController();
    const call = outcome("m", caller.signal);
    if (when === "its time is up") caller.abort();
    else await pool.close();
    expect(await call).toBe("503 -32603 no upstream is available for this network");
    await pool.close();
    expect(clock.waiting).toBe(0);
  });
});

describe("an answer that is not believed from one node alone", () => {
  const isUncertain = (reply: Reply): boolean => {
    expect(["result", "refused"]).toContain(reply.kind);
    return reply.kind === "refused" || (reply.kind === "result" && String(reply.json) === "null");
  };
  const nothing = '"result":null';
  const refusal = '"error":{"code":-32000,"message":"header not found"}';

  it.each<{ when: string; a: Answer; b: Answer; want: string; asked: string[] }>([
    { when: "it is believed", a: '"result":1', b: nothing, want: "1", asked: ["a m"] },
    {
      when: "the next knows better",
      a: nothing,
      b: '"result":2',
      want: "2",
      asked: ["a m", "b m"],
    },
    { when: "all agree", a: nothing, b: nothing, want: "null", asked: ["a m", "b m"] },
    { when: "the next is down", a: nothing, b: DOWN, want: "null", asked: ["a m", "b m"] },
    { when: "the first is down", a: DOWN, b: nothing, want: "null", asked: ["a m", "b m"] },
    { when: "others cross-check too", a: nothing, b: refusal, want: "null", asked: ["a m", "b m"] },
    {
      when: "it is a refusal, and the next is slow",
      a: refusal,
      b: { kind: "timeout" },
      want: "200 -32000 header not found",
      asked: ["a m", "b m"],
    },
  ])("when $when: $want", async ({ a, b, want, asked: nodes }) => {
    const { outcome, asked } = await startedPoolOf({ a: saying(a), b: saying(b) });
    expect(await outcome("m", undefined, { crossCheck: { name: "m", isUncertain } })).toBe(want);
    expect(asked.filter((line) => line.endsWith(" m"))).toEqual(nodes);
  });
});

describe("one of several ways to call a method", () => {
  const variant = {
    name: "m in colour",
    isMissing: (reply: Reply): boolean =>
      reply.kind === "refused" || (reply.kind === "result" && String(reply.json) === "{}"),
  };

  it("is asked of the nodes that have it, and not again of those that have not", async () => {
    const { outcome, asked } = await startedPoolOf({
      a: saying('"result":{}'),
      b: saying('"error":{"code":-32000,"message":"no such colour"}'),
      c: saying('"result":"red"'),
    });
    expect(await outcome("m", undefined, { variant })).toBe('"red"');
    expect(await outcome("m", undefined, { variant })).toBe('"red"');
    expect(asked).toEqual(["a m", "b m", "c m", "c m"]);
    expect(await outcome("m")).toBe("{}"); // the node has the method itself
  });

  it("does not take the other ways with it when a node says that it lacks the method", async () => {
    const answers = [CHAIN_1, '"error":{"code":-32601,"message":"no"}', '"result":"blue"'];
    const { outcome } = await startedPoolOf({ a: () => answers.shift() ?? DOWN });
    expect(await outcome("m", undefined, { variant })).toMatch(/^200 -32601/);
    expect(await outcome("m")).toBe('"blue"');
  });

  it("is missing when no node has it", async () => {
    const { outcome, asked } = await startedPoolOf({ a: saying('"result":{}') });
    expect(await outcome("m", undefined, { variant })).toMatch(/^200 -32601 the method m/);
    expect(await outcome("m", undefined, { variant })).toMatch(/^200 -32601 the method m/);
    expect(asked).toEqual(["a m"]);
  });
});

describe("single nodes", () => {
  it("that limit all calls are told of, after a while", async () => {
    const busy = saying('"error":{"code":429,"message":"slow down"}');
    const { outcome, asked, clock } = await startedPoolOf({ a: busy, b: busy, c: busy });
    const call = outcome();
    for (const ms of [0, 999]) await clock.advance(ms);
    const calls = (): string[] => asked.filter((line) => line.endsWith(" m"));
    expect(calls()).toEqual(["a m", "b m", "c m"]);
    await clock.advance(1); // with it the pause of nodes that name none is over
    expect(await call).toBe("503 -32603 all upstreams of this network are at their rate limit");
    expect(calls()).toEqual(["a m", "b m", "c m", "a m", "b m", "c m"]);
  });

  it("are chosen once by calls that belong together", async () => {
    const { outcome, asked, pool } = await startedPoolOf({
      a: saying('"result":"a"'),
      b: saying('"result":"b"'),
    });
    const session: Session = { node: undefined };
    expect(await outcome("m", undefined, { session })).toBe('"a"');
    pool.nodes[0]?.noteHead({ number: 1, hash: undefined }, false);
    pool.nodes[1]?.noteHead({ number: 9, hash: undefined }, false);
    expect(await outcome("m")).toBe('"b"');
    expect(await outcome("m", undefined, { session })).toBe('"a"');
    expect(asked).toEqual(["a m", "b m", "a m"]);
  });

  it.each([
    { heads: [9, 5], block: 9, want: "a" },
    { heads: [5, 9], block: 9, want: "b" },
    { heads: [8, 9], block: 8, want: "a" },
    { heads: [8, 9], block: undefined, want: "a" },
    { heads: [7, 9], block: undefined, want: "b" },
  ])("at $heads: of block $block, $want is asked", async ({ heads, block, want }) => {
    const { outcome, pool } = await startedPoolOf({
      a: saying('"result":"a"'),
      b: saying('"result":"b"'),
    });
    for (const [index, number] of heads.entries())
      pool.nodes[index]?.noteHead({ number, hash: undefined }, false);
    expect(await outcome("m", undefined, { block })).toBe(`"${want}"`);
  });

  it.each([
    { call: "of the newest state", method: "eth_call", options: {}, want: "new" },
    { call: "of a block that both have", method: "eth_call", options: { block: 5 }, want: "old" },
    { call: "to send", method: "eth_sendRawTransaction", options: {}, want: "old" },
  ])("behind the best one are not hurried to: $call", async ({ method, options, want }) => {
    let answer: (told: Exchange) => void = () => undefined;
    const slow = new Promise<Exchange>((resolve) => {
      answer = resolve;
    });
    const { outcome, pool, clock } = await startedPoolOf({
      a: saying(slow),
      b: saying('"result":"old"'),
    });
    pool.nodes[0]?.noteHead({ number: 9, hash: undefined }, false);
    pool.nodes[1]?.noteHead({ number: 5, hash: undefined }, false);
    const call = outcome(method, undefined, options);
    await clock.advance(500);
    await clock.advance(50);
    answer({ kind: "answered", status: 200, body: Buffer.from('{"id":20,"result":"new"}') });
    expect(await call).toBe(`"${want}"`);
  });

  it("on another branch are asked last, however high they are", async () => {
    const { outcome, pool } = await startedPoolOf({
      a: saying('"result":"a"'),
      b: saying('"result":"b"'),
    });
    pool.nodes[0]?.noteHead({ number: 100, hash: undefined }, true);
    pool.nodes[1]?.noteHead({ number: 90, hash: undefined }, false);
    expect(await outcome("m", undefined, { block: 90 })).toBe('"b"');
  });

  it("are listed while they are usable, and each change is told once", async () => {
    let isUp = true;
    const { pool, outcome, clock } = await startedPoolOf({
      a: (method) => (isUp && method === "eth_chainId" ? CHAIN_1 : DOWN),
      b: saying('"result":1'),
    });
    const usable = (): string =>
      pool
        .usable()
        .map(({ name }) => name)
        .join();
    const told: string[] = [];
    const stop = pool.onChange(() => told.push(usable()));
    expect(usable()).toBe("a,b");
    isUp = false;
    await outcome();
    for (let step = 0; step < 10; step += 1) await clock.advance(500);
    expect(told).toEqual(["b"]);
    isUp = true;
    await clock.advance(500);
    expect(told).toEqual(["b", "a,b"]);
    stop();
    await outcome();
    expect(told).toHaveLength(2);
  });

  it("are counted by what they are asked for", async () => {
    const { pool, outcome, counted } = await startedPoolOf({ a: saying('"result":1') });
    await outcome();
    await pool.usable()[0]?.ask("m", "[]", new AbortController().signal, { purpose: "follow" });
    expect(counted).toEqual(["a result check", "a result call", "a result follow"]);
  });
});
