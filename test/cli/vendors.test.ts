// A vendor in one line: a scripted server stands for the vendor's hosts and paths, and serves each network under its
// own.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ask } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { textOf } from "../support/request-text.ts";

const CHAINS: Readonly<Record<string, string>> = {
  "/eth-mainnet.g.alchemy.com/v2/k-secret": "0x1",
  "/base-mainnet.g.alchemy.com/v2/k-secret": "0x2105",
  "/rpc.ankr.com/base/a-secret": "0x2105",
};

let server: Server;
let gateway: RunningGateway;
const asked: string[] = [];

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const { id, method } = JSON.parse(await textOf(request));
    const path = request.url ?? "";
    asked.push(`${path} ${method}`);
    const chainId = CHAINS[path];
    if (!chainId) return void response.writeHead(401).end('{"error":"no such key"}');
    const result = { eth_chainId: chainId, eth_gasPrice: chainId }[method as string] ?? null;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  gateway = await startGatewayProcess(
    {
      defaults: {
        upstreams: ["alchemy://k-secret", "ankr://a-secret"],
        network: { window: { blocks: 0 } },
        upstream: { probe: false, batch: 1 },
      },
      networks: { "eth-mainnet": {}, base: {} },
    },
    { HEADGATE_VENDORS_THROUGH: `http://127.0.0.1:${port}` },
  );
});

afterAll(async () => {
  await gateway.stop();
  server.closeAllConnections();
  server.close();
});

it("serves each network from the vendor's URL of it", async () => {
  for (const [network, price] of [
    ["eth-mainnet", "0x1"],
    ["base", "0x2105"],
  ] as const) {
    await until(`${network} answers`, async () => {
      const { result } = await ask(gateway.endpoint(network), "eth_gasPrice");
      return result === price;
    });
  }
  expect(asked).toContain("/eth-mainnet.g.alchemy.com/v2/k-secret eth_gasPrice");
});

it("asks both vendors for each network that both have, and does without the one that refuses", async () => {
  for (const path of ["/rpc.ankr.com/base/a-secret", "/rpc.ankr.com/eth/a-secret"])
    await until(`${path} is asked`, async () => asked.some((each) => each.startsWith(path)));
});

it("shows no key", async () => {
  const metrics = await (await fetch(gateway.metricsUrl)).text();
  expect(metrics).toContain('network="base"');
  expect(JSON.stringify(gateway.log) + metrics).not.toMatch(/k-secret|a-secret/);
});
