import { describe, expect, it } from "vitest";
import type { Connection } from "./connection/connection.ts";
import { type Findings, inspect, renderFindings } from "./inspect.ts";

const EVM: Record<string, string> = {
  eth_chainId: '"result":"0x1"',
  web3_clientVersion: '"result":"Geth/v1.16.1"',
  eth_getBlockByNumber: '"result":{"number":"0x64","timestamp":"0x3e8"}',
  eth_getLogs: '"result":[]',
  trace_get: '"error":{"code":-32602,"message":"no such transaction"}',
};

/** Inspects a node that says `answers`, and lacks every other method. */
async function findingsOf(
  answers: Record<string, string>,
  family: "evm" | "conflux" = "evm",
): Promise<Findings> {
  const connection: Connection = {
    send: async ({ id, json }) => {
      const { method } = JSON.parse(json) as { method: string };
      const answer = answers[method] ?? '"error":{"code":-32601,"message":"no such method"}';
      return { kind: "answered", status: 200, body: Buffer.from(`{"id":${id},${answer}}`) };
    },
    close: async () => undefined,
  };
  return inspect({ family, chainId: 1 }, { connection, clock });
}

const clock = { wallTime: () => 1_012_400 };

describe("what is found out about a node", () => {
  it("is who it is, where its head is, and what it has", async () => {
    const findings = await findingsOf(EVM);
    expect(findings).toMatchObject({
      kind: "usable",
      clientVersion: "Geth/v1.16.1",
      chainId: 1,
      head: { number: 100, ageSeconds: 12 },
      has: ["eth_getLogs", "trace_get"],
      lacks: expect.arrayContaining(["eth_getBlockReceipts", "debug_traceTransaction"]),
    });
    expect(renderFindings("main / a", findings)).toEqual([
      "✓ main / a: Geth/v1.16.1, chain 1, head 100, 12 s old",
      "    has   eth_getLogs, trace_get",
      expect.stringMatching(/^ {4}lacks eth_getBlockReceipts, /),
    ]);
  });

  it("is the same for an epoch network", async () => {
    const findings = await findingsOf(
      {
        cfx_getStatus: '"result":{"chainId":"0x1","epochNumber":"0x9"}',
        cfx_clientVersion: '"result":"conflux-rust-2.4.0"',
        cfx_getBlockByEpochNumber: '"result":{"epochNumber":"0x8","timestamp":"0x3e8"}',
        cfx_getLogs: '"result":[]',
      },
      "conflux",
    );
    expect(findings).toMatchObject({ head: { number: 8 }, has: ["cfx_getLogs"] });
  });

  it.each([
    [
      "another chain",
      { eth_chainId: '"result":"0x2"' },
      "is on chain 2, the configuration wants 1",
    ],
    ["no chain id", { eth_chainId: '"result":null' }, "no chain id in its answer"],
    ["a chain id that is no JSON", { eth_chainId: '"result":[0x1]' }, "no chain id in its answer"],
    ["no block", { eth_getBlockByNumber: '"result":null' }, "no newest block in its answer"],
    ["a broken block", { eth_getBlockByNumber: '"result":{x}' }, "no newest block in its answer"],
  ])("is that it has %s", async (_, answers, want) => {
    const findings = await findingsOf({ ...EVM, ...answers });
    expect(renderFindings("n / a", findings)).toEqual([`✗ n / a: ${want}`]);
  });

  it.each([
    ["a rate limit", '"error":{"code":429,"message":"slow down"}'],
    ["a broken answer", '"x":1'],
  ])("says nothing of methods that met %s", async (_, answer) => {
    const findings = await findingsOf({
      ...EVM,
      eth_getBlockReceipts: answer,
      eth_getProof: answer,
    });
    expect(findings).toMatchObject({
      unclear: ["eth_getBlockReceipts", "eth_getProof"],
      lacks: expect.not.arrayContaining(["eth_getBlockReceipts"]),
    });
    expect(renderFindings("n / a", findings)[3]).toBe(
      "    no answer to eth_getBlockReceipts, eth_getProof",
    );
  });

  it("does without a version", async () => {
    const { web3_clientVersion: _, ...others } = EVM;
    expect(await findingsOf(others)).toMatchObject({ clientVersion: "unknown" });
  });

  it("is that it cannot be reached", async () => {
    const connection: Connection = {
      send: async () => ({ kind: "unreachable", reason: "ECONNREFUSED" }),
      close: async () => undefined,
    };
    const findings = await inspect({ family: "evm", chainId: 1 }, { connection, clock });
    expect(renderFindings("n / a", findings)).toEqual(["✗ n / a: ECONNREFUSED"]);
  });
});
