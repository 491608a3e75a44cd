import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { traitsOf } from "../../methods/catalogue.ts";
import type { Reply } from "../reply.ts";
import { Capabilities } from "./capabilities.ts";
import { type Claims, claimsText, RESOURCES, readClaims } from "./claims.ts";

const HEAD = 20_000;
const read = (told: unknown): Claims => readClaims(Buffer.from(JSON.stringify(told)), HEAD);
const hex = (number: number): string => `0x${number.toString(16)}`;
const window = (blocks: number) => ({ type: "window", retentionBlocks: hex(blocks) });

/** The answer of a geth that dropped the blocks before 15,000, indexes 2,000 blocks of logs, and keeps 128 states. */
const GETH = {
  head: { number: hex(HEAD), hash: `0x${"1".repeat(64)}` },
  state: { disabled: false, oldestBlock: hex(HEAD - 127), deleteStrategy: window(128) },
  tx: { disabled: false, oldestBlock: hex(15_000) },
  logs: { disabled: false, oldestBlock: hex(18_001), deleteStrategy: window(2_000) },
  receipts: { disabled: false, oldestBlock: hex(15_000) },
  blocks: { disabled: false, oldestBlock: hex(15_000) },
  stateproofs: { disabled: true },
};

const ALL = Number.POSITIVE_INFINITY;

describe("what a node says that it holds", () => {
  it("is read as the oldest block and the number of the newest blocks of each kind of data", () => {
    expect(read(GETH)).toEqual({
      blocks: { from: 15_000, newest: ALL },
      tx: { from: 15_000, newest: ALL },
      receipts: { from: 15_000, newest: ALL },
      logs: { from: 18_001, newest: 2_000 },
      state: { from: HEAD - 127, newest: 128 },
      stateproofs: { from: ALL, newest: 0 },
    });
  });

  it("is told in words", () => {
    expect(claimsText(read(GETH))).toBe(
      "blocks, transactions and receipts from block 15000 on, logs of the newest 2000 blocks, states of the newest 128 blocks, no proofs",
    );
    const archive = { disabled: false, oldestBlock: "0x0" };
    expect(claimsText(read({ blocks: archive, state: archive }))).toBe(
      "blocks and states of all blocks",
    );
    expect(claimsText({})).toBe("");
  });

  it.each([
    ["no object", null],
    ["a list", [1]],
    ["a text", "0x10"],
    ["no resources", {}],
    ["resources of other types", { state: 1, logs: "all", blocks: [], tx: null }],
    ["no range, as of Besu", { state: { disabled: false } }],
    ["an oldest block above the head", { state: { disabled: false, oldestBlock: hex(HEAD + 1) } }],
    ["a number as text", { state: { disabled: false, oldestBlock: "17" } }],
    ["a window of no block", { state: { disabled: false, deleteStrategy: window(0) } }],
    ["another strategy alone", { state: { disabled: false, deleteStrategy: { type: "none" } } }],
    ["no word whether it is disabled", { state: { oldestBlock: "0x1" } }],
    ["a long answer", { ...GETH, more: "x".repeat(20_000) }],
  ])("is nothing where it is %s", (_, told) => {
    expect(read(told)).toEqual({});
  });

  it("never throws, and never says of a node that it lacks the newest block without saying so of all", () => {
    const member = fc.oneof(
      fc.jsonValue(),
      fc.record(
        {
          disabled: fc.oneof(fc.boolean(), fc.jsonValue()),
          oldestBlock: fc.oneof(fc.nat().map(hex), fc.jsonValue()),
          deleteStrategy: fc.oneof(fc.nat().map(window), fc.jsonValue()),
        },
        { requiredKeys: [] },
      ),
    );
    const told = fc.record(Object.fromEntries(RESOURCES.map((name) => [name, member])));
    fc.assert(
      fc.property(told, (value) => {
        for (const { from, newest } of Object.values(read(value)))
          expect(newest === 0 ? from === ALL : from <= HEAD && newest > 0).toBe(true);
      }),
    );
  });
});

describe("a node with claims", () => {
  const evm = traitsOf("evm");
  const told = (): Capabilities => {
    const capabilities = new Capabilities({ clock: systemClock, traitsOf: evm });
    capabilities.claims.learn(read(GETH));
    return capabilities;
  };
  const lacks = (capabilities: Capabilities, method: string, block: number, head = HEAD): boolean =>
    capabilities.isLacking(evm(method).workKind, { block, head }, method);

  it.each([
    ["eth_getBlockByNumber", 14_999, true],
    ["eth_getBlockByNumber", 15_000, false],
    ["eth_getBlockReceipts", 14_999, true],
    ["eth_getTransactionByBlockNumberAndIndex", 14_999, true],
    ["eth_getLogs", 18_000, true],
    ["eth_getLogs", 18_001, false],
    ["eth_getBalance", HEAD - 128, true],
    ["eth_call", HEAD - 128, true],
    ["eth_call", HEAD - 127, false],
    ["eth_getProof", HEAD, true],
    ["trace_block", 1, false], // no claim is about traces
  ])("for %s at block %i seems to lack the data: %s", (method, block, want) => {
    expect(lacks(told(), method, block)).toBe(want);
  });

  it("lacks the blocks that its window has left since", () => {
    expect(lacks(told(), "eth_getBalance", HEAD - 100, HEAD + 27)).toBe(false);
    expect(lacks(told(), "eth_getBalance", HEAD - 100, HEAD + 28)).toBe(true);
  });

  const result: Reply = { kind: "result", json: Buffer.from('"0x1"') };
  const nothing: Reply = { kind: "result", json: Buffer.from("[]") };

  it("that answers nevertheless is believed to hold what it gave, and what is newer", () => {
    const capabilities = told();
    for (const method of ["eth_getBalance", "eth_getProof"]) {
      const asked = { method, traits: evm(method) };
      capabilities.correctClaims(asked, result, { block: 9_000, head: HEAD });
      expect(lacks(capabilities, method, 9_000)).toBe(false);
      expect(lacks(capabilities, method, HEAD)).toBe(false);
      expect(lacks(capabilities, method, 8_999)).toBe(true);
    }
  });

  it("that answers with nothing has proven nothing", () => {
    const capabilities = told();
    const asked = { method: "eth_getLogs", traits: evm("eth_getLogs") };
    capabilities.correctClaims(asked, nothing, { block: 9_000, head: HEAD });
    expect(lacks(capabilities, "eth_getLogs", 9_000)).toBe(true);
  });

  it("has none of another version", () => {
    const capabilities = told();
    capabilities.learnVersion("Geth/v1");
    capabilities.learnVersion("Geth/v2");
    expect(capabilities.claims.all).toEqual({});
  });
});
