// Nodes that keep blocks longer than receipts, and nodes whose lists of receipts are short: the block is answered as
// proven, its receipts by a node that has them, and else null.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { answerOf } from "../support/generated-chain/answers.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import {
  failure,
  missing,
  type NodeCall,
  result,
  type ScriptedNode,
  startScriptedNode,
} from "../support/scripted-node.ts";

const OLD = 20;
/** The lowest block whose receipts the first kind of node keeps. */
const KEPT_FROM = 60;
const WINDOW = 10;

const chain = new GeneratedChain({ seed: 11, transactions: [2, 4], logs: [1, 2] });
chain.extend(80);
const hex = (number: number): string => `0x${number.toString(16)}`;
const old = chain.block(OLD) as NonNullable<ReturnType<typeof chain.block>>;
const first = old.signed[0]?.hash ?? "";

type Item = Readonly<Record<string, unknown>>;

/** Removes the receipts, and the logs, of old blocks: lists become empty, as those of reth 1.11. */
function pruned(honest: unknown, { method }: NodeCall): unknown {
  if (!/Receipt|Logs/.test(method)) return honest;
  const [item] = [honest].flat() as Item[];
  if (Number(item?.["blockNumber"]) >= KEPT_FROM) return honest;
  return method === "eth_getTransactionReceipt" ? null : [];
}

/** Leaves the last receipt out of each list. */
const short = (honest: unknown, { method }: NodeCall): unknown =>
  method === "eth_getBlockReceipts" ? (honest as Item[]).slice(0, -1) : honest;

/** Fails calls for receipts, so that nobody knows whether the node has them. */
const failing = (honest: unknown, { method }: NodeCall): unknown =>
  /Receipt/.test(method) && Number(([honest].flat()[0] as Item)?.["blockNumber"]) < KEPT_FROM
    ? FAILED
    : honest;
const FAILED = Symbol("failed");

const honestly = (honest: unknown): unknown => honest;

/** The nodes of each network, the cheapest first. */
const NETWORKS = {
  pruned: ["pruned"],
  "pruned-twice": ["pruned", "other"],
  "pruned-first": ["pruned", "whole"],
  "pruned-last": ["whole", "pruned"],
  "pruned-both": ["pruned", "other", "whole"],
  short: ["short"],
  "short-first": ["short", "whole"],
  "short-last": ["whole", "short"],
  "failing-first": ["failing", "pruned"],
  "failing-last": ["pruned", "failing"],
} as const;
type Name = keyof typeof NETWORKS;
const everyName = Object.keys(NETWORKS) as Name[];
const names = everyName.filter((name) => !name.startsWith("failing"));
const hasReceipts = (name: Name): boolean =>
  NETWORKS[name].some((node) => node === "whole" || node === "short");

