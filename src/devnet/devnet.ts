// Real development nodes for a machine that has none: anvil and conflux-rust, with sample activity.
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import type { RpcCaller } from "../lib/rpc-caller.ts";
import type { Activity, SampleCall } from "./activity.ts";
import { CONFLUX_CHAIN_ID, confluxSettings, keepConfluxActive } from "./conflux-activity.ts";
import { EVM_CHAIN_ID, keepEvmActive } from "./evm-activity.ts";
import { anvilCommand, confluxCommand } from "./find-nodes.ts";
import { type Command, SupervisedNode } from "./supervise.ts";

export type DevnetNode = {
  readonly network: "eth-devnet" | "cfx-devnet";
  readonly family: "evm" | "conflux";
  readonly chainId: number;
  /** Chosen before the node is up. */
  readonly url: string;
  /** Calls that return something interesting, once there is something. Rejects when stopped before. */
  readonly samples: Promise<readonly SampleCall[]>;
};

export type Devnet = { readonly nodes: readonly DevnetNode[]; stop(): Promise<void> };

export type DevnetParts = { clock: Clock; log: Logger; connect: (url: string) => RpcCaller };

/** Returns as soon as the nodes are spawned; anvil answers a second later, conflux-rust after about ten. */
export async function startDevnet(parts: DevnetParts): Promise<Devnet> {
  const stopping = new AbortController();
  const folder = await mkdtemp(join(tmpdir(), "headgate-devnet-"));
  const [evmPort, confluxPort] = await freePorts(2);
  const running = [
    run(
      { network: "eth-devnet", family: "evm", chainId: EVM_CHAIN_ID, port: evmPort ?? 0 },
      { ...parts, signal: stopping.signal, activity: keepEvmActive },
      (port) => anvilCommand({ port, chainId: EVM_CHAIN_ID }),
    ),
    run(
      {
        network: "cfx-devnet",
        family: "conflux",
        chainId: CONFLUX_CHAIN_ID,
        port: confluxPort ?? 0,
      },
      { ...parts, signal: stopping.signal, activity: keepConfluxActive },
      (port) => confluxCommand(confluxSettings({ port, folder })),
    ),
  ].filter((one) => one !== undefined);
  return {
    nodes: running.map(({ node }) => node),
    stop: async () => {
      stopping.abort();
      for (const { supervised } of running) supervised.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    },
  };
}

type Kind = Pick<DevnetNode, "network" | "family" | "chainId"> & { port: number };

function run(
  { port, ...kind }: Kind,
  parts: DevnetParts & { signal: AbortSignal; activity: Activity },
  commandFor: (port: number) => Command | undefined,
): { node: DevnetNode; supervised: SupervisedNode } | undefined {
  const { clock, log, signal } = parts;
  const command = commandFor(port);
  if (!command) {
    const platform = `${process.platform} ${process.arch}`;
    log.warn(
      { network: kind.network },
      `no development node is available for ${platform}: going on without`,
    );
    return undefined;
  }
  const supervised = new SupervisedNode({ name: kind.network, command }, { clock, log });
  supervised.start();
  const url = `http://127.0.0.1:${port}`;
  const node = parts.connect(url);
  const samples = new Promise<readonly SampleCall[]>((resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("the development nodes were stopped")));
    void stayActive({ ...parts, node, ready: resolve });
  });
  samples.catch(() => undefined); // whoever wants to know awaits it
  return { node: { ...kind, url, samples }, supervised };
}

const RETRY_MS = 200;

/** Begins again whenever the node went away: a restarted development node is an empty one. */
async function stayActive(
  given: DevnetParts & {
    activity: Activity;
    node: RpcCaller;
    signal: AbortSignal;
    ready: (samples: readonly SampleCall[]) => void;
  },
): Promise<void> {
  const { activity, node, clock, signal, ready, log } = given;
  while (!signal.aborted) {
    try {
      await activity({ signal, ready }, { node, clock });
    } catch (error) {
      if (signal.aborted) return;
      log.debug({ err: error }, "sample activity pauses");
      await clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
  }
}

/** Ports that are free now, on the loopback interface. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, () => {
      const server = createServer();
      return new Promise<typeof server>((resolve) =>
        server.listen(0, "127.0.0.1", () => resolve(server)),
      );
    }),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
