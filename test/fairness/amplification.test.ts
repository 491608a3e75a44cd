// The most work that one call causes at nodes, over the real process and a node that takes one block at a time.
import { afterAll, beforeAll, expect, it } from "vitest";
import { post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const HEAD = 100_000;
const PRICE = 10;

let node: ScriptedNode;
let gateway: RunningGateway;

beforeAll(async () => {
  node = await startScriptedNode((call) => {
    if (call.method === "eth_blockNumber") return result(call, `"0x${HEAD.toString(16)}"`);
    const [{ fromBlock, toBlock }] = call.params as [{ fromBlock: string; toBlock: string }];
    if (fromBlock === toBlock) return result(call, "[]");
    const error = { code: -32005, message: "eth_getLogs is limited to a 1 block range" };
    return JSON.stringify({ jsonrpc: "2.0", id: call.id, error });
  });
  const upstreams = [{ url: node.url }];
  const network = { family: "evm", chainId: 1, window: { blocks: 0 }, upstreams };
  gateway = await startGatewayProcess({
    keys: [
      { name: "test", key: "test-key" },
      { name: "narrow", key: "narrow", limits: { upstreamCalls: 20 } },
      { name: "poor", key: "poor", rate: { computeUnits: 0.001, burst: 55 } },
    ],
    networks: { main: network },
  });
});

afterAll(async () => {
  await gateway.stop();
  await node.close();
});

const query = (from: number, to: number) => ({
  jsonrpc: "2.0",
  id: from,
  method: "eth_getLogs",
  params: [{ fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}` }],
});

type Reply = { result?: unknown; error?: { code: number; data: { from: string; to: string } } };
const ask = async (
  body: unknown,
  key?: string,
): Promise<{ told: Reply & Reply[]; status: number }> => {
  const response = await post(gateway.endpoint("main", key), JSON.stringify(body));
  return { told: (await response.json()) as Reply & Reply[], status: response.status };
};

/** @returns The number of log queries that the node got during `work`. */
const costOf = async (work: () => Promise<unknown>): Promise<number> => {
  const count = () => node.calls.filter(({ method }) => method === "eth_getLogs").length;
  const before = count();
  await work();
  return count() - before;
};

it("of one query of 10,000 blocks is bounded, and the range that is proposed works", async () => {
  let told: Reply = {};
  const cost = await costOf(async () => {
    told = (await ask(query(1, 10_000))).told;
  });
  expect(told.error).toMatchObject({ code: -32005, data: { rule: "upstreamCalls", limit: 200 } });
  expect(cost).toBeLessThanOrEqual(200); // 10,050 without a bound
  const { from, to } = told.error?.data ?? { from: "0x0", to: "0x0" };
  const proposed = query(Number(from), Number(to));
  expect(Number(to)).toBeGreaterThan(100);
  expect(
    await costOf(async () => expect((await ask(proposed)).told.result).toEqual([])),
  ).toBeLessThanOrEqual(200);
});

it("of a batch of nine is bounded as a whole", async () => {
  const batch = Array.from({ length: 9 }, (_, index) =>
    query(1 + index * 10_000, (index + 1) * 10_000),
  );
  let told: Reply[] = [];
  const cost = await costOf(async () => {
    told = (await ask(batch)).told;
  });
  for (const { error } of told) expect(error).toMatchObject({ code: -32005, data: { limit: 200 } });
  expect(cost).toBeLessThanOrEqual(1_009); // 92,579 without a bound
});

it("is bounded by the key where that says so", async () => {
  const { told } = await ask(query(1, 100), "narrow");
  expect(told.error).toMatchObject({ code: -32005, data: { rule: "upstreamCalls", limit: 20 } });
});

it("is charged as it is done, and ends with what is left of the key", async () => {
  let status = 0;
  const cost = await costOf(async () => {
    const asked = await ask(query(50_000, 50_099), "poor");
    status = asked.status;
    expect(asked.told.error).toMatchObject({ code: -32005, data: { rule: "rate" } });
  });
  expect([status, cost]).toEqual([429, 5]);
  const usage = { jsonrpc: "2.0", id: 1, method: "headgate_usage", params: [] };
  const { told } = await ask(usage, "poor");
  const { total } = told.result as { total: object };
  expect(total).toMatchObject({ computeUnits: 5 * PRICE, upstreamCalls: 5, refused: 1 });
});
