// The gateway keeps traces of final blocks with the block, and answers them without a node.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, post, read } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { type LackingNode, startLackingNode } from "./live/lacking-node.ts";

const TYPES = ["trace", "stateDiff", "vmTrace"];

describe("traces of a final block", () => {
  let anvil: AnvilNode | undefined;
  let node: LackingNode;
  let gateway: RunningGateway;
  let url: string;
  let last: string;

  beforeAll(async () => {
    anvil = await startAnvil();
    if (!anvil) throw new Error("there is no anvil for this machine");
    last = anvil.transactions.at(-1) ?? "";
    node = await startLackingNode(anvil.url, /^trace_/);
    const upstreams = [{ url: node.url }];
    gateway = await startGatewayProcess({
      networks: { eth: { family: "evm", chainId: anvil.chainId, upstreams } },
    });
    url = gateway.endpoint("eth");
    await until("the chain is followed", async () => (await source("eth_blockNumber")) === "store");
  });
  afterAll(async () => {
    await gateway?.stop();
    await node?.close();
    anvil?.close();
  });

  /** The answer with its provenance. */
  async function answer(method: string, params: readonly unknown[] = []) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await post(url, body);
    return { source: response.headers.get("x-headgate-source"), body: await response.text() };
  }
  const source = async (method: string, params: readonly unknown[] = []) =>
    (await answer(method, params)).source;
  const replay = () => answer("trace_replayTransaction", [last, TYPES]);

  it("are asked for once, from when on it is final", async () => {
    const first = await replay();
    expect(first).toMatchObject({
      source: "upstream",
      body: expect.stringContaining('"vmTrace":{'),
    });
    expect((await replay()).source).toBe("upstream"); // not final: a reorg may still drop the block

    await read(anvil?.url ?? "", "anvil_mine", "0x60");
    await until("it is final", async () => {
      const { result } = await ask(url, "eth_getBlockByNumber", ["finalized", false]);
      return Number((result as { number: string }).number) > 10;
    });
    const kept = await until("it is kept", async () => {
      const now = await replay();
      return now.source === "store" ? now : undefined;
    });
    expect(kept.body).toBe(first.body);
    expect(await source("trace_transaction", [last])).toBe("store");
  });

  it("are answered while the node is away", async () => {
    const known = await replay();
    await node.close();
    expect(await replay()).toEqual(known);
    expect(await source("trace_get", [last, []])).toBe("store");
  });
});
