// Nodes that dropped the logs of old blocks answer as if these blocks had none. Callers get the logs while some node has
// them, in whatever order the nodes are asked.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { answerOf } from "../support/generated-chain/answers.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import { missing, result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const WINDOW = 20;
const PRUNED_BELOW = 300;

type Log = { readonly blockNumber: string };

const chain = new GeneratedChain({ seed: 16, logs: [2, 4], addresses: 2, topics: 4 });
chain.extend(400);
const address = chain.words.addresses[0] ?? "";

const logsOf = (params: readonly unknown[]): readonly Log[] =>
  JSON.parse(answerOf(chain, "eth_getLogs", params) ?? "[]");

const startNode = (change: (logs: readonly Log[]) => readonly Log[]): Promise<ScriptedNode> =>
  startScriptedNode((call) => {
    if (call.method === "eth_getLogs")
      return result(call, JSON.stringify(change(logsOf(call.params))));
    const json = answerOf(chain, call.method, call.params);
    return json === undefined ? missing(call) : result(call, json);
  });

const ORDERS = {
  a: ["pruned", "full"],
  b: ["full", "pruned"],
  c: ["pruned", "other", "full"],
  d: ["pruned", "full", "other"],
  e: ["full", "pruned", "other"],
  alone: ["pruned"],
  descending: ["descending"],
} as const;

describe("the logs of old blocks", () => {
  const nodes = new Map<string, ScriptedNode>();
  let gateway: RunningGateway;

  beforeAll(async () => {
    const isKept = ({ blockNumber }: Log): boolean => Number(blockNumber) >= PRUNED_BELOW;
    for (const name of ["pruned", "other"])
      nodes.set(name, await startNode((logs) => logs.filter(isKept)));
    nodes.set("full", await startNode((logs) => logs));
    nodes.set("descending", await startNode((logs) => logs.toReversed()));
    const networks = Object.entries(ORDERS).flatMap(([name, order]) =>
      [WINDOW, 0].map((blocks) => [
        `${name}${blocks}`,
        {
          ...{ family: "evm", chainId: 1, window: { blocks } },
          ...(blocks === 0 && { proof: "off" }),
          upstreams: order.map((node, price) => ({ name: node, price, url: nodes.get(node)?.url })),
        },
      ]),
    );
    gateway = await startGatewayProcess({ networks: Object.fromEntries(networks) });
  });
  afterAll(async () => {
    await gateway?.stop();
    await Promise.all([...nodes.values()].map((node) => node.close()));
  });

  async function query(network: string, filter: object) {
    const body = { jsonrpc: "2.0", id: 1, method: "eth_getLogs", params: [filter] };
    const response = await post(gateway.endpoint(network), JSON.stringify(body));
    const { result: logs } = (await response.json()) as { result: readonly Log[] };
    return { logs, proof: response.headers.get("x-headgate-proof"), status: response.status };
  }
  const rangeOf = (from: number, to: number) => ({
    ...{ fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}`, address },
  });
  const isReady = async (network: string): Promise<unknown> => {
    const { logs } = await query(network, rangeOf(chain.head.number, chain.head.number));
    return logs !== undefined;
  };

  const names = Object.keys(ORDERS).flatMap((name) => [`${name}${WINDOW}`, `${name}0`]);
  it.each(names.filter((name) => !name.startsWith("alone")))("are found by %s", async (name) => {
    await until("the network answers", () => isReady(name));
    for (const [from, to] of [
      [100, 140],
      [300, 340],
      [250, 250],
      [100, 299],
    ] as const) {
      const filter = rangeOf(from, to);
      expect(await query(name, filter)).toMatchObject({ status: 200, logs: logsOf([filter]) });
    }
    const blockHash = chain.block(150)?.hash;
    expect((await query(name, { blockHash })).logs).toEqual(logsOf([{ blockHash }]));
  });

  it.each([`alone${WINDOW}`, "alone0"])("are none with proof none from %s", async (name) => {
    await until("the network answers", () => isReady(name));
    const found = await query(name, rangeOf(100, 140));
    expect(found).toEqual({ logs: [], proof: "none", status: 200 });
  });
});
