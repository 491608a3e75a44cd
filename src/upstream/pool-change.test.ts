import { describe, expect, it } from "vitest";
import { CHAIN_1, DOWN, saying, startedPoolOf } from "../../test/support/fake-pool.ts";
import type { Exchange } from "./connection/connection.ts";
import type { Pool } from "./pool.ts";

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A pool of the nodes a and b; `become` prepares a change to other nodes. */
async function changing() {
  const answer = Promise.withResolvers<Exchange>();
  const scripts: Parameters<typeof startedPoolOf>[0] = {
    a: saying('"result":"a"'),
    b: saying('"result":"b"'),
  };
  const parts = await startedPoolOf(scripts);
  scripts["c"] = saying('"result":"c"');
  scripts["silent"] = () => DOWN;
  scripts["slow"] = (method) => (method === "eth_chainId" ? CHAIN_1 : answer.promise);
  const become = async (...names: string[]) => {
    const preparing = parts.pool.prepare(parts.optionsOf(...names));
    for (let ms = 0; ms < 100; ms += 20) await parts.clock.advance(20);
    return preparing;
  };
  return { ...parts, become, answer };
}

describe("a pool that gets other nodes", () => {
  it("asks new nodes only once they are committed, and who they are before", async () => {
    const { become, asked, outcome } = await changing();
    const change = await become("c");
    expect(asked).toEqual(["c eth_chainId"]);
    expect(await outcome()).not.toBe('"c"');
    change.commit(1_000);
    expect(await outcome()).toBe('"c"');
  });

  it("keeps a node that stays as it is, with its connection", async () => {
    const { pool, become, asked, closedNodes } = await changing();
    const b = pool.nodes[1];
    (await become("b", "c")).commit(1_000);
    await soon();
    expect(pool.nodes[0]).toBe(b);
    expect(asked).toEqual(["c eth_chainId"]);
    expect(closedNodes).toEqual(["a"]);
  });

  it("changes nothing when it is given up", async () => {
    const { pool, become, closedNodes } = await changing();
    const before = [...pool.nodes];
    await (await become("c")).cancel();
    expect(pool.nodes).toEqual(before);
    expect(closedNodes).toEqual(["c"]);
  });

  it("closes a node that left when its calls are answered, and forgets its gauge", async () => {
    const { become, closedNodes, counted, outcome, answer } = await changing();
    (await become("slow")).commit(1_000);
    const call = outcome();
    (await become("c")).commit(1_000);
    expect(await outcome()).toBe('"c"');
    expect(closedNodes).not.toContain("slow");
    answer.resolve(DOWN);
    await call;
    await soon();
    expect(closedNodes).toContain("slow");
    expect(counted.at(-1)).toBe("slow gone");
  });

  it("waits for the calls of a node that left no longer than told", async () => {
    const { become, closedNodes, clock, outcome } = await changing();
    (await become("slow")).commit(1_000);
    void outcome();
    (await become("c")).commit(1_000);
    await clock.advance(999);
    expect(closedNodes).not.toContain("slow");
    await clock.advance(1);
    await soon();
    expect(closedNodes).toContain("slow");
  });

  it("waits for nobody when it is closed itself", async () => {
    const { pool, become, closedNodes, outcome } = await changing();
    (await become("slow")).commit(1_000);
    void outcome();
    (await become("c")).commit(1_000);
    await pool.close();
    expect(closedNodes).toContain("slow");
  });

  it("waits for a node that does not answer five seconds, and goes on", async () => {
    const { pool, optionsOf, clock } = await changing();
    let isPrepared = false;
    const preparing = pool.prepare(optionsOf("silent")).then((change) => {
      isPrepared = true;
      return change;
    });
    for (let ms = 0; ms < 4_900; ms += 20) await clock.advance(20);
    expect(isPrepared).toBe(false);
    for (let ms = 0; ms < 200; ms += 20) await clock.advance(20);
    await (await preparing).cancel();
  });
});

/** Drains these nodes, and no others. */
const drain = (pool: Pool, ...names: readonly string[]): void =>
  pool.drain(new Map(names.map((name) => [name, { who: "admin", from: "", at: "" }])));
const drainedOf = (pool: Pool): readonly boolean[] =>
  pool.snapshots().map(({ drained }) => drained !== undefined);

describe("a node that is drained", () => {
  it("gets no calls while another one can, and all of them where none can", async () => {
    const { pool, asked, outcome } = await changing();
    const first = await outcome();
    const name = first === '"a"' ? "a" : "b";
    const other = name === "a" ? "b" : "a";
    drain(pool, name);
    asked.length = 0;
    for (let call = 0; call < 40; call += 1) expect(await outcome()).toBe(`"${other}"`);
    expect(asked.some((each) => each.startsWith(name))).toBe(false);
    expect(drainedOf(pool)).toContain(true);
    drain(pool, name, other);
    expect(await outcome()).toMatch(/^"[ab]"$/);
    drain(pool, other);
    expect(await outcome()).toBe(`"${name}"`);
  });

  it("leaves a method that it alone has unavailable: the method does exist", async () => {
    const { pool, outcome } = await startedPoolOf({
      a: saying('"result":"a"'),
      b: saying('"error":{"code":-32601,"message":"the method m does not exist"}'),
    });
    drain(pool, "a");
    const why = "503 -32603 no upstream that has the method m is available now";
    expect([await outcome(), await outcome()]).toEqual([why, why]); // the first call asks b and learns that b lacks m
    drain(pool, "a", "b");
    expect(await outcome()).toBe('"a"');
    drain(pool, "b");
    expect(await outcome()).toBe('"a"');
  });

  it("stays so by its name, when it gets other settings, and when it is gone for a while", async () => {
    const { pool, become, outcome } = await changing();
    drain(pool, "b");
    (await become("b", "c")).commit(1_000);
    await soon();
    expect(await outcome()).toBe('"c"');
    (await become("c")).commit(1_000);
    await soon();
    (await become("b", "c")).commit(1_000);
    expect(drainedOf(pool)).toEqual([true, false]);
  });
});
