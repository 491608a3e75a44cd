// A head that no node confirms any more: callers do not get it as the newest block.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, type Envelope, post, read } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { processesOf } from "./callers.ts";

let anvil: AnvilNode;
let gateway: RunningGateway;

const start = async (settings: object): Promise<void> => {
  const upstreams = [{ url: anvil.url }];
  gateway = await startGatewayProcess({
    ...settings,
    networks: { main: { family: "evm", chainId: anvil.chainId, upstreams, staleAfter: "2s" } },
  });
  await until(
    "the chain is followed",
    async () => (await told("eth_blockNumber")).source === "store",
  );
};

/** Makes one call; returns its answer and its provenance. */
async function told(method: string, ...params: readonly unknown[]) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await post(gateway.endpoint("main"), body);
  const { result, error } = (await response.json()) as Envelope;
  const { headers, status } = response;
  const [source, stale] = [headers.get("x-headgate-source"), headers.get("x-headgate-stale")];
  return { result, error, status, source, stale };
}
const readiness = async (): Promise<string> => {
  const response = await fetch(`${gateway.url}/readyz`);
  return `${response.status} ${await response.text()}`;
};
const unready = (): Promise<unknown> =>
  until("it is not ready", async () => /^503 main: no node confirmed/.test(await readiness()));
const ready = (): Promise<unknown> =>
  until("it is ready", async () => (await readiness()) === "200 ready\n");

beforeEach(async () => {
  const node = await startAnvil();
  if (!node) throw new Error("there is no anvil for this machine");
  anvil = node;
});
afterEach(async () => {
  await gateway.stop();
  anvil.close();
});

describe("a head that is not confirmed", () => {
  it("since the writer hangs is not told: nodes are asked for what is newest, the store for the rest", async () => {
    await start({ processes: 2, timeouts: { heartbeat: "60s" } });
    const writer = (await processesOf(gateway.process.pid)).get("writer") ?? 0;
    await ready();
    process.kill(writer, "SIGSTOP");
    await ask(anvil.url, "evm_mine");
    const head = await read<string>(anvil.url, "eth_blockNumber");
    await unready();
    await until("both servers know", async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => told("eth_blockNumber")));
      return answers.every(({ source }) => source === "upstream");
    });
    const newest = await told("eth_blockNumber");
    expect(newest).toMatchObject({ result: head, source: "upstream" });
    expect(Number(newest.stale)).toBeGreaterThanOrEqual(2);
    expect((await told("eth_getBlockByNumber", "latest", false)).result).toMatchObject({
      number: head,
    });
    expect((await told("eth_getBlockByNumber", head, false)).result).toMatchObject({
      number: head,
    });
    const old = await told("eth_getBlockByNumber", "0x2", false);
    expect(old).toMatchObject({ result: { number: "0x2" }, source: "store" });
    expect(await (await fetch(gateway.metricsUrl)).text()).toContain(
      'headgate_head_stale{network="main"} 1',
    );
    process.kill(writer, "SIGCONT");
    await ready();
    await until("the store has the head", async () => {
      const { source, stale, result } = await told("eth_blockNumber");
      return source === "store" && stale === null && result === head;
    });
    const lines = gateway.log.filter(({ msg }) => msg?.startsWith("the head is "));
    const ofServer = lines.filter((line) => line["process"] === "server 1").map(({ msg }) => msg);
    expect(ofServer).toEqual([
      "the head is stale: the network is not ready",
      "the head is fresh again",
    ]);
  });

  it("since all nodes are away is not told: what is stored of the past is", async () => {
    await start({});
    await ready();
    await until("the past is stored", async () => {
      const { source } = await told("eth_getBlockByNumber", "0x2", false);
      return source === "store";
    });
    anvil.close();
    await until("it is away", () =>
      ask(anvil.url, "eth_chainId").then(
        () => false,
        () => true,
      ),
    );
    await unready();
    const newest = await told("eth_blockNumber");
    expect(newest.result).toBeUndefined();
    expect(newest.status).toBeGreaterThanOrEqual(502);
    const old = await told("eth_getBlockByNumber", "0x2", false);
    expect(old).toMatchObject({ result: { number: "0x2" }, source: "store" });
    expect(Number(old.stale)).toBeGreaterThanOrEqual(2);
    const logs = await told("eth_getLogs", { fromBlock: "0x0", toBlock: "0x4" });
    expect(logs.source).toBe("store");
  });

  it("but one that rests for long, according to its nodes, is the newest", async () => {
    await start({});
    await ready();
    const since = performance.now();
    await until("it is longer than a head may be unconfirmed", async () => {
      expect(await readiness()).toBe("200 ready\n");
      expect(await told("eth_blockNumber")).toMatchObject({ source: "store", stale: null });
      return performance.now() - since > 3_000;
    });
  });
});
