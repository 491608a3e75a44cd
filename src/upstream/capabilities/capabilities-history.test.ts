import { describe, expect, it } from "vitest";
import { traitsOf } from "../../methods/catalogue.ts";
import type { Reply } from "../reply.ts";
import { evidenceOf, History } from "./capabilities.ts";

const HEAD = 10_000;

/** The history after evidence such as "has 9000" and "lacks 1", with the head at 10,000. */
function historyAfter(...answers: readonly string[]): History {
  const history = new History({ onChange: () => undefined });
  for (const answer of answers) {
    const [kind, block] = answer.split(" ");
    history.learn("state", kind as "has" | "lacks", { block: Number(block), head: HEAD });
  }
  return history;
}

const part = { kind: "part", since: undefined };

describe("how far back a node reaches", () => {
  it.each([
    { after: [], want: { kind: "unknown" } },
    { after: ["has 10000"], want: { kind: "unknown" } },
    { after: ["has 1"], want: { kind: "all" } },
    { after: ["lacks 1"], want: { ...part, newest: 0, atMost: 9999, notAt: 1 } },
    {
      after: ["lacks 1", "has 9000"],
      want: { ...part, newest: 1001, atMost: 9999, since: 9000, notAt: 1 },
    },
    {
      after: ["lacks 9872", "has 9873"],
      want: { ...part, newest: 128, atMost: 128, since: 9873, notAt: 9872 },
    },
    { after: ["lacks 1", "has 1"], want: { kind: "all" } }, // the node synchronised again
    { after: ["has 1", "lacks 1"], want: { ...part, newest: 0, atMost: 9999, notAt: 1 } },
    {
      after: ["lacks 1", "has 2"],
      want: { ...part, newest: 9999, atMost: 9999, since: 2, notAt: 1 },
    },
  ])("after $after is $want", ({ after, want }) => {
    expect(historyAfter(...after).known().state).toEqual(want);
  });

  it("is the same after it was written and read", () => {
    const history = historyAfter("lacks 1", "has 9000");
    const again = new History({ onChange: () => undefined });
    again.restore(JSON.parse(JSON.stringify(history.toRecord())));
    expect(again.known()).toEqual(history.known());
    expect(again.isLacking("state", 1, HEAD)).toBe(true);
    expect(again.isLacking("state", 2, HEAD)).toBe(false);
    expect(again.isLacking("state", 5_000, HEAD + 5_000)).toBe(true); // as far behind the head as block 1 was
  });

  it("is news when it is, and not again", () => {
    let news = 0;
    const onChange = (): void => {
      news += 1;
    };
    const history = new History({ onChange });
    for (let block = 100; block < 110; block += 1)
      history.learn("state", "has", { block, head: block });
    expect(news).toBe(1);
    for (let times = 0; times < 3; times += 1)
      history.learn("state", "lacks", { block: 7, head: 110 });
    expect(news).toBe(2);
  });
});

const result = (json: string): Reply => ({ kind: "result", json: Buffer.from(json) });
const refused = (lacks?: "block" | "state" | "history"): Reply => ({
  kind: "refused",
  code: -32000,
  message: "no",
  json: "{}",
  lacks,
});

describe("what an answer tells of a block", () => {
  it.each<[string, string, Reply, number, string]>([
    ["a balance", "eth_getBalance", result('"0x0"'), 1, "has"],
    ["a block", "eth_getBlockByNumber", result("{}"), 1, "has"],
    ["no old block", "eth_getBlockByNumber", result("null"), 1, "lacks"],
    ["no new block: it may lag", "eth_getBlockByNumber", result("null"), 9_900, "nothing"],
    ["no uncle at this index", "eth_getUncleByBlockNumberAndIndex", result("null"), 1, "nothing"],
    ["no logs, or they were dropped", "eth_getLogs", result("[]"), 1, "nothing"],
    ["logs", "eth_getLogs", result("[{}]"), 1, "has"],
    ["dropped state", "eth_getBalance", refused("state"), 9_999, "lacks"],
    ["dropped history", "eth_getLogs", refused("history"), 1, "lacks"],
    ["an old block not found", "eth_getBalance", refused("block"), 1, "lacks"],
    ["a new block not found", "eth_getBalance", refused("block"), 9_999, "nothing"],
    ["another refusal", "eth_getBalance", refused(), 1, "nothing"],
    ["no answer", "eth_getBalance", { kind: "timeout" }, 1, "nothing"],
    ["no method", "trace_block", { kind: "missing" }, 1, "nothing"],
  ])("%s (%s)", (_, method, reply, block, want) => {
    expect(evidenceOf(traitsOf("evm")(method), reply, { block, head: HEAD })).toBe(want);
  });
});
