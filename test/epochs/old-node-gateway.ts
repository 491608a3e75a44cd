// The real gateway over a node of 2021: one network is followed, the other passes calls on.
import { toQuantity } from "../../src/evm/values.ts";
import { post } from "../support/ask.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { askNoted, type NotedReply } from "./ask-noted.ts";
import { type GeneratedEpochs, NETWORK_ID } from "./generated-epochs.ts";
import type { EpochLog, Filter } from "./model.ts";
import { type OldNode, startOldNode } from "./old-node.ts";

/** The most logs of an answer, of the node and of the gateway. */
export const PRESET = 1_000;
export const WINDOW = 100;
/** The most epochs of one query to the node. */
const GAP = 1_000;

export type OverOldNode = {
  readonly node: OldNode;
  ask(filter: Filter, name?: string): Promise<NotedReply>;
  /** Sends one batch to the followed network; returns the logs of each member. */
  askBatch(filters: readonly Filter[]): Promise<(readonly EpochLog[])[]>;
  stop(): Promise<void>;
};

/** Starts both, and waits until the window is full. */
export async function startOverOldNode(chain: GeneratedEpochs): Promise<OverOldNode> {
  const node = await startOldNode(chain, { preset: PRESET, gap: GAP });
  const network = { family: "conflux", chainId: NETWORK_ID, upstreams: [{ url: node.url }] };
  const limits = { logs: { results: PRESET } };
  const gateway = await startGatewayProcess({
    networks: {
      followed: { ...network, limits, window: { blocks: WINDOW } },
      passed: { ...network, limits, window: { blocks: 0 } },
    },
  });
  const ask = (filter: Filter, name = "followed") =>
    askNoted(gateway.endpoint(name), "cfx_getLogs", [filter]);
  const tail = toQuantity(Math.max(0, chain.head.number - WINDOW + 1));
  await until(
    "the window is filled",
    async () => (await ask({ fromEpoch: tail })).source === "store",
  );
  const stop = async (): Promise<void> => {
    await gateway.stop();
    await node.close();
  };
  const askBatch = async (filters: readonly Filter[]) => {
    const calls = filters.map((filter, id) => ({
      jsonrpc: "2.0",
      id,
      method: "cfx_getLogs",
      params: [filter],
    }));
    const response = await post(gateway.endpoint("followed"), JSON.stringify(calls));
    return ((await response.json()) as { result: EpochLog[] }[]).map(({ result }) => result);
  };
  return { node, ask, askBatch, stop };
}
