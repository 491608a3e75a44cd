// The smallest fleet: two gateways over one Redis and one anvil.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { anvilCommand } from "../../packages/devnet/src/node-process.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import {
  type GatewaySettings,
  type RunningGateway,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { hasRedis, type RedisServer, startRedis } from "../support/redis-server.ts";
import { type AdminResponse, asker, TOKEN } from "../support/scripted-admin.ts";

export const canRunFleet = hasRedis && anvilCommand({ port: 1, chainId: 1 }) !== undefined;

/** One gateway of a fleet, with a data folder that outlives its process. */
export class FleetGateway {
  readonly #options: StartOptions;
  #running: RunningGateway;

  constructor(options: StartOptions, parts: Running) {
    this.#options = options;
    this.#running = parts.running;
  }

  get log(): RunningGateway["log"] {
    return this.#running.log;
  }

  get pid(): number | undefined {
    return this.#running.process.pid;
  }

  endpoint(key?: string): string {
    return this.#running.endpoint("main", key);
  }

  /** Asks the gateway's admin API; the answer must match the OpenAPI document. */
  admin(verb: string, path: string, body?: unknown): Promise<AdminResponse> {
    const admin = this.#running.metricsUrl.replace(/\/metrics$/, "");
    return asker((at, init) => fetch(admin + at, init))(verb, path, { body });
  }

  async kill(): Promise<void> {
    const { process } = this.#running;
    const dead = once(process, "exit");
    process.kill("SIGKILL");
    await dead;
  }

  /** Starts a process again after a kill or stop, on other ports. */
  async restart(): Promise<void> {
    await this.#running.stop();
    this.#running = await start(this.#options);
  }

  /** Sends SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null> {
    return this.#running.stop();
  }

  async close(): Promise<void> {
    await this.stop();
    await rm(this.#options.data, { recursive: true, force: true });
  }
}

export type Fleet = {
  readonly anvil: AnvilNode;
  readonly redis: RedisServer;
  readonly gateways: readonly [FleetGateway, FleetGateway];
  close(): Promise<void>;
};

/** @param settings Settings beyond two gateways with one key. */
export async function startFleet(settings: object = {}): Promise<Fleet> {
  const anvil = (await startAnvil()) as AnvilNode;
  const redis = await startRedis();
  const shared = { state: redis.url, ...settings };
  const gateways = await Promise.all([startOne(anvil, shared), startOne(anvil, shared)]);
  const close = async (): Promise<void> => {
    await Promise.all(gateways.map((gateway) => gateway.close()));
    await redis.close();
    anvil.close();
  };
  return { anvil, redis, gateways: gateways as [FleetGateway, FleetGateway], close };
}

/** Starts one gateway over the node, with an LMDB of its own unless the settings say otherwise. */
export async function startOne(anvil: AnvilNode, more: object): Promise<FleetGateway> {
  const upstreams = [{ url: anvil.url }];
  const settings = {
    admin: { listen: { port: 0 }, token: TOKEN },
    networks: { main: { family: "evm", chainId: anvil.chainId, upstreams } },
    ...more,
  };
  const data = await mkdtemp(join(tmpdir(), "headgate-fleet-"));
  return new FleetGateway({ settings, data }, { running: await start({ settings, data }) });
}

type StartOptions = { readonly settings: GatewaySettings; readonly data: string };
type Running = { readonly running: RunningGateway };

const start = ({ settings, data }: StartOptions): Promise<RunningGateway> =>
  startGatewayProcess({ data, ...settings });
