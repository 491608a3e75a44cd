// Calls that a node refuses in words that no table has.
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { saying, startedPoolOf } from "../../../test/support/fake-pool.ts";
import {
  driven,
  lacking,
  networkOf,
  refused,
  result,
  scriptedCall,
} from "../../../test/support/scripted-call.ts";
import type { Reply } from "../reply.ts";
import type { Upstream } from "../upstream.ts";

const unknown = (message = "the flux is empty"): Reply => ({
  ...refused,
  ...{ code: -32000, message, doubt: "unknown" },
});

describe("a refusal in unknown words", () => {
  it("of the only node is its answer", async () => {
    const { log, outcome } = scriptedCall([{ says: [unknown()] }]);
    await outcome;
    expect(log).toEqual(["0 a", "refused: the flux is empty"]);
  });

  it.each<[what: string, second: Reply, want: string]>([
    ["a result", result('"0x1"'), '"0x1"'],
    ["the same", unknown(), "refused: the flux is empty"],
    ["the same with other numbers", unknown("the flux 5 is empty"), "refused: the flux is empty"],
    ["other unknown words", unknown("no flux"), "refused: the flux is empty"],
    ["a revert", refused, "refused: execution reverted"],
    ["that it lacks the state", lacking, "refused: the flux is empty"],
    ["that it is busy", { kind: "busy", retryAfterMs: 5_000 }, "refused: the flux is empty"],
    ["nothing", { kind: "timeout" }, "refused: the flux is empty"],
    ["that it lacks the method", { kind: "missing" }, "refused: the flux is empty"],
  ])("is asked of one more node: it says %s", async (_what, second, want) => {
    const { log, outcome } = scriptedCall([{ says: [unknown()] }, { says: [second] }, {}]);
    await outcome;
    const seen = log.filter((line) => /^\d+ [abc]$/.test(line) || line === want);
    expect(seen).toEqual(["0 a", "0 b", want]);
  });

  it("is asked of nobody where the call has no calls to nodes left", async () => {
    const ledger = { left: 0, attempted: () => undefined, merged: () => undefined };
    const { log, outcome } = scriptedCall([{ says: [unknown()] }, { says: [result("1")] }], {
      options: { ledger },
    });
    await outcome;
    expect(log).toEqual(["0 a", "refused: the flux is empty"]);
  });

  it("of a call that may not be repeated is its answer", async () => {
    const { log, outcome } = scriptedCall([{ says: [unknown()] }, { says: [result("1")] }], {
      method: "anvil_mine",
    });
    await outcome;
    expect(log).toEqual(["0 a", "refused: the flux is empty"]);
  });

  it("takes a hedge under way for the second opinion", async () => {
    const { log, outcome, answer, clock } = scriptedCall([{}, {}, {}]);
    await clock.advance(50);
    await answer("a", unknown());
    await answer("b", result('"0x2"'));
    await outcome;
    expect(log.filter((line) => / [abc]$/.test(line))).toEqual(["0 a", "50 b"]);
    expect(log.at(-1)).toBe('"0x2"');
  });
});

describe("words that a call taught", () => {
  const error = (message: string): string =>
    `"error":{"code":-32000,"message":${JSON.stringify(message)}}`;

  it("are this node's inability, once another node answered: then all others are asked", async () => {
    const { outcome, asked, pool } = await startedPoolOf({
      a: saying(error("flux 17 is empty")),
      b: saying('"result":"b"'),
    });
    expect(await outcome("eth_getBalance")).toBe('"b"');
    expect(pool.nodes[0]?.capabilities.toRecord().words).toEqual([
      ["eth_getBalance", "-32000 flux # is empty"],
    ]);
    asked.length = 0;
    expect(await outcome("eth_getBalance")).toBe('"b"');
    expect(asked).toEqual(["a eth_getBalance", "b eth_getBalance"]);
  });

  it("are an answer once two nodes said the same, and are not asked twice for a while", async () => {
    const { outcome, asked, clock } = await startedPoolOf({
      a: saying(error("flux 0xab is empty")),
      b: saying(error("flux 0xcd is empty")),
    });
    expect(await outcome("eth_getBalance")).toBe("200 -32000 flux 0xab is empty");
    expect(asked).toEqual(["a eth_getBalance", "b eth_getBalance"]);
    asked.length = 0;
    await outcome("eth_getBalance");
    expect(asked).toEqual(["a eth_getBalance"]);
    await outcome("eth_getCode"); // words are learned for one method
    expect(asked.slice(1)).toEqual(["a eth_getCode", "b eth_getCode"]);
    await clock.advance(600_000);
    asked.length = 0;
    await outcome("eth_getBalance");
    expect(asked).toEqual(["a eth_getBalance", "b eth_getBalance"]);
  });

  it("are not learned of a method that may quote its caller", async () => {
    const { outcome, pool, asked } = await startedPoolOf({
      a: saying(error("flux is empty")),
      b: saying('"result":"b"'),
    });
    expect(await outcome("debug_traceCall")).toBe('"b"');
    expect(pool.nodes[0]?.capabilities.toRecord().words).toEqual([]);
    expect(asked).toEqual(["a debug_traceCall", "b debug_traceCall"]);
  });
});

describe("a quorum", () => {
  it("asks another vendor in the place of one whose words may be its caller's", async () => {
    const doubted: Reply = { ...refused, code: -32000, message: "rate limit", doubt: "busy" };
    const asked: string[] = [];
    const nodeOf = (name: string, reply: Reply) =>
      ({
        ...{ name, options: { vendor: name }, isMissing: () => false },
        ask: async () => {
          asked.push(name);
          return reply;
        },
      }) as unknown as Upstream;
    const nodes = [
      nodeOf("a", doubted),
      nodeOf("b", result('"0x1"')),
      nodeOf("c", result('"0x1"')),
    ];
    const { signal } = new AbortController();
    const rule = { ask: 2, agree: 2 };
    const parts = { clock: new FakeClock(), network: networkOf(nodes) };
    const outcome = await driven({ method: "eth_call", signal, rule }, parts);
    expect(String(outcome.kind === "result" && outcome.json)).toBe('"0x1"');
    expect(asked).toEqual(["a", "b", "c"]);
  });
});
