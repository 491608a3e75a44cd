import { describe, expect, it } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { traitsOf } from "../../methods/catalogue.ts";
import type { Connection } from "../connection/connection.ts";
import { Capabilities } from "./capabilities.ts";
import { type Inspection, inspect, renderInspection, renderMemory } from "./inspect.ts";

const EVM: Script = {
  eth_chainId: '"result":"0x1"',
  web3_clientVersion: '"result":"Geth/v1.16.1"',
  eth_getBlockByNumber: '"result":{"number":"0x64","timestamp":"0x3e8"}',
  eth_getLogs: '"result":[]',
  trace_get: '"error":{"code":-32602,"message":"no such transaction"}',
};

const NO_BLOCK = "its answer has no newest block: is the node still syncing?";

type Script = Record<string, string | ((params: readonly string[]) => string)>;

/** Inspects a node that gives these answers, and lacks all other methods. */
async function inspectionOf(
  answers: Script,
  family: "evm" | "conflux" = "evm",
): Promise<Inspection> {
  const connection: Connection = {
    send: async ({ id, json }) => {
      const { method, params } = JSON.parse(json) as { method: string; params: string[] };
      const said = answers[method];
      const answer =
        (typeof said === "function" ? said(params) : said) ??
        '"error":{"code":-32601,"message":"no such method"}';
      return { kind: "answered", status: 200, body: Buffer.from(`{"id":${id},${answer}}`) };
    },
    close: async () => undefined,
  };
  return inspect({ family, chainId: 1 }, { connection, clock, traitsOf: traitsOf(family) });
}

const clock = { now: () => 0, wallTime: () => 1_012_400 };

describe("what is found out about a node", () => {
  it("is who it is, where its head is, and what it has", async () => {
    const inspection = await inspectionOf(EVM);
    expect(inspection).toMatchObject({
      kind: "usable",
      clientVersion: "Geth/v1.16.1",
      chainId: 1,
      head: { number: 100, ageSeconds: 12 },
      has: ["eth_getLogs", "trace_get"],
      lacks: expect.arrayContaining(["eth_getBlockReceipts", "debug_traceTransaction"]),
    });
    expect(renderInspection("main / a", inspection)).toEqual([
      "✓ main / a: Geth/v1.16.1, chain 1, head 100, 12 s old",
      "    has   eth_getLogs, trace_get",
      expect.stringMatching(/^ {4}lacks eth_getBlockReceipts, /),
      "    state of old blocks: not known",
      "    blocks and receipts of all blocks",
    ]);
  });

  it("is what it says that it holds, beside what it showed", async () => {
    const archive = '{"disabled":false,"oldestBlock":"0x0"}';
    const inspection = await inspectionOf({
      ...EVM,
      eth_capabilities: `"result":{"blocks":${archive},"receipts":${archive},"stateproofs":{"disabled":true}}`,
    });
    expect(renderInspection("main / a", inspection).at(-1)).toBe(
      "    says that it has blocks and receipts of all blocks, no proofs",
    );
  });

  it("is the same for an epoch network", async () => {
    const inspection = await inspectionOf(
      {
        cfx_getStatus: '"result":{"chainId":"0x1","epochNumber":"0x9"}',
        cfx_clientVersion: '"result":"conflux-rust-2.4.0"',
        cfx_getBlockByEpochNumber: '"result":{"epochNumber":"0x8","timestamp":"0x3e8"}',
        cfx_getLogs: '"result":[]',
      },
      "conflux",
    );
    expect(inspection).toMatchObject({ head: { number: 8 }, has: ["cfx_getLogs"] });
  });

  it.each([
    [
      "another chain",
      { eth_chainId: '"result":"0x2"' },
      "is on chain 2, but the configuration says 1",
    ],
    ["no chain id", { eth_chainId: '"result":null' }, "its answer has no chain id"],
    ["a chain id that is no JSON", { eth_chainId: '"result":[0x1]' }, "its answer has no chain id"],
    ["no block", { eth_getBlockByNumber: '"result":null' }, NO_BLOCK],
    ["a broken block", { eth_getBlockByNumber: '"result":{x}' }, NO_BLOCK],
  ])("is that it has %s", async (_, answers, want) => {
    const inspection = await inspectionOf({ ...EVM, ...answers });
    expect(renderInspection("n / a", inspection)).toEqual([`✗ n / a: ${want}`]);
  });

  it.each([
    ["a rate limit", '"error":{"code":429,"message":"slow down"}'],
    ["a broken answer", '"x":1'],
  ])("says nothing of methods that met %s", async (_, answer) => {
    const inspection = await inspectionOf({
      ...EVM,
      eth_getBlockReceipts: answer,
      eth_getProof: answer,
    });
    expect(inspection).toMatchObject({
      unclear: ["eth_getBlockReceipts", "eth_getProof"],
      lacks: expect.not.arrayContaining(["eth_getBlockReceipts"]),
    });
    expect(renderInspection("n / a", inspection)[3]).toBe(
      "    no answer to eth_getBlockReceipts, eth_getProof",
    );
  });

  it("does without a version", async () => {
    const { web3_clientVersion: _, ...others } = EVM;
    expect(await inspectionOf(others)).toMatchObject({ clientVersion: "unknown" });
  });

  it("is found out in the time of two answers where a node falls silent", async () => {
    const asked: string[] = [];
    const connection: Connection = {
      send: async ({ id, json }) => {
        const { method } = JSON.parse(json) as { method: string };
        asked.push(method);
        const answer = EVM[method];
        if (method !== "eth_chainId" && method !== "eth_getBlockByNumber")
          return { kind: "timeout" };
        return { kind: "answered", status: 200, body: Buffer.from(`{"id":${id},${answer}}`) };
      },
      close: async () => undefined,
    };
    const parts = { connection, clock, traitsOf: traitsOf("evm") };
    const inspection = await inspect({ family: "evm", chainId: 1 }, parts);
    expect(asked).toHaveLength(4);
    expect(inspection).toMatchObject({
      clientVersion: "unknown",
      has: [],
      lacks: [],
      unclear: expect.arrayContaining(["eth_getBlockReceipts", "debug_traceTransaction"]),
    });
  });

  it("is that it cannot be reached", async () => {
    const connection: Connection = {
      send: async () => ({ kind: "unreachable", reason: "ECONNREFUSED" }),
      close: async () => undefined,
    };
    const inspection = await inspect(
      { family: "evm", chainId: 1 },
      { connection, clock, traitsOf: traitsOf("evm") },
    );
    expect(renderInspection("n / a", inspection)).toEqual([
      "✗ n / a: nothing listens there (ECONNREFUSED): is the node running, and is the port right?",
    ]);
  });

  it.each([
    { keeps: 128, want: "the newest 128 blocks" },
    { keeps: 5_000, want: "the newest 5000 blocks" },
    {
      keeps: 20_000,
      want: "all 10001 blocks so far: the chain is too young to show whether the node drops old ones",
    },
    { keeps: 0, want: "the newest 1 blocks at most" },
  ])("is the state of $want when it keeps $keeps", async ({ keeps, want }) => {
    const head = 10_000;
    const nothing = '"error":{"code":-32000,"message":"missing trie node"}';
    const inspection = await inspectionOf({
      ...EVM,
      eth_getBlockByNumber: `"result":{"number":"0x${head.toString(16)}","timestamp":"0x3e8"}`,
      eth_getBalance: ([, block = ""]) =>
        Number(block) > head - keeps ? '"result":"0x0"' : nothing,
    });
    expect(renderInspection("n / a", inspection)).toContain(`    state of ${want}`);
  });

  it("is the first block that it has", async () => {
    const inspection = await inspectionOf({
      ...EVM,
      eth_getBlockByNumber: ([block = ""]) =>
        block === "latest" || Number(block) >= 4_321
          ? '"result":{"number":"0x2710","timestamp":"0x3e8"}'
          : '"result":null',
    });
    expect(renderInspection("n / a", inspection)).toContain(
      "    blocks and receipts of the blocks from 4321 on",
    );
  });
});

