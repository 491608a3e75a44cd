// Real development nodes for a machine that has none: anvil and conflux-rust, with sample activity.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "pino";
import type { Clock } from "../../../src/lib/clock.ts";
import type { RpcCaller } from "../../../src/upstream/connection/connect.ts";
import { keepActive, type SampleCall, type SetStage } from "./activity.ts";
import { CONFLUX_CHAIN_ID, confluxSettings, setConfluxStage } from "./conflux-activity.ts";
import { EVM_CHAIN_ID, setEvmStage } from "./evm-activity.ts";
import { keepStates } from "./kept-states.ts";
import {
  anvilCommand,
  type Command,
  confluxCommand,
  freePorts,
  SupervisedNode,
} from "./node-process.ts";

export type DevnetNode = {
  readonly network: "eth-devnet" | "cfx-devnet";
  readonly family: "evm" | "conflux";
  readonly chainId: number;
  /** The URL, which is known before the node answers. */
  readonly url: string;
  /** The sample calls, once the stage is set. Rejects when the node is stopped before. */
  readonly samples: Promise<readonly SampleCall[]>;
};

export type Devnet = { readonly nodes: readonly DevnetNode[]; stop(): Promise<void> };

/** The most bytes of states: those of more than a day's blocks take half of it. */
const STATES_BYTES = 1_073_741_824;

export type DevnetParts = { clock: Clock; log: Logger; connect: (url: string) => RpcCaller };

/**
 * Returns as soon as the nodes are spawned; anvil answers at once, conflux-rust after about ten seconds.
 * The nodes write to a temporary folder, which `stop` removes.
 */
export async function startDevnet(parts: DevnetParts): Promise<Devnet> {
  const ports = await freePorts("evm", "conflux", "peers");
  const folder = await mkdtemp(join(tmpdir(), "headgate-devnet-"));
  const settings = confluxSettings({ port: ports.conflux, peerPort: ports.peers, folder });
  const conflux = confluxCommand(settings);
  const plans: readonly Plan[] = [
    {
      network: "eth-devnet",
      family: "evm",
      chainId: EVM_CHAIN_ID,
      port: ports.evm,
      command: anvilCommand({ port: ports.evm, chainId: EVM_CHAIN_ID, folder }),
      setStage: setEvmStage,
    },
    {
      network: "cfx-devnet",
      family: "conflux",
      chainId: CONFLUX_CHAIN_ID,
      port: ports.conflux,
      command: conflux && { ...conflux, temporaryFolder: folder },
      setStage: setConfluxStage,
    },
  ];
  const stopping = new AbortController();
  const running = plans
    .map((plan) => run(plan, { ...parts, signal: stopping.signal }))
    .filter((one) => one !== undefined);
  const states = keepStates({ folder, budget: STATES_BYTES, signal: stopping.signal }, parts);
  return {
    nodes: running.map(({ node }) => node),
    stop: async () => {
      stopping.abort();
      await Promise.all([states, ...running.map(({ supervised }) => supervised.stop())]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

type Plan = Pick<DevnetNode, "network" | "family" | "chainId"> & {
  readonly port: number;
  readonly command: Command | undefined;
  readonly setStage: SetStage;
};

function run(
  { network, family, chainId, port, command, setStage }: Plan,
  { clock, log, connect, signal }: DevnetParts & { signal: AbortSignal },
): { node: DevnetNode; supervised: SupervisedNode } | undefined {
  if (!command) {
    const platform = `${process.platform} ${process.arch}`;
    log.warn(
      { network },
      `no development node is available for ${platform}: the gateway starts without it`,
    );
    return undefined;
  }
  const url = `http://127.0.0.1:${port}`;
  const supervised = new SupervisedNode({ name: network, command }, { clock, log });
  supervised.start();
  log.info({ node: network, url }, "development node started");
  const samples = new Promise<readonly SampleCall[]>((resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("the development nodes were stopped")));
    const ready = (calls: readonly SampleCall[]): void => {
      log.info(
        { node: network, tookMs: Math.round(supervised.ageMs()) },
        "development node is ready",
      );
      resolve(calls);
    };
    void keepActive({ setStage, signal, ready }, { node: connect(url), clock, log });
  });
  samples.catch(() => undefined); // callers that need the error await `samples`
  return { node: { network, family, chainId, url, samples }, supervised };
}
