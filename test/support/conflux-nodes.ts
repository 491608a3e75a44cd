// Real conflux-rust nodes of two generations, each with a private chain of its own.
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { CONFLUX_CHAIN_ID, confluxSettings } from "../../packages/devnet/src/conflux-activity.ts";
import {
  type Command,
  confluxCommand,
  freePorts,
  SupervisedNode,
} from "../../packages/devnet/src/node-process.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { RpcCaller } from "../../src/upstream/connection/connect.ts";
import { ask, fetchCaller } from "./ask.ts";
import { until } from "./processes.ts";

/** Versions of conflux-rust: v2.4.0 and v3.0.2. */
export type Generation = "2.4" | "3.0";

export type ConfluxNode = RpcCaller & {
  readonly url: string;
  readonly webSocketUrl: string;
  readonly chainId: number;
  readonly generation: Generation;
  close(): Promise<void>;
};

/** The key that owns the genesis funds. */
export const SECRET = "46b9e861b63d3509c88b7817275a30d22d62c8cd8fa6486ddee35ef0d8e0495f";

export const GENERATIONS: readonly Generation[] = ["2.4", "3.0"];

/** The generations that run on this machine. */
export const generationsHere = (): readonly Generation[] =>
  GENERATIONS.filter((generation) => commandOf(generation, {}) !== undefined);

/**
 * Starts a node and waits until it takes transactions. undefined where there is no such node for this machine.
 *
 * @param settings Further settings of the node, as its library spells them.
 */
export async function startConfluxNode(
  generation: Generation,
  { settings = {} }: { settings?: object } = {},
): Promise<ConfluxNode | undefined> {
  if (!commandOf(generation, {})) return undefined;
  const ports = await freePorts("port", "webSocket", "peerPort", "stratum");
  const folder = await mkdtemp(join(tmpdir(), "headgate-conflux-"));
  const command = commandOf(generation, {
    ...confluxSettings({ ...ports, folder }),
    jsonrpcLocalWsPort: ports.webSocket,
    stratumPort: ports.stratum,
    genesisSecrets: [SECRET],
    pollLifetimeInSeconds: 300, // without this the node has no filters
    ...settings,
  });
  const parts = { clock: systemClock, log: pino({ level: "silent" }) };
  const options = {
    name: "conflux",
    command: { ...(command as Command), temporaryFolder: folder },
  };
  const supervised = new SupervisedNode(options, parts);
  supervised.start();
  const url = `http://127.0.0.1:${ports.port}`;
  const close = async (): Promise<void> => {
    await supervised.stop();
    await rm(folder, { recursive: true, force: true });
  };
  // The node's stake takes eight seconds, and its search for peers two more.
  await until("the node takes transactions", () => isReady(url, generation)).catch(
    async (error) => {
      await close();
      throw error;
    },
  );
  return {
    url,
    webSocketUrl: `ws://127.0.0.1:${ports.webSocket}`,
    chainId: CONFLUX_CHAIN_ID,
    generation,
    ...fetchCaller(url),
    close,
  };
}

function commandOf(generation: Generation, settings: object): Command | undefined {
  const wrapped = confluxCommand(settings);
  if (generation === "2.4" || !wrapped) return wrapped;
  try {
    createRequire(import.meta.url).resolve("conflux-v3");
  } catch {
    return undefined;
  }
  const script = fileURLToPath(new URL("./conflux-node-process.ts", import.meta.url));
  return { file: process.execPath, args: [script, JSON.stringify(settings)] };
}

async function isReady(url: string, generation: Generation): Promise<boolean> {
  const method = generation === "2.4" ? "current_sync_phase" : "debug_currentSyncPhase";
  const { result } = await ask(url, method).catch(() => ({ result: undefined }));
  return result === "NormalSyncPhase";
}
