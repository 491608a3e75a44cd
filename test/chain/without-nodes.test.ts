// A gateway that starts over a whole store while no node answers: it answers what cannot change, says that the answer
// may be stale, and tells the last known head in the errors for all other calls.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { answerOf } from "../support/generated-chain/answers.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import { missing, result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const WINDOW = 40;
/** An old block that a caller asked for, so that the store keeps it. */
const OLD = 15;

const hex = (number: number): string => `0x${number.toString(16)}`;

type Asked = readonly [method: string, params: readonly unknown[]];

const HEAD = 80;
/** The highest final block, as the nodes say. */
const FINAL = HEAD - 16;

function grownChain(): GeneratedChain {
  const chain = new GeneratedChain({ seed: 21, transactions: [2, 3], logs: [1, 2] });
  chain.extend(HEAD);
  return chain;
}

/** Calls whose answers cannot change, or are told as the store has them. */
const fixedOf = (chain: GeneratedChain, { head } = chain): readonly Asked[] => [
  ["eth_getBlockByHash", [head.hash, true]],
  ["eth_getBlockByHash", [chain.block(OLD)?.hash, false]],
  ["eth_getBlockReceipts", [head.hash]],
  ["eth_getTransactionByHash", [head.signed[0]?.hash]],
  ["eth_getTransactionReceipt", [head.signed[1]?.hash]],
  ["eth_getBlockTransactionCountByHash", [head.hash]],
  ["eth_getTransactionByBlockHashAndIndex", [head.hash, "0x0"]],
  ["eth_getLogs", [{ blockHash: head.hash }]],
  ["eth_getBlockByNumber", [hex(FINAL), true]],
  ["eth_getBlockByNumber", [hex(OLD), true]],
  ["eth_getBlockReceipts", [hex(FINAL)]],
  ["eth_getLogs", [{ fromBlock: hex(FINAL - 10), toBlock: hex(FINAL) }]],
];

const UNSURE: readonly Asked[] = [
  ["eth_blockNumber", []],
  ["eth_getBlockByNumber", ["latest", false]],
  ["eth_getBlockByNumber", [hex(FINAL + 1), false]],
  ["eth_getBlockReceipts", [hex(HEAD)]],
  ["eth_getLogs", [{ fromBlock: hex(FINAL), toBlock: hex(FINAL + 1) }]],
  ["eth_getLogs", [{ fromBlock: hex(FINAL), toBlock: "latest" }]],
  ["eth_getBlockByHash", [`0x${"12".repeat(32)}`, false]],
  ["eth_getBalance", [`0x${"12".repeat(20)}`, hex(FINAL)]],
];

describe.each([
  { what: "one process, one node", count: 1, processes: 1 },
  { what: "two servers, two nodes", count: 2, processes: 2 },
])("a start without nodes, with $what", ({ count, processes }) => {
  const chain = grownChain();
  const { head } = chain;
  const fixed = fixedOf(chain);
  const data = mkdtempSync(join(tmpdir(), "without-nodes-"));
  let nodes: ScriptedNode[];
  let gateway: RunningGateway;

  const startNode = (port = 0): Promise<ScriptedNode> =>
    startScriptedNode((asked) => {
      const json = answerOf(chain, asked.method, asked.params);
      return json === undefined ? missing(asked) : result(asked, json);
    }, port);

  async function startGateway(urls: readonly string[]): Promise<void> {
    const upstreams = urls.map((url, index) => ({ name: `node-${index}`, url }));
    const main = { family: "evm", chainId: 1, window: { blocks: WINDOW }, upstreams };
    gateway = await startGatewayProcess({ data, processes, networks: { main } });
  }

  async function call(method: string, params: readonly unknown[]) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await post(gateway.endpoint("main"), body);
    const [source, stale] = ["x-headgate-source", "x-headgate-stale"].map((name) =>
      response.headers.get(name),
    );
    const answer = (await response.json()) as { result?: unknown; error?: { message: string } };
    return { ...answer, source, stale, status: response.status };
  }

  beforeAll(async () => {
    nodes = await Promise.all(Array.from({ length: count }, () => startNode()));
    const urls = nodes.map(({ url }) => url);
    await startGateway(urls);
    await until("the window is filled", async () => {
      const lowest = hex(HEAD - WINDOW + 1);
      const { source } = await call("eth_getLogs", [{ fromBlock: lowest, toBlock: lowest }]);
      return source === "store";
    });
    for (const reference of [hex(OLD), "finalized"])
      expect((await call("eth_getBlockByNumber", [reference, false])).status).toBe(200);
    await gateway.stop();
    await Promise.all(nodes.map((node) => node.close()));
    await startGateway(urls);
    await until("the store answers", async () => {
      return (await call("eth_getBlockByHash", [head.hash, false])).status === 200;
    });
  }, 60_000);
  afterAll(async () => {
    await gateway?.stop();
    await Promise.all(nodes.map((node) => node.close()));
    rmSync(data, { recursive: true });
  });

  it.each(fixed)("%s of %j is answered from the store", async (method, params) => {
    const { result: told, source, stale } = await call(method, params);
    expect(told).toEqual(JSON.parse(answerOf(chain, method, params) ?? ""));
    expect([source, Number(stale) >= 0 && stale !== null]).toEqual(["store", true]);
  });

  it("members of a batch are answered each by itself", async () => {
    const all = [...fixed.slice(0, 3), ...UNSURE.slice(0, 2)];
    const body = all.map(([method, params], id) => ({ jsonrpc: "2.0", id, method, params }));
    const response = await post(gateway.endpoint("main"), JSON.stringify(body));
    const answers = (await response.json()) as { result?: unknown }[];
    expect(answers.map((answer) => "result" in answer)).toEqual([true, true, true, false, false]);
  });

  it("other calls get an error that tells the last known head", async () => {
    const told = await Promise.all(UNSURE.map((asked) => call(...asked)));
    for (const { status, error } of told) {
      expect(status).toBe(503);
      expect(error).toMatchObject({ code: -32603 });
      expect(error?.message).toMatch(
        /^no upstream is available for this network: no node has confirmed a head for \d+ s, and the last known head is block 80$/,
      );
    }
  });

  it("all is as before once a node is back", async () => {
    const ports = nodes.map(({ url }) => Number(new URL(url).port));
    chain.extend(1);
    nodes = await Promise.all(ports.map((port) => startNode(port)));
    await until("the chain is followed again", async () => {
      return (await call("eth_blockNumber", [])).result === hex(chain.head.number);
    });
    const wanted: Asked = ["eth_getBlockByNumber", [hex(chain.head.number), true]];
    const told = await until("the head is stored", async () => {
      const each = await call(...wanted);
      return each.source === "store" ? each : undefined;
    });
    expect(told).toMatchObject({
      stale: null,
      result: JSON.parse(answerOf(chain, ...wanted) ?? ""),
    });
  });
});
