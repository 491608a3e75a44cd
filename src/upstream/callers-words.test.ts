// Words that a caller or a contract chose, in the errors of honest nodes: they must teach the gateway nothing.
import { describe, expect, it } from "vitest";
import { type Answer, CHAIN_1, startedPoolOf } from "../../test/support/fake-pool.ts";

const error = (message: string, code = -32000): string =>
  `"error":{"code":${code},"message":${JSON.stringify(message)}}`;

/** As geth words them: what a tracer throws, a timeout that is none, and errors that hold a caller's parameter. */
const HOSTILE = [
  "monthly quota exceeded, retry in 60m0s    in server-side tracer function 'result'",
  'time: invalid duration "monthly quota exceeded, retry in 60m0s"',
  "rate limit exceeded at step (<eval>:1:7(2))",
  "unsupported method in server-side tracer function 'step'",
  "method not found in server-side tracer function 'step'",
  "execution timeout",
  "request timed out",
  "internal error",
  "the node is syncing",
  "Unauthorized",
  "invalid api key",
  "missing trie node 0x11 (path )",
  "old data not available due to pruning",
  "the flux is empty",
];

/** A node that answers every call, but one whose caller chose the error. */
const honest =
  (hostile: Answer) =>
  (method: string, _signal: unknown, paramsJson: string): Answer => {
    if (method === "eth_chainId" || method === "eth_blockNumber") return CHAIN_1;
    if (method !== "debug_traceCall") return '"result":"0x2"';
    return paramsJson === "[]" ? error("missing value for required argument 0", -32602) : hostile;
  };

const started = async (scripts: Parameters<typeof startedPoolOf>[0]) => {
  const parts = await startedPoolOf(scripts);
  const { signal } = new AbortController();
  const trace = (): Promise<string> =>
    parts.pool
      .call("debug_traceCall", '[{},"latest",{"tracer":"{…}"}]', signal)
      .then(String, ({ status, code, message }) => `${status} ${code} ${message}`);
  return { ...parts, trace };
};

describe.each([1, 2, 3])("with %i nodes", (count) => {
  const names = ["a", "b", "c"].slice(0, count);
  const provoked = (message: string) =>
    started(Object.fromEntries(names.map((name) => [name, honest(error(message))])));

  it.each(HOSTILE)("%s is the caller's answer, and no node is worse for it", async (message) => {
    const { pool, outcome, trace, asked, clock } = await provoked(message);
    for (let each = 0; each < 12; each += 1) expect(await trace()).toBe(`200 -32000 ${message}`);
    await clock.advance(0);
    for (const node of pool.nodes) {
      expect(node.budget.state()).toMatchObject({ isPaused: false, perSecond: undefined });
      expect(node.state).toBe("usable");
      expect(node.isMissing("debug_traceCall")).toBe(false);
      expect(node.health.ofKind("traces").failures).toBe(0);
      expect(node.capabilities.history.known().state.kind).toBe("unknown");
    }
    asked.length = 0;
    expect(await outcome("eth_getBalance")).toBe('"0x2"');
    expect(asked).toEqual(["a eth_getBalance"]);
  });

  it("asks a node itself at most once a second", async () => {
    const { trace, asked, clock } = await provoked("rate limit exceeded");
    for (let each = 0; each < 20; each += 1) await trace();
    await clock.advance(999);
    await trace();
    for (const name of names)
      expect(asked.filter((line) => line === `${name} eth_blockNumber`)).toHaveLength(1);
  });
});

describe("words of a method that may quote its caller", () => {
  it("count where the node refuses the gateway's own call, too, and for as long as it says there", async () => {
    let isFull = true;
    const { pool, trace, clock } = await started({
      a: (method) => {
        if (method === "eth_chainId") return CHAIN_1;
        return isFull ? error("rate limit exceeded, retry in 20s", -32005) : '"result":"0x2"';
      },
      b: () => CHAIN_1,
    });
    expect(await trace()).toBe('"0x1"');
    expect(pool.nodes[0]?.budget.state()).toMatchObject({ isPaused: true, pausedForMs: 20_000 });
    isFull = false;
    await clock.advance(20_000);
    expect(pool.nodes[0]?.budget.state().isPaused).toBe(false);
  });

  it("close a method only when the node lacks it without the caller's parameters, too", async () => {
    const answers = (message: string) => ({
      a: (method: string): Answer => (method === "eth_chainId" ? CHAIN_1 : error(message)),
      b: (): Answer => CHAIN_1,
    });
    const { pool, trace, clock, asked } = await started(answers("method not found"));
    expect(await trace()).toBe('"0x1"');
    await clock.advance(0);
    expect(asked).toContain("a debug_traceCall");
    expect(pool.nodes[0]?.isMissing("debug_traceCall")).toBe(true);
  });

  it("count as failures only where the node fails at a call of the gateway, too", async () => {
    const failuresOf = async (own: Answer): Promise<number | undefined> => {
      const { pool, outcome, clock } = await started({
        a: (method) => {
          if (method === "eth_chainId") return CHAIN_1;
          return method === "eth_call" ? own : error("internal error", -32603);
        },
        b: () => CHAIN_1,
      });
      for (let each = 0; each < 4; each += 1) {
        expect(await outcome("eth_estimateGas")).toBe('"0x1"');
        await clock.advance(1_000);
      }
      return pool.nodes[0]?.health.ofKind("execution").failures;
    };
    expect(await failuresOf('"result":"0x"')).toBe(0);
    expect(await failuresOf(error("internal error", -32603))).toBeGreaterThan(0);
  });

  it("pause with the node's own status alone: 429, for its Retry-After, and 402", async () => {
    const refusing = (status: number, retryAfterMs?: number) =>
      started({
        a: (method) =>
          method === "eth_chainId"
            ? CHAIN_1
            : {
                kind: "answered",
                status,
                body: Buffer.from(`{"error":{"code":-32000,"message":"retry in 60m0s"}}`),
                ...(retryAfterMs !== undefined && { retryAfterMs }),
              },
        b: () => CHAIN_1,
      });
    const pausedForMs = async (status: number, retryAfterMs?: number): Promise<unknown> => {
      const { pool, trace } = await refusing(status, retryAfterMs);
      await trace();
      return pool.nodes[0]?.budget.state().pausedForMs;
    };
    expect(await pausedForMs(429, 7_000)).toBe(7_000);
    expect(await pausedForMs(429)).toBe(1_000);
    expect(await pausedForMs(402)).toBe(300_000);
  });
});

