import { describe, expect, it } from "vitest";
import type { Exchange } from "./connection/connection.ts";
import { CHAIN_1, DOWN, poolOf, saying, startedPoolOf } from "./fake-pool.ts";
import type { Pool } from "./pool.ts";

const states = (pool: Pool): string =>
  pool
    .status()
    .map(({ state }) => state)
    .join();

describe("a node", () => {
  it("is checked before it is usable", async () => {
    const { pool, clock, asked } = poolOf({ a: () => CHAIN_1 });
    expect(states(pool)).toBe("checking");
    pool.start();
    pool.start();
    await clock.advance(0);
    expect(states(pool)).toBe("usable");
    expect(asked).toEqual(["a eth_chainId"]);
  });

  it("of another chain is kept out, and looked at again after half a minute", async () => {
    let chain = '"result":"0x2"';
    const { pool, outcome, clock, asked } = await startedPoolOf({
      a: () => chain,
      b: saying('"result":"b"'),
    });
    expect(states(pool)).toBe("wrong chain,usable");
    expect(await outcome()).toBe('"b"');
    chain = CHAIN_1;
    await clock.advance(29_999);
    expect(asked).toEqual(["b m"]);
    await clock.advance(1);
    expect(states(pool)).toBe("usable,usable");
  });

  it.each([
    '"result":0x1',
    '"result":"1"',
    '"result":""',
    '"result":"0x"',
    '"result":{"chainId":"0x1"}',
    '"result":null',
    '"error":{"code":-32601,"message":"no"}',
  ])("whose chain id is %s is never usable, and is asked on", async (answer) => {
    const { pool, clock, asked } = await startedPoolOf({ a: () => answer });
    for (let step = 0; step < 5; step += 1) await clock.advance(500);
    expect(states(pool)).toBe("checking");
    expect(asked).toHaveLength(5);
  });
});

describe("a node that fails", () => {
  it.each<[string, Exchange | string]>([
    ["unreachable", DOWN],
    ["timeout", { kind: "timeout" }],
    ["an answer to nobody", '"x":1'],
  ])("is asked at once which chain it is of: %s", async (_, answer) => {
    const { pool, outcome, clock, asked } = await startedPoolOf({ a: saying(answer) });
    await outcome();
    await clock.advance(0);
    expect(asked).toEqual(["a m", "a eth_chainId"]);
    expect(states(pool)).toBe("usable");
  });

  it.each<[string, Exchange | string]>([
    ["too large an answer", { kind: "too large" }],
    ["a refusal", '"error":{"code":3,"message":"execution reverted"}'],
    ["a rate limit", '"error":{"code":429,"message":"slow down"}'],
    ["a caller who went away", { kind: "aborted" }],
  ])("is another one: %s changes nothing", async (_, answer) => {
    const { outcome, asked } = await startedPoolOf({ a: saying(answer) });
    await outcome();
    expect(asked).toEqual(["a m"]);
  });

  it("is kept out when it comes back as another chain", async () => {
    let restarted = false;
    const { pool, outcome, clock } = await startedPoolOf({
      a: (method) => {
        if (method !== "eth_chainId") return DOWN;
        return restarted ? '"result":"0x539"' : CHAIN_1;
      },
    });
    restarted = true;
    await outcome();
    await clock.advance(0);
    expect(states(pool)).toBe("wrong chain");
  });

  it("and is alone is back within a second after its restart, however long that took", async () => {
    let isUp = true;
    const { outcome, clock } = await startedPoolOf({ a: () => (isUp ? CHAIN_1 : DOWN) });
    isUp = false;
    await outcome();
    for (let step = 0; step < 100; step += 1) await clock.advance(333);
    isUp = true;
    const call = outcome();
    await clock.advance(500);
    expect(await call).toBe('"0x1"');
  });

  it("just as its check succeeds is checked again", async () => {
    const ends: ((exchange: Exchange) => void)[] = [];
    const pending = () => new Promise<Exchange>((end) => ends.push(end));
    let checks = 0;
    const { pool, outcome, clock } = await startedPoolOf({
      a: (method) => {
        if (method !== "eth_chainId") return pending();
        checks += 1;
        return CHAIN_1;
      },
    });
    const calls = Array.from({ length: 10 }, () => outcome());
    await clock.advance(0);
    // Each fails some steps after the one before: one of them right when the check has ended.
    for (const end of ends) {
      end(DOWN);
      await Promise.resolve();
    }
    await Promise.all(calls);
    await clock.advance(0);
    expect(states(pool)).toBe("usable");
    expect(checks).toBeGreaterThan(1);
  });
});

describe("the log", () => {
  it("does not grow with the calls that fail while the node is well", async () => {
    const { outcome, clock, logged } = await startedPoolOf({ a: saying(DOWN) });
    for (let count = 0; count < 20; count += 1) {
      await outcome();
      await clock.advance(0);
    }
    expect(logged).toEqual(["upstream is usable"]);
  });

  it("tells once that a node is away, and once that it is back", async () => {
    let isUp = true;
    const { outcome, clock, logged } = await startedPoolOf({ a: () => (isUp ? CHAIN_1 : DOWN) });
    isUp = false;
    await outcome();
    for (let step = 0; step < 30; step += 1) await clock.advance(500);
    isUp = true;
    await clock.advance(500);
    expect(logged).toEqual([
      "upstream is usable",
      "upstream does not answer",
      "upstream is usable",
    ]);
  });

  it("tells that a node of another chain is of the right one now", async () => {
    let chain = '"result":"0x2"';
    const { clock, logged } = await startedPoolOf({ a: () => chain });
    chain = CHAIN_1;
    await clock.advance(30_000);
    expect(logged).toEqual(["upstream is of another chain: kept out", "upstream is usable"]);
  });
});

describe("a node that is closed", () => {
  it("while it is checked is not checked again, and has no timer left", async () => {
    const { pool, clock, asked } = await startedPoolOf({ a: () => DOWN });
    await pool.close();
    await clock.advance(60_000);
    expect(asked).toEqual([]);
    expect(clock.waiting).toBe(0);
  });

  it("while a check waits for its answer stays as it is", async () => {
    let answer = (_: Exchange): void => undefined;
    const { pool, clock } = await startedPoolOf({
      a: () => new Promise<Exchange>((resolve) => (answer = resolve)),
    });
    await pool.close();
    answer(DOWN);
    await clock.advance(60_000);
    expect(clock.waiting).toBe(0);
  });

  it("answers nobody, and is not checked", async () => {
    const { pool, outcome, asked } = await startedPoolOf({ a: () => CHAIN_1 });
    await pool.close();
    expect(await outcome()).toBe("502 -32603 no upstream could answer");
    expect(asked).toEqual(["a m"]);
  });
});
