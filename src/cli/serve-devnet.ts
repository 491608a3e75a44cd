// `headgate serve` without a configuration: two real development nodes, and the gateway over them.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "pino";
import { parseConfig } from "../config/parse-config.ts";
import type { Config } from "../config/schema.ts";
import { type Devnet, startDevnet } from "../devnet/devnet.ts";
import { systemClock } from "../lib/clock.ts";
import type { RpcCaller } from "../lib/rpc-caller.ts";
import { rpcCaller } from "../upstream/connection/rpc-caller.ts";
import { announce, printSamples } from "./devnet-guide.ts";
import { type Served, start, withPort } from "./start.ts";

/** Two real nodes, a demo key, and calls to paste. */
export async function serveDevnet(
  options: { readonly port: number | undefined },
  { log }: { readonly log: Logger },
): Promise<Served> {
  const clock = systemClock;
  const connect = (url: string): RpcCaller => rpcCaller(url, { clock });
  const devnet = await startDevnet({ clock, log, connect });
  // Every start is a new chain: what was stored of the last one is of no use.
  const data = await mkdtemp(join(tmpdir(), "headgate-devnet-"));
  const end = async (): Promise<void> => {
    await devnet.stop();
    await rm(data, { recursive: true, force: true });
  };
  try {
    const config = withPort(devnetConfig(devnet, data), options.port);
    const gateway = await start(config, { log, servers: 1 });
    announce(devnet, gateway.urls);
    for (const node of devnet.nodes) void printSamples(node, gateway.urls.server, connect);
    return {
      ...gateway,
      stop: async () => {
        await gateway.stop();
        await end();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

function devnetConfig({ nodes }: Devnet, data: string): Config {
  const networks = Object.fromEntries(
    nodes.map(({ network, family, chainId, url }) => [
      network,
      { family, chainId, upstreams: [{ url: pushingUrl(family, url), name: "devnet" }] },
    ]),
  );
  // JSON is YAML: the development configuration passes the same checks as everybody's.
  const parsed = parseConfig(
    JSON.stringify({ data, keys: [{ name: "demo", key: "demo" }], networks }),
    {},
  );
  if (parsed.kind === "mistakes") throw new Error(parsed.mistakes.join("\n"));
  return parsed.config;
}

/** anvil speaks WebSocket on the same port, and tells of its blocks there as they are mined. */
const pushingUrl = (family: "evm" | "conflux", url: string): string =>
  family === "evm" ? url.replace(/^http/, "ws") : url;