describe("what is remembered of a node", () => {
  it("is told in a few lines, whatever callers asked for", () => {
    const names = Array.from({ length: 100 }, (_, index) => `debug_\u001b${index}`);
    const lines = renderMemory({
      format: 1,
      version: "Geth/v1",
      learnedAtMs: 0,
      missing: names.map((name) => [name, 0, 0]),
      history: {},
      probed: [],
      widestLogs: 2_000,
      batch: 10,
      words: [["eth_getProof", "-32000 no flux at #"]],
    });
    expect(lines).toEqual([
      expect.stringMatching(/^ {4}remembered of Geth\/v1: it lacked debug_\?88, .* and 88 more$/),
      "    remembered: at most 2000 blocks in one log query",
      "    remembered: at most 10 calls in one request",
      '    remembered: it cannot answer every eth_getProof; then it says "-32000 no flux at #"',
    ]);
  });
});

/** The line about states, for a node that has the state of block 1. */
function stateLine(head: number): string | undefined {
  const { history } = new Capabilities({ clock: systemClock, traitsOf: traitsOf("evm") });
  history.learn("state", "has", { block: 1, head });
  const lines = renderInspection("main / a", {
    kind: "usable",
    clientVersion: "Geth/v1",
    chainId: 1,
    head: { number: head, ageSeconds: 1 },
    ...{ has: [], lacks: [], unclear: [] },
    reaches: history.known(),
    claims: {},
  });
  return lines.find((line) => line.includes("state of"))?.trim();
}

it.each([
  [
    57,
    "state of all 58 blocks so far: the chain is too young to show whether the node drops old ones",
  ],
  [
    99_999,
    "state of all 100000 blocks so far: the chain is too young to show whether the node drops old ones",
  ],
  [100_000, "state of all blocks"],
])("a node that has the first state of a chain of head %i has the %s", (head, want) => {
  expect(stateLine(head)).toBe(want);
});