describe("a block whose receipts a node does not give at once", () => {
  const nodes: Record<string, ScriptedNode> = {};
  let gateway: RunningGateway;

  beforeAll(async () => {
    const kinds = { pruned, other: pruned, whole: honestly, short, failing };
    for (const [name, change] of Object.entries(kinds))
      nodes[name] = await startScriptedNode((asked) => {
        const json = answerOf(chain, asked.method, asked.params);
        if (json === undefined) return missing(asked);
        const told = change(JSON.parse(json), asked);
        return told === FAILED
          ? failure(asked, '{"code":-32000,"message":"the database is busy"}')
          : result(asked, JSON.stringify(told));
      });
    const networks = Object.entries(NETWORKS).map(([name, kindsOf]) => {
      const upstreams = kindsOf.map((kind, price) => ({
        name: kind,
        url: nodes[kind]?.url,
        price,
      }));
      return [name, { family: "evm", chainId: 1, window: { blocks: WINDOW }, upstreams }] as const;
    });
    gateway = await startGatewayProcess({ networks: Object.fromEntries(networks) });
    for (const name of everyName)
      await until(`${name} is followed`, async () => {
        const { source } = await call(name, "eth_getBlockByNumber", ["latest", false]);
        return source === "store";
      });
  }, 60_000);
  afterAll(async () => {
    await gateway?.stop();
    await Promise.all(Object.values(nodes).map((node) => node.close()));
  });

  async function call(network: Name, method: string, params: readonly unknown[]) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await post(gateway.endpoint(network), body);
    const [source, proof] = ["x-headgate-source", "x-headgate-proof"].map((name) =>
      response.headers.get(name),
    );
    const answer = (await response.json()) as { result?: unknown; error?: { message: string } };
    return { ...answer, source, proof, status: response.status };
  }

  const OF_BLOCK: readonly (readonly [method: string, params: readonly unknown[]])[] = [
    ["eth_getBlockByNumber", [hex(OLD), true]],
    ["eth_getBlockByNumber", [hex(OLD + 1), false]],
    ["eth_getBlockByHash", [chain.block(OLD + 2)?.hash, true]],
    ["eth_getBlockTransactionCountByNumber", [hex(OLD + 3)]],
    ["eth_getBlockTransactionCountByHash", [chain.block(OLD + 4)?.hash]],
    ["eth_getTransactionByBlockNumberAndIndex", [hex(OLD + 5), "0x1"]],
    ["eth_getTransactionByBlockHashAndIndex", [chain.block(OLD + 6)?.hash, "0x1"]],
  ];

  describe.each(names)("over the nodes of %s", (name) => {
    it.each(OF_BLOCK)("%s is answered and proven", async (method, params) => {
      expect(await call(name, method, params)).toMatchObject({
        ...{ result: JSON.parse(answerOf(chain, method, params) ?? ""), proof: "full" },
      });
    });

    it("its receipts are told where a node has them, and are null elsewhere", async () => {
      const byHash = await call(name, "eth_getBlockByHash", [old.hash, false]);
      expect(byHash.proof).toBe("full");
      const receipts = JSON.parse(old.receiptsJson) as Item[];
      const wanted = hasReceipts(name)
        ? ([receipts, receipts[0], "full"] as const)
        : ([null, null, "none"] as const);
      for (const params of [[hex(OLD)], [old.hash]]) {
        const told = await call(name, "eth_getBlockReceipts", params);
        expect([told.result, told.proof]).toEqual([wanted[0], wanted[2]]);
      }
      const one = await call(name, "eth_getTransactionReceipt", [first]);
      expect(one.result).toEqual(wanted[1]);
    });

    it("its logs are told where a node has its receipts, and are not called empty elsewhere", async () => {
      const block = chain.block(OLD + 7);
      const blockHash = block?.hash;
      const logs = block?.logs.map(({ json }) => JSON.parse(json));
      const all = await call(name, "eth_getLogs", [{ blockHash }]);
      if (hasReceipts(name)) expect(all).toMatchObject({ result: logs, proof: "full" });
      else expect(all).toMatchObject({ status: 502, error: { code: -32603 } });
      const none = await call(name, "eth_getLogs", [
        { blockHash, address: `0x${"0d".repeat(20)}` },
      ]);
      expect(none).toMatchObject({ result: [], proof: "full" });
    });

    it("nobody is called a liar", async () => {
      const metrics = await (await fetch(gateway.metricsUrl)).text();
      const lies = metrics
        .split("\n")
        .filter((line) => line.startsWith("headgate_upstream_lies_total{"));
      expect(lies.filter((line) => !line.endsWith(" 0"))).toEqual([]);
    });
  });

  it.each<Name>(["failing-first", "failing-last"])(
    "no node's part of the receipts is told while another node fails: %s",
    async (name) => {
      expect(await call(name, "eth_getBlockByNumber", [hex(OLD), true])).toMatchObject({
        ...{ status: 200, proof: "full" },
      });
      for (const params of [[hex(OLD)], [old.hash]])
        expect((await call(name, "eth_getBlockReceipts", params)).result).toBeUndefined();
    },
  );
});
