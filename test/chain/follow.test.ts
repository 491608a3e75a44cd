// The answers from the followed chain equal the node's byte for byte, over the recorded chain of a real node.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, post } from "../support/ask.ts";
import {
  type ExecutionChain,
  executionChainAvailable,
  startExecutionChain,
} from "../support/execution-chain.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";

const NOWHERE = `0x${"12".repeat(32)}`;
const quantity = (value: number): string => `0x${value.toString(16)}`;

describe.skipIf(!executionChainAvailable)("the execution-apis chain, followed", () => {
  let chain: ExecutionChain;
  let gateway: RunningGateway;

  beforeAll(async () => {
    chain = await startExecutionChain();
    const { result } = await ask(chain.url, "eth_chainId");
    const upstreams = [{ url: chain.url }];
    gateway = await startGatewayProcess({
      networks: { main: { family: "evm", chainId: Number(result), upstreams } },
    });
    await until("the window is filled", async () =>
      gateway.log.find(({ msg }) => msg === "the window is filled"),
    );
  });

  afterAll(async () => {
    await gateway.stop();
    await chain.close();
  });

  /** Expects equal bodies from the gateway and the node; returns the headers of the gateway's answer. */
  async function compare(method: string, params: readonly unknown[]): Promise<Headers> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const [own, theirs] = await Promise.all([
      post(gateway.endpoint("main"), body),
      post(chain.url, body),
    ]);
    expect(await own.text()).toBe(await theirs.text());
    return own.headers;
  }

  type Block = { hash: string; transactions: { hash: string }[]; uncles: string[] };

  it("is answered from the store, byte for byte, proven in full, without a call to the node", async () => {
    for (let number = 0; number <= chain.headNumber; number += 1) {
      const at = quantity(number);
      const { result } = await ask(chain.url, "eth_getBlockByNumber", [at, true]);
      const { hash, transactions, uncles } = result as Block;
      const questions: (readonly [string, readonly unknown[]])[] = [
        ["eth_getBlockByNumber", [at, true]],
        ["eth_getBlockByNumber", [at, false]],
        ["eth_getBlockByHash", [hash, true]],
        ["eth_getBlockByHash", [hash, false]],
        ["eth_getBlockTransactionCountByNumber", [at]],
        ["eth_getBlockTransactionCountByHash", [hash]],
        ["eth_getUncleCountByBlockHash", [hash]],
        ["eth_getBlockReceipts", [at]],
        ["eth_getLogs", [{ blockHash: hash }]],
        ["eth_getLogs", [{ fromBlock: at, toBlock: at }]],
        ["eth_getTransactionByBlockHashAndIndex", [hash, quantity(transactions.length)]],
        ...[...uncles.keys(), uncles.length].map(
          (index) => ["eth_getUncleByBlockNumberAndIndex", [at, quantity(index)]] as const,
        ),
        ...transactions
          .slice(0, 4)
          .flatMap((transaction, index) => [
            ["eth_getTransactionByHash", [transaction.hash]] as const,
            ["eth_getTransactionReceipt", [transaction.hash]] as const,
            ["eth_getTransactionByBlockNumberAndIndex", [at, quantity(index)]] as const,
          ]),
      ];
      for (const [method, params] of questions) {
        const headers = await compare(method, params);
        expect([method, headers.get("x-headgate-source"), headers.get("x-headgate-proof")]).toEqual(
          [method, "store", "full"],
        );
        expect(headers.get("x-headgate-block")).toBe(`${number} ${chain.blockHashes[number]}`);
      }
    }
  });

  it("finds logs by address and topics over all blocks as the node does", async () => {
    const { result } = await ask(chain.url, "eth_getLogs", [{ fromBlock: "0x0" }]);
    const logs = result as { address: string; topics: string[] }[];
    const addresses = [...new Set(logs.map(({ address }) => address))];
    const topics = [...new Set(logs.flatMap((log) => log.topics))];
    const filters = [
      {},
      ...addresses.map((address) => ({ address })),
      { address: addresses },
      { address: addresses[0]?.toUpperCase().replace("X", "x") },
      ...topics.slice(0, 5).map((topic) => ({ topics: [topic] })),
      { topics: [topics.slice(0, 3)] },
      { topics: [null, topics] },
      { topics: [[null, topics[0]]] },
      { address: `0x${"77".repeat(20)}` },
      { address: [], topics: [] },
    ];
    for (const filter of filters) {
      const headers = await compare("eth_getLogs", [
        { fromBlock: "0x0", toBlock: "latest", ...filter },
      ]);
      expect(headers.get("x-headgate-source")).toBe("store");
      expect(headers.get("x-headgate-proof")).toBe("full");
    }
  });

  it.each(["latest", "earliest", "safe", "finalized"])("knows what %s is", async (tag) => {
    const headers = await compare("eth_getBlockByNumber", [tag, false]);
    expect(headers.get("x-headgate-source")).toBe("store");
    await compare("eth_getBlockReceipts", [tag]);
  });

  it.each([
    ["eth_getBlockByHash", [NOWHERE, true]],
    ["eth_getTransactionByHash", [NOWHERE]],
    ["eth_getTransactionReceipt", [NOWHERE]],
    ["eth_getBlockReceipts", [NOWHERE]],
  ])("asks for what it does not have: %s", async (method, params) => {
    const headers = await compare(method, params);
    expect(headers.get("x-headgate-source")).toBe("upstream");
    expect(headers.get("x-headgate-proof")).toBe("none");
  });

  it("asks for the state at its own head", async () => {
    const headers = await compare("eth_getBalance", [`0x${"11".repeat(20)}`, "latest"]);
    expect(headers.get("x-headgate-block")).toBe(
      `${chain.headNumber} ${chain.blockHashes[chain.headNumber]}`,
    );
  });

  it("says null of a block beyond the head", async () => {
    await compare("eth_getBlockByNumber", [quantity(chain.headNumber + 1), false]);
  });

  it("calls nodes only for what is not stored: not once for a batch of lookups", async () => {
    const callsFor = async (): Promise<number> => {
      const text = await (await fetch(gateway.metricsUrl)).text();
      const lines =
        text.match(/^headgate_upstream_calls_total\{.*purpose="call".*\} (\d+)$/gm) ?? [];
      return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    };
    const before = await callsFor();
    const batch = chain.blockHashes.map((hash, id) => ({
      jsonrpc: "2.0",
      id,
      method: "eth_getBlockByHash",
      params: [hash, true],
    }));
    const response = await post(gateway.endpoint("main"), JSON.stringify(batch));
    expect(response.headers.get("x-headgate-source")).toBe("store");
    expect(response.headers.get("x-headgate-proof")).toBe("full");
    expect((await response.json()) as unknown[]).toHaveLength(batch.length);
    expect(await callsFor()).toBe(before);
  });
});
