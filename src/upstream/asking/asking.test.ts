import { describe, expect, it } from "vitest";
import {
  DELAY_MS,
  failed,
  lacking,
  neverSent,
  refused,
  result,
  scriptedCall,
} from "../../../test/support/scripted-call.ts";
import type { Reply } from "../reply.ts";

const timeout: Reply = { kind: "timeout" };
const busy = (retryAfterMs: number): Reply => ({ kind: "busy", retryAfterMs });
const missing: Reply = { kind: "missing" };

describe("a call", () => {
  it.each<{ when: string; says: (Reply | undefined)[]; method?: string; log: string[] }>([
    {
      when: "the first answers",
      says: [result("1"), result("2")],
      log: ["0 a", "answered in 0", "1"],
    },
    {
      when: "the first refuses",
      says: [refused, result("2")],
      log: ["0 a", "refused: execution reverted"],
    },
    {
      when: "the first fails",
      says: [failed, result("2")],
      log: ["0 a", "failed", "0 b", "answered in 0", "2"],
    },
    {
      when: "the first is out of time",
      says: [timeout, refused],
      log: ["0 a", "failed", "0 b", "refused: execution reverted"],
    },
    {
      when: "two fail",
      says: [failed, busy(100), result("3")],
      log: ["0 a", "failed", "0 b", "failed", "0 c", "answered in 0", "3"],
    },
    {
      when: "all fail",
      says: [failed, timeout],
      log: ["0 a", "failed", "0 b", "502 no upstream could answer"],
    },
    {
      when: "all are out of time",
      says: [timeout, timeout],
      log: ["0 a", "failed", "0 b", "504 upstream timeout"],
    },
    {
      when: "all lack the method",
      says: [missing, missing],
      log: ["0 a", "failed", "0 b", "200 the method eth_call does not exist/is not available"],
    },
    {
      when: "all are asked too often",
      says: [busy(1_001), busy(60_000)],
      log: ["0 a", "failed", "0 b", "503 all upstreams of this network are at their rate limit"],
    },
    { when: "there is nobody", says: [], log: ["503 no upstream is available for this network"] },
    {
      when: "the first lacks old state",
      says: [lacking, result("2")],
      log: ["0 a", "cross-check", "0 b", "answered in 0", "2"],
    },
    {
      when: "all lack old state",
      says: [lacking, lacking],
      log: ["0 a", "cross-check", "0 b", "refused: missing trie node"],
    },
    {
      when: "one lacks old state and the other is down",
      says: [lacking, failed],
      log: ["0 a", "cross-check", "0 b", "refused: missing trie node"],
    },
    {
      when: "what acts may have been done",
      says: [failed, result("2")],
      method: "anvil_mine",
      log: ["0 a", "502 no upstream could answer"],
    },
    {
      when: "what acts ran out of time",
      says: [timeout, result("2")],
      method: "anvil_mine",
      log: ["0 a", "504 upstream timeout"],
    },
    {
      when: "what acts never left",
      says: [neverSent, result("2")],
      method: "anvil_mine",
      log: ["0 a", "failed", "0 b", "answered in 0", "2"],
    },
    {
      when: "what acts is not known to the first",
      says: [missing, result("2")],
      method: "anvil_mine",
      log: ["0 a", "failed", "0 b", "answered in 0", "2"],
    },
    {
      when: "a signed transaction may have been sent",
      says: [failed, result("2")],
      method: "eth_sendRawTransaction",
      log: ["0 a", "failed", "0 b", "answered in 0", "2"],
    },
  ])("when $when", async ({ says, method = "eth_call", log: want }) => {
    const nodes = says.map((reply) => ({ says: reply ? [reply] : [] }));
    const { log, left, idle, outcome } = scriptedCall(nodes, { method });
    await outcome;
    expect(log).toEqual(want);
    expect(left()).toEqual(idle);
  });

  it("passes over a node that is known to lack the method", async () => {
    const { log, outcome } = scriptedCall([{ lacks: "eth_call" }, { says: [result("2")] }]);
    await outcome;
    expect(log).toEqual(["0 b", "answered in 0", "2"]);
  });

  it("remembers who lacks this variant of the method, and asks the next", async () => {
    const variant = {
      name: "eth_call with overrides",
      isMissing: (reply: Reply) => reply === refused,
    };
    const nodes = [{ lacks: variant.name }, { says: [refused] }, { says: [result("3")] }];
    const { log, missing: lacked, outcome } = scriptedCall(nodes, { options: { variant } });
    await outcome;
    expect(log).toEqual(["0 b", "failed", "0 c", "answered in 0", "3"]);
    expect(lacked).toEqual(["b eth_call with overrides"]);
  });
});

describe("a call whose caller goes away", () => {
  it.each([
    { doing: "is being answered", nodes: [{}] },
    { doing: "is watched", nodes: [{}, {}] },
    { doing: "waits for budget", nodes: [{ waitMs: 300 }] },
  ])("leaves nothing behind when it $doing", async ({ nodes }) => {
    const { log, caller, clock, outcome, left, idle } = scriptedCall(nodes);
    caller.abort();
    await outcome;
    expect(left()).toEqual(idle);
    await clock.advance(60_000);
    expect(log.filter((line) => !line.endsWith(" a"))).toEqual(["504 upstream timeout"]);
  });

  it("ends the work of all nodes that were asked", async () => {
    const { caller, clock, aborted, outcome, left, idle } = scriptedCall([{}, {}, {}]);
    await clock.advance(DELAY_MS);
    await clock.advance(DELAY_MS);
    const reason = new Error("the caller went away");
    caller.abort(reason);
    await outcome;
    expect(aborted).toEqual([reason, reason, reason]); // not LOST_RACE
    expect(left()).toEqual(idle);
  });
});
