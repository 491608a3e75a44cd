// Tests the advice about the nodes of a network.
import { describe, expect, it } from "vitest";
import { adviceFor, type CheckedUpstream } from "./advice.ts";
import type { Inspection } from "./inspect.ts";

const whole: Extract<Inspection, { kind: "usable" }> = {
  kind: "usable",
  clientVersion: "geth",
  chainId: 1,
  head: { number: 1_000_000, ageSeconds: 1 },
  has: ["eth_getBlockReceipts", "trace_transaction"],
  lacks: [],
  unclear: [],
  reaches: { state: { kind: "all" }, history: { kind: "all" }, traces: { kind: "all" } },
  claims: {},
};

const node = (
  name: string,
  changed: Partial<CheckedUpstream> = {},
  found: Partial<typeof whole> = {},
): CheckedUpstream => ({
  name,
  url: "wss://x",
  vendor: name,
  takesBatches: "yes",
  widestLogs: undefined,
  vendorLimits: {},
  ...changed,
  found: changed.found ?? { ...whole, ...found },
});

const advice = (...upstreams: CheckedUpstream[]): string[] =>
  adviceFor({ network: "eth", family: "evm", logBlocks: 10_000, upstreams });

const recent = (atMost: number) =>
  ({ kind: "part", newest: atMost, atMost, since: undefined, notAt: 5 }) as const;

describe("the advice for a network", () => {
  it("is none where nothing is missing", () => {
    expect(advice(node("a"), node("b", { url: "https://b" }))).toEqual([]);
  });

  it("does not say that a method is missing when a node gave no answer to it", () => {
    const unclear = ["eth_getBlockReceipts", "debug_traceTransaction", "trace_transaction"];
    const found = { has: [], unclear };
    expect(advice(node("a", {}, found), node("b", {}, found))).toEqual([]);
  });

  it("begins with the limit that makes most calls of one", () => {
    expect(
      advice(node("a", { widestLogs: 5_000 }), node("b", { widestLogs: 10, takesBatches: "no" })),
    ).toEqual([
      "eth: b takes at most 10 blocks in a log query, so that a query of 10000 blocks costs 1000 calls. Add a node that takes more, or lower limits.logs.blocks.",
      "eth: a takes at most 5000 blocks in a log query, so that a query of 10000 blocks costs 2 calls. Add a node that takes more, or lower limits.logs.blocks.",
      "eth: b takes no batches: each call to it is a request of its own.",
    ]);
  });

  it("tells that another node takes more, and what a vendor says of itself", () => {
    expect(
      advice(
        node("a", { widestLogs: 10 }),
        node("b", { vendorLimits: { logBlocks: "5 in a trial", batches: "3 calls" } }),
      ),
    ).toEqual([
      expect.stringContaining("Other nodes take more, and are asked first."),
      "eth: b takes log queries of 5 in a trial.",
      "eth: b has these limits on batches: 3 calls.",
    ]);
  });

  it.each([
    { what: "traces", found: { has: ["eth_getBlockReceipts"] }, says: "no node has traces" },
    {
      what: "traces but debug_*",
      found: { has: ["eth_getBlockReceipts", "debug_traceTransaction"] },
      says: "makes trace_* from debug_*",
    },
    {
      what: "receipts of a block",
      found: { has: ["trace_transaction"] },
      says: "one call for each transaction",
    },
    {
      what: "old states",
      found: { reaches: { ...whole.reaches, state: recent(128) } },
      says: "older than the newest 128",
    },
  ])("says that $what are missing", ({ found, says }) => {
    expect(advice(node("a", {}, found), node("b", {}, found))).toEqual([
      expect.stringContaining(says),
    ]);
    expect(advice(node("a", {}, found), node("b"))).toEqual([]);
  });

  it("says in which of a vendor's plans the traces are that are missing", () => {
    const without = { has: ["eth_getBlockReceipts"] };
    const vendorLimits = { traces: "in paid plans" };
    expect(advice(node("a", { vendorLimits }, without), node("b", {}, without))).toEqual([
      expect.stringContaining("no node has traces"),
      "eth: a has traces in paid plans.",
    ]);
    expect(advice(node("a", { vendorLimits }, without), node("b"))).toEqual([]);
  });

  it("names a vendor that is closed, whether its node still answers or not", () => {
    const vendorLimits = { closed: "its end was announced" };
    const line = "eth: b: its end was announced. Add a node of another vendor.";
    expect(advice(node("a"), node("b", { vendorLimits }))).toEqual([line]);
    const found = { kind: "unusable", reason: "away" } as const;
    expect(advice(node("b", { vendorLimits, found })).at(-1)).toBe(line);
  });

  it("says what one node, one vendor and polling mean", () => {
    expect(advice(node("a", { url: "https://a" }))).toEqual([
      expect.stringContaining("wss://"),
      expect.stringContaining("a is the only node in use"),
    ]);
    expect(advice(node("a", { vendor: "v" }), node("b", { vendor: "v" }))).toEqual([
      expect.stringContaining("all nodes are of the vendor v:"),
    ]);
  });

  it("is to put right what is wrong where no node can be used", () => {
    const found = { kind: "unusable", reason: "away" } as const;
    expect(advice(node("a", { found }))).toEqual([
      "eth: no node can be used: solve the problems above.",
    ]);
  });

  it("asks no methods of block networks of an epoch network", () => {
    const upstreams = [node("a", {}, { has: [] }), node("b", {}, { has: [] })];
    const options = { network: "cfx", family: "conflux", logBlocks: undefined, upstreams } as const;
    expect(adviceFor(options)).toEqual([]);
  });
});