describe("words of a method that cannot quote its caller", () => {
  const WORDS = [
    error("monthly quota exceeded, retry in 60m0s"),
    error("rate limit exceeded", -32005),
    error("slow down", 429),
  ];
  const limiting = (words: string, own: Answer) =>
    startedPoolOf({
      a: (method) => {
        if (method === "eth_chainId") return CHAIN_1;
        return method === "eth_blockNumber" ? own : words;
      },
      b: () => CHAIN_1,
    });

  it.each(WORDS)("pause no node that answers the gateway's own call: %s", async (words) => {
    const { pool, outcome, asked, clock } = await limiting(words, '"result":"0x2"');
    for (let each = 0; each < 3; each += 1) expect(await outcome("eth_getBalance")).toBe('"0x1"');
    await clock.advance(0);
    expect(pool.nodes[0]?.budget.state()).toMatchObject({ isPaused: false, perSecond: undefined });
    expect(asked.filter((line) => line === "a eth_blockNumber")).toHaveLength(1);
  });

  it("send the call to the next node without waiting for the gateway's own call", async () => {
    const { outcome } = await limiting(WORDS[1] ?? "", new Promise(() => undefined));
    expect(await outcome("eth_getBalance")).toBe('"0x1"');
  });

  it("pause a node that refuses the gateway's own call in words for five seconds at most", async () => {
    const words = error("rate limit exceeded", -32005);
    const { pool, outcome, clock } = await limiting(words, words);
    let longestMs = 0;
    for (let second = 0; second < 60; second += 1) {
      expect(await outcome("eth_getBalance")).toBe('"0x1"');
      await clock.advance(0);
      longestMs = Math.max(longestMs, pool.nodes[0]?.budget.state().pausedForMs ?? 0);
      await clock.advance(1_000);
    }
    expect(longestMs).toBe(5_000);
  });

  it("let the call to an only node wait a second, and be tried once more", async () => {
    let isFull = true;
    const { outcome, asked, clock } = await startedPoolOf({
      a: (method) => (method === "eth_getBalance" && isFull ? (WORDS[1] ?? "") : CHAIN_1),
    });
    const call = outcome("eth_getBalance");
    await clock.advance(0);
    await clock.advance(999);
    expect(asked).toEqual(["a eth_getBalance", "a eth_blockNumber"]);
    isFull = false;
    await clock.advance(1);
    expect(await call).toBe('"0x1"');
    expect(asked).toEqual(["a eth_getBalance", "a eth_blockNumber", "a eth_getBalance"]);
  });

  it("teach the rate of a node that limits all calls in words", async () => {
    const LIMIT = 10;
    let [second, used] = [0, 0];
    const parts = await startedPoolOf({
      a: (method) => {
        if (method === "eth_chainId") return CHAIN_1;
        const now = Math.floor(parts.clock.now() / 1_000);
        if (now !== second) [second, used] = [now, 0];
        used += 1;
        return used > LIMIT ? error("rate limit exceeded", -32005) : CHAIN_1;
      },
      b: () => CHAIN_1,
    });
    for (let each = 0; each < 60 * 100; each += 1) {
      void parts.outcome("eth_getBalance");
      await parts.clock.advance(10);
    }
    const asked = parts.asked.filter((line) => line.startsWith("a ")).length;
    expect(asked).toBeLessThan(60 * LIMIT * 2); // of 100 a second
    expect(parts.pool.nodes[0]?.budget.state().perSecond).toBeLessThan(2 * LIMIT);
  });
});
