import { describe, expect, it } from "vitest";
import type { Reply } from "../reply.ts";
import { evidenceOf } from "./evidence.ts";

const HEAD = 10_000;
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
    expect(evidenceOf(method, reply, { block, head: HEAD })).toBe(want);
  });
});
