// Log queries below the store's window: from two nodes that take few blocks at once (one anvil behind two servers), and
// from the kept segments of their answers.
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, post, read } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { textOf } from "../support/request-text.ts";

const WIDEST = 1_000;
const HEAD = 4_400;
const NEWEST_OLD = HEAD - 100;

type HttpServer = { readonly url: string; readonly queries: string[]; close(): void };

/** Passes all calls on to the node, but refuses log queries over too many blocks. */
async function serverTo(behind: AnvilNode): Promise<HttpServer> {
  const queries: string[] = [];
  const server: Server = createServer(async (request, response) => {
    const body = await textOf(request);
    const { id, method, params } = JSON.parse(body);
    const [from, to] = [Number(params?.[0]?.fromBlock), Number(params?.[0]?.toBlock)];
    if (method === "eth_getLogs") queries.push(`${from}-${to}`);
    const error = { code: -32600, message: `exceed maximum block range: ${WIDEST}` };
    const answer =
      method === "eth_getLogs" && to - from >= WIDEST
        ? JSON.stringify({ jsonrpc: "2.0", id, error })
        : await (await post(behind.url, body)).text();
    response.writeHead(200, { "content-type": "application/json" }).end(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    queries,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const widthOf = (range: string): number => {
  const [from, to] = range.split("-").map(Number);
  return Number(to) - Number(from) + 1;
};

const node = await startAnvil();

describe.skipIf(!node)("logs of blocks that are older than the window", () => {
  const anvil = node as AnvilNode;
  let servers: readonly HttpServer[];
  let folder: string;
  let gateway: RunningGateway;

  const start = async (): Promise<void> => {
    const upstreams = servers.map(({ url }, index) => ({ name: `node-${index}`, url }));
    const network = { family: "evm", chainId: anvil.chainId, upstreams, window: { blocks: 100 } };
    gateway = await startGatewayProcess({ data: folder, networks: { main: network } });
    await until("the window is filled", async () => {
      const { headers } = await logs(NEWEST_OLD + 1, HEAD);
      return headers.get("x-headgate-source") === "store";
    });
  };

  const logs = async (from: number, to: number) => {
    const blocks = { fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}` };
    const params = [{ ...blocks, address: anvil.emitter }];
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_getLogs", params });
    for (const { queries } of servers) queries.length = 0;
    const response = await post(gateway.endpoint("main"), body);
    const { result } = (await response.json()) as { result: unknown };
    expect(result).toEqual(await read(anvil.url, "eth_getLogs", params[0]));
    return { headers: response.headers, asked: servers.flatMap(({ queries }) => queries) };
  };

  beforeAll(async () => {
    const head = Number(await read(anvil.url, "eth_blockNumber"));
    await ask(anvil.url, "anvil_mine", [`0x${(HEAD - head).toString(16)}`]);
    servers = await Promise.all([serverTo(anvil), serverTo(anvil)]);
    folder = await mkdtemp(join(tmpdir(), "headgate-old-logs-"));
    await start();
  });

  afterAll(async () => {
    await gateway.stop();
    for (const server of servers) server.close();
    await rm(folder, { recursive: true });
    anvil.close();
  });

  it("come from the nodes, in pieces that these take", async () => {
    const { headers, asked } = await logs(0, HEAD);
    expect(headers.get("x-headgate-source")).toBe("upstream");
    expect(headers.get("x-headgate-proof")).toBe("partial");
    const taken = asked.filter((range) => widthOf(range) <= WIDEST);
    expect(new Set(taken)).toEqual(
      new Set(["0-999", "1000-1999", "2000-2999", "3000-3999", `4000-${NEWEST_OLD}`]),
    );
  });

  it("are asked for as wide as the nodes said, and kept where they are final", async () => {
    await until("all whole segments are kept", async () => {
      const { asked } = await logs(0, NEWEST_OLD);
      expect(asked.filter((range) => widthOf(range) > WIDEST)).toEqual([]);
      return asked.every((range) => range === `4000-${NEWEST_OLD}`);
    });
    const { headers, asked } = await logs(3, 3_000);
    expect(asked).toEqual([]);
    expect(headers.get("x-headgate-source")).toBe("store");
    expect(headers.get("x-headgate-proof")).toBe("none");
    // Of blocks without logs a second node is asked, until the first one has shown that it has logs as old.
    const again = await logs(1_500, HEAD);
    expect(new Set(again.asked)).toEqual(new Set([`4000-${NEWEST_OLD}`]));
  });

  it("are there after a restart", async () => {
    await gateway.stop();
    await start();
    await logs(0, NEWEST_OLD); // the gateway learns again how many blocks the nodes take
    expect((await logs(0, 3_999)).asked).toEqual([]);
  });
});
