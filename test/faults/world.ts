// A gateway over nodes with changeable faults, with a load on each of its networks.

import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { ServedTime } from "../support/served-time.ts";
import { Load } from "./load.ts";
import { CHAIN_ID, STATE_METHODS } from "./node-answers.ts";
import type { NodeHandle, Nodes } from "./nodes.ts";
import { readGauge } from "./watch.ts";

export type NetworkShape = {
  readonly nodes: number;
  /** Whether the gateway follows the chain, or passes every call on. */
  readonly isFollowed: boolean;
};

export type Network = {
  readonly load: Load;
  /** The nodes in the order of the configuration. */
  readonly nodes: readonly NodeHandle[];
};

export type World = {
  readonly gateway: RunningGateway;
  readonly networks: readonly Network[];
  close(): Promise<void>;
};

const CALLERS_KEY = { name: "test", key: "test-key" };
const WINDOW_BLOCKS = 200;
/** The timeout of a call, in milliseconds. */
export const CALL_TIMEOUT_MS = 4_000;

/**
 * Starts the gateway, and waits until the windows are full. The loads are not started.
 *
 * @param options.keys More keys for the configuration, beside that of the load.
 * @param options.isBesideOthers Other tests run at the same time: their share of the machine makes no answer older.
 */
export async function openWorld(
  shapes: readonly NetworkShape[],
  options: { perSecond: number; seed: number; keys?: readonly object[]; isBesideOthers?: boolean },
  parts: { nodes: Nodes },
): Promise<World> {
  const nodesOf = await Promise.all(
    shapes.map(({ nodes }) => Promise.all(Array.from({ length: nodes }, () => parts.nodes.open()))),
  );
  const gateway = await startGatewayProcess({
    log: { level: "info" },
    keys: [CALLERS_KEY, ...(options.keys ?? [])],
    timeouts: { call: `${CALL_TIMEOUT_MS}ms` },
    networks: Object.fromEntries(
      shapes.map(({ isFollowed }, index) => [
        networkName(index),
        {
          family: "evm",
          chainId: CHAIN_ID,
          upstreams: nodesOf[index]?.map(({ url }, node) => ({ url, name: `node-${node + 1}` })),
          window: { blocks: isFollowed ? WINDOW_BLOCKS : 0 },
        },
      ]),
    ),
  });
  const { chain } = parts.nodes;
  const measured = [gateway.process, parts.nodes];
  const time = options.isBesideOthers ? new ServedTime(...measured) : undefined;
  const networks = shapes.map(({ isFollowed }, index) => {
    const url = gateway.endpoint(networkName(index));
    const load = new Load(
      { ...options, seed: options.seed + index, url, isFollowed },
      { chain, time },
    );
    return { load, nodes: nodesOf[index] ?? [] };
  });
  const close = async (): Promise<void> => {
    await Promise.all(networks.map(({ load }) => load.stop()));
    await gateway.stop();
    await Promise.all(nodesOf.flat().map((node) => node.close()));
  };
  const followed = shapes.filter(({ isFollowed }) => isFollowed).length;
  await until("the windows are full", async () => {
    const stored = await readGauge(gateway, "headgate_window_blocks");
    return stored >= followed * WINDOW_BLOCKS;
  }).catch(async (error) => {
    await close();
    throw error;
  });
  return { gateway, networks, close };
}

const networkName = (index: number): string => `network-${index + 1}`;

/** Methods that the gateway asks nodes for callers only, whether it follows the chain or not. */
const CALLERS_METHODS: ReadonlySet<string> = new Set([
  ...STATE_METHODS,
  "eth_sendRawTransaction",
  "eth_getTransactionByHash",
  "eth_getTransactionReceipt",
]);

export const stateCallsAt = (nodes: readonly NodeHandle[]): Promise<number> =>
  callsAt(nodes, STATE_METHODS);

export const callersCallsAt = (nodes: readonly NodeHandle[]): Promise<number> =>
  callsAt(nodes, CALLERS_METHODS);

/** The number of calls of these methods that the nodes have received since they were opened. */
async function callsAt(
  nodes: readonly NodeHandle[],
  methods: ReadonlySet<string>,
): Promise<number> {
  const counts = await Promise.all(nodes.map((node) => node.counts()));
  return counts
    .flatMap((count) => Object.entries(count))
    .filter(([method]) => methods.has(method))
    .reduce((sum, [, count]) => sum + count, 0);
}
