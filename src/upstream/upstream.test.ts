import { describe, expect, it } from "vitest";
import { CHAIN_1, DOWN, poolOf, saying, startedPoolOf } from "../../test/support/fake-pool.ts";
import type { Exchange } from "./connection/connection.ts";
import type { AttemptEnding } from "./health/health.ts";
import {
  budgetWaitMs,
  endingOf,
  isSuspicious,
  LOST_RACE,
  learnFrom,
  type Urgency,
} from "./node-requests.ts";
import type { Pool } from "./pool.ts";
import type { Reply } from "./reply.ts";
import type { Upstream } from "./upstream.ts";
import type { AskOptions } from "./upstream-options.ts";

const states = (pool: Pool): string => pool.nodes.map(({ state }) => state).join();

describe("a node", () => {
  it("is checked before it is usable", async () => {
    const { pool, clock, asked } = poolOf({ a: () => CHAIN_1 });
    expect(states(pool)).toBe("checking");
    await pool.start();
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

describe("a usable node", () => {
  it("that leads to another chain without a failure is kept out within a minute", async () => {
    let chain = CHAIN_1;
    const { pool, clock, asked, logged } = await startedPoolOf({ a: () => chain });
    await clock.advance(60_000);
    expect([asked, states(pool)]).toEqual([["a eth_chainId"], "usable"]);
    chain = '"result":"0x1092"';
    await clock.advance(60_000);
    expect(states(pool)).toBe("wrong chain");
    expect(logged.at(-1)).toBe("upstream is on another chain, and is not used");
    chain = CHAIN_1;
    await clock.advance(30_000);
    expect(states(pool)).toBe("usable");
  });

  it("that leads to another chain after a reconnection is kept out at once", async () => {
    let chain = CHAIN_1;
    const { pool, clock, reopen } = await startedPoolOf({ a: () => chain });
    chain = '"result":"0x1092"';
    reopen["a"]?.();
    expect(states(pool)).toBe("checking");
    await clock.advance(0);
    expect(states(pool)).toBe("wrong chain");
  });

  it("says when it is asked whether it is of this chain, and is kept out at once if not", async () => {
    let chain: string | Exchange = CHAIN_1;
    const { pool, asked } = await startedPoolOf({ a: () => chain });
    const [node] = pool.nodes as [Upstream];
    const twice = [node.confirmIdentity(), node.confirmIdentity()];
    expect([await Promise.all(twice), asked]).toEqual([[true, true], ["a eth_chainId"]]);
    chain = '"error":{"code":-32601,"message":"no"}';
    expect([await node.confirmIdentity(), states(pool)]).toEqual([false, "usable"]);
    chain = '"result":"0x1092"';
    expect([await node.confirmIdentity(), states(pool)]).toEqual([false, "wrong chain"]);
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
    ["a caller who went away", { kind: "aborted" }],
    [
      "a failure that it tells of, perhaps of this call alone,",
      '"error":{"code":-32000,"message":"execution aborted (timeout = 5s)"}',
    ],
  ])("is another one: %s changes nothing", async (_, answer) => {
    const { outcome, clock, asked } = await startedPoolOf({ a: saying(answer) });
    await clock.advance(1);
    await outcome();
    await clock.advance(0);
    expect(asked).toEqual(["a m"]);
  });

  it("is another one: a rate limit changes nothing, and is waited for", async () => {
    const { pool, outcome, clock, asked } = await startedPoolOf({
      a: saying('"error":{"code":429,"message":"slow down"}'),
    });
    const call = outcome();
    await clock.advance(0);
    await clock.advance(1_000);
    expect(await call).toBe("503 -32603 all upstreams of this network are at their rate limit");
    expect(asked).toEqual(["a m", "a eth_blockNumber", "a m", "a eth_blockNumber"]);
    expect(states(pool)).toBe("usable");
  });

  it("as it says itself, in this call alone, is not checked again for it", async () => {
    let end = (_: Exchange): void => undefined;
    const { pool, outcome, clock, asked } = await startedPoolOf({
      a: (method) => {
        if (method === "slow") return new Promise<Exchange>((resolve) => (end = resolve));
        return CHAIN_1;
      },
    });
    const slow = outcome("slow");
    await clock.advance(1);
    await outcome();
    const message = "execution aborted (timeout = 5s)";
    const body = Buffer.from(JSON.stringify({ id: null, error: { code: -32000, message } }));
    end({ kind: "answered", status: 200, body });
    expect(await slow).toBe("502 -32603 no upstream could answer");
    await clock.advance(0);
    expect(asked).toEqual(["a slow", "a m"]);
    expect(states(pool)).toBe("usable");
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
    // Each call fails some steps after the one before, one of them just when the check has ended.
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

const LIMITED = '"error":{"code":429,"message":"slow down, retry in 1s"}';

/** A node with a learned rate limit, whose last refusal is long enough ago that a call may exceed the limit. */
async function limited() {
  let answer = LIMITED;
  const { pool, clock, asked } = await startedPoolOf({
    a: (method) => (method === "eth_chainId" ? CHAIN_1 : answer),
  });
  const [node] = pool.nodes;
  const ask = async (options: AskOptions): Promise<string | undefined> =>
    (await node?.ask("m", "[]", new AbortController().signal, options))?.kind;
  await ask({});
  await clock.advance(5_000);
  answer = '"result":1';
  /** Asks the node until its budget is used up. */
  const useUp = async (): Promise<void> => {
    while ((await ask({})) === "result");
    asked.length = 0;
  };
  const refuse = async (): Promise<void> => {
    answer = LIMITED;
    await ask({ exceedsLearnedLimit: true });
    asked.length = 0;
  };
  return { ask, asked, useUp, refuse };
}

describe("a node whose limit is only learned", () => {
  it.each<{ rule: string; options: AskOptions; want: string }>([
    { rule: "is not asked beyond it", options: {}, want: "busy" },
    {
      rule: "is when nobody else can answer",
      options: { exceedsLearnedLimit: true },
      want: "result",
    },
    { rule: "is to follow the chain", options: { purpose: "follow" }, want: "result" },
    { rule: "is to check it", options: { purpose: "check" }, want: "result" },
    { rule: "is not probed beyond it", options: { purpose: "probe" }, want: "busy" },
  ])("$rule", async ({ options, want }) => {
    const { ask, asked, useUp } = await limited();
    await useUp();
    expect(await ask(options)).toBe(want);
    expect(asked).toEqual(want === "busy" ? [] : ["a m"]);
  });

  it.each<AskOptions>([{ exceedsLearnedLimit: true }, { purpose: "follow" }])(
    "is left alone for as long as it says, also by a call with %o",
    async (options) => {
      const { ask, asked, useUp, refuse } = await limited();
      await useUp();
      await refuse();
      expect(await ask(options)).toBe("busy");
      expect(asked).toEqual([]);
    },
  );
});

describe("a node that fails in what it is not asked for by callers", () => {
  it.each<[string, Exchange | string]>([
    ["unreachable", DOWN],
    ["timeout", { kind: "timeout" }],
    ["failure of its own", '"error":{"code":-32603,"message":"internal error"}'],
    ["answer to nobody", '"x":1'],
  ])("is neither blamed nor checked again: %s", async (_, answer) => {
    const { pool, clock, asked } = await startedPoolOf({ a: saying(answer) });
    const [node] = pool.nodes;
    const { signal } = new AbortController();
    for (let count = 0; count < 9; count += 1) {
      await clock.advance(1);
      await node?.ask("m", "[]", signal, { purpose: "probe" });
    }
    await clock.advance(0);
    expect(asked).toEqual(Array(9).fill("a m"));
    expect(states(pool)).toBe("usable");
    expect(node?.health.ofKind("other")).toMatchObject({ failures: 0, breaker: "closed" });
    expect(node?.health.inFlight).toBe(0);
  });

  it("is not heard in it", async () => {
    const { pool, clock } = await startedPoolOf({ a: saying({ kind: "timeout" }) });
    const node = pool.nodes[0] as Upstream;
    await clock.advance(1);
    const call = node.health.open("other");
    await clock.advance(1);
    await node.ask("m", "[]", new AbortController().signal, { purpose: "probe" });
    expect(node.health.isSilent(call)).toBe(true);
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
    expect(logged).toEqual(["upstream is on another chain, and is not used", "upstream is usable"]);
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

const result: Reply = { kind: "result", json: Buffer.from("1") };
const refused: Reply = { kind: "refused", code: 3, message: "no", json: "{}" };
const busy: Reply = { kind: "busy", retryAfterMs: 700 };
const failed: Reply = { kind: "failed", reason: "ECONNRESET" };
const told: Reply = { ...failed, isReported: true };

describe("a call of cost 5 while the budget makes it wait for 40 ms", () => {
  it.each<{ who: string; urgency: Urgency; tried?: true; exceeded?: true; want: number }>([
    { who: "waits", urgency: {}, tried: true, exceeded: true, want: 40 },
    { who: "that checks the node goes", urgency: { purpose: "check" }, want: 0 },
    { who: "that probes it waits", urgency: { purpose: "probe" }, tried: true, want: 40 },
    {
      who: "that exceeds a learned limit goes if it may",
      urgency: { exceedsLearnedLimit: true },
      tried: true,
      want: 0,
    },
    {
      who: "that exceeds a learned limit waits if it may not",
      urgency: { exceedsLearnedLimit: true },
      exceeded: true,
      want: 40,
    },
    {
      who: "that follows goes if the rate may be exceeded",
      urgency: { purpose: "follow" },
      exceeded: true,
      want: 0,
    },
    { who: "that follows waits if not", urgency: { purpose: "follow" }, tried: true, want: 40 },
  ])("$who", ({ urgency, tried, exceeded, want }) => {
    const budget = {
      waitMs: (cost: number) => (cost === 5 ? 40 : 0),
      mayExceedLearnedLimit: (cost: number) => cost === 5 && tried === true,
      mayBeExceeded: (cost: number) => cost === 5 && exceeded === true,
    };
    expect(budgetWaitMs(budget, 5, urgency)).toBe(want);
  });
});

describe("what a call's end says of the node", () => {
  it.each<{ reply: Reply; call: AttemptEnding; probe?: AttemptEnding; isSuspect?: true }>([
    { reply: result, call: "result" },
    { reply: refused, call: "refused" },
    { reply: { kind: "missing" }, call: "missing" },
    { reply: busy, call: "busy" },
    { reply: failed, call: "failed", probe: "aborted", isSuspect: true },
    { reply: told, call: "reported failure", probe: "aborted" },
    { reply: { kind: "timeout" }, call: "timeout", probe: "aborted", isSuspect: true },
    { reply: { kind: "aborted" }, call: "aborted" },
  ])("$reply.kind: $call", ({ reply, call, probe = call, isSuspect = false }) => {
    const { signal } = new AbortController();
    expect(endingOf(reply, { signal, isNoFault: false })).toBe(call);
    expect(endingOf(reply, { signal, isNoFault: true })).toBe(probe);
    expect(isSuspicious(reply)).toBe(isSuspect);
  });

  it("is that another one was faster, when it was given up for that", () => {
    const asked = { signal: AbortSignal.abort(LOST_RACE), isNoFault: false };
    expect(endingOf({ kind: "aborted" }, asked)).toBe("superseded");
    expect(endingOf(result, asked)).toBe("result");
  });
});

describe("what is learned from a reply", () => {
  it.each<{ reply: Reply; want: readonly string[] }>([
    { reply: result, want: ["has m with x", "took one of 9"] },
    { reply: refused, want: ["took one of 9"] },
    { reply: busy, want: ["refused one of 9 for 700"] },
    { reply: { kind: "missing" }, want: ["lacks m with x"] },
    { reply: { kind: "missing", isUnsure: true }, want: [] },
    { reply: failed, want: [] },
    { reply: { kind: "timeout" }, want: [] },
    { reply: { kind: "aborted" }, want: [] },
  ])("$reply.kind", ({ reply, want }) => {
    const seen: string[] = [];
    const note = (what: string): void => void seen.push(what);
    const missing = {
      found: (variant: string) => note(`has ${variant}`),
      remember: (variant: string) => note(`lacks ${variant}`),
    };
    const budget = {
      answered: (sentAt: number) => note(`took one of ${sentAt}`),
      limited: (ms: number | undefined, sentAt: number) =>
        note(`refused one of ${sentAt} for ${ms}`),
    };
    learnFrom(reply, { variant: "m with x", sentAtMs: 9 }, { missing, budget });
    expect(seen).toEqual(want);
  });
});
