// `headgate serve`: runs the gateway until it is told to stop.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "pino";
import { StoreUnavailable } from "../chain/keeper-lock.ts";
import { parseConfig } from "../config/parse-config.ts";
import type { Config } from "../config/schema.ts";
import { type Devnet, startDevnet } from "../devnet/devnet.ts";
import { type Gateway, startGateway } from "../gateway.ts";
import { systemClock } from "../lib/clock.ts";
import type { RpcCaller } from "../lib/rpc-caller.ts";
import { createLog } from "../observe/log.ts";
import { rpcCaller } from "../upstream/connection/rpc-caller.ts";
import { announce, printSamples } from "./devnet-guide.ts";
import { CommandFailure, type Environment, readConfig } from "./read-config.ts";

export type ServeOptions = {
  /** Left out: development nodes of our own. */
  readonly configPath: string | undefined;
  /** Overrides the configured port. */
  readonly port: number | undefined;
};

/** Resolves once the gateway listens. Call what it gives to drain and stop. */
export async function serve(
  options: ServeOptions,
  environment: Environment,
): Promise<{ stop(): Promise<void> }> {
  return options.configPath === undefined
    ? serveDevnet(options)
    : serveConfigured(options, readConfig(options.configPath, environment));
}

async function serveConfigured(options: ServeOptions, config: Config): Promise<Gateway> {
  const log = createLog({ level: config.log.level, readable: process.stdout.isTTY });
  if (config.keys.length === 0) log.warn("no keys are configured: every call will be refused");
  if (config.processes !== 1) log.warn("more than one process is not supported yet: running one");
  return start(withPort(config, options.port), log);
}

/** Two real nodes, a demo key, and calls to paste. */
async function serveDevnet(options: ServeOptions): Promise<{ stop(): Promise<void> }> {
  const log = createLog({ level: "info", readable: process.stdout.isTTY });
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
    const gateway = await start(withPort(devnetConfig(devnet, data), options.port), log);
    announce(devnet, gateway.urls);
    for (const node of devnet.nodes) void printSamples(node, gateway.urls.door, connect);
    return {
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

async function start(config: Config, log: Logger): Promise<Gateway> {
  try {
    return await startGateway(config, { clock: systemClock, log });
  } catch (cause) {
    if (cause instanceof StoreUnavailable)
      throw new CommandFailure(cause.message, { exitCode: 1, cause });
    const { code, port } = cause as NodeJS.ErrnoException & { port?: number };
    if (code !== "EADDRINUSE") throw cause;
    throw new CommandFailure(
      `port ${port} is in use: stop what listens there, or choose another (listen.port, admin.listen.port, or --port)`,
      { exitCode: 1, cause },
    );
  }
}

const withPort = (config: Config, port: number | undefined): Config =>
  port === undefined
    ? config
    : {
        ...config,
        listen: { ...config.listen, port },
        admin: { listen: { ...config.admin.listen, port: port === 0 ? 0 : port + 1 } },
      };

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
