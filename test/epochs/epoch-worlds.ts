// Each node generation of this machine with a chain full of logs, and one gateway over all of them.

import { type ConfluxNode, type Generation, startConfluxNode } from "../support/conflux-nodes.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { askNoted } from "./ask-noted.ts";
import { type Stoppable, startEach, stopEach } from "./each-generation.ts";
import { fillWithLogs, type LogWords } from "./fill-with-logs.ts";
import { type EpochModel, readModel } from "./model.ts";

export type EpochWorld = LogWords & { readonly node: ConfluxNode; readonly model: EpochModel };

export type EpochWorlds = {
  readonly gateway: RunningGateway;
  world(generation: Generation): EpochWorld;
  /** The URL of a network over this generation's node, by the name of its settings. */
  endpoint(generation: Generation, name: string): string;
  stop(): Promise<void>;
};

/**
 * @param networks Settings by name; each becomes one network for each generation.
 * @param size The least size of each chain.
 */
export async function startEpochWorlds(
  networks: Readonly<Record<string, object>>,
  size: { epochs: number; logs: number },
): Promise<EpochWorlds> {
  const worlds = await startEach((generation) => startWorld(generation, size));
  let gateway: RunningGateway | undefined;
  const stop = async (): Promise<void> => {
    await gateway?.stop();
    await stopEach(worlds);
  };
  try {
    gateway = await startGatewayProcess({ networks: overEach([...worlds.values()], networks) });
    for (const generation of worlds.keys())
      for (const [name, settings] of Object.entries(networks))
        if (!("window" in settings)) await followed(gateway.endpoint(nameOf(generation, name)));
  } catch (error) {
    await stop();
    throw error;
  }
  const running = gateway;
  return {
    gateway: running,
    world: (generation) => worlds.get(generation) as EpochWorld,
    endpoint: (generation, name) => running.endpoint(nameOf(generation, name)),
    stop,
  };
}

async function startWorld(
  generation: Generation,
  size: { epochs: number; logs: number },
): Promise<EpochWorld & Stoppable> {
  const node = (await startConfluxNode(generation)) as ConfluxNode;
  try {
    const words = await fillWithLogs(node, { seed: 1, ...size });
    return { ...words, node, model: await readModel(node), stop: () => node.close() };
  } catch (error) {
    await node.close();
    throw error;
  }
}

const nameOf = (generation: Generation, name: string): string =>
  `v${generation.replace(".", "")}${name}`;

const overEach = (worlds: readonly EpochWorld[], networks: Readonly<Record<string, object>>) =>
  Object.fromEntries(
    worlds.flatMap(({ node: { generation, url, chainId } }) =>
      Object.entries(networks).map(([name, settings]) => [
        nameOf(generation, name),
        { family: "conflux", chainId, upstreams: [{ url }], ...settings },
      ]),
    ),
  );

/** Waits until the gateway has stored all epochs, down to the first. */
export const followed = (url: string): Promise<unknown> =>
  until("all epochs are in the store", async () => {
    const { source } = await askNoted(url, "cfx_getLogs", [{ fromEpoch: "0x0", toEpoch: "0x0" }]);
    return source === "store";
  });
