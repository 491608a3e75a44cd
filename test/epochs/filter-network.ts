// A gateway with filters over two proxies before one real node, and a contract that emits chosen logs.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { read } from "../support/ask.ts";
import { type ConfluxNode, type Generation, startConfluxNode } from "../support/conflux-nodes.ts";
import { type ConfluxSender, openSender, type Sending } from "../support/conflux-sender.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { askNoted } from "./ask-noted.ts";
import { creationCode, inputOf } from "./log-contract.ts";
import type { EpochLog } from "./model.ts";
import { type PassThrough, startPassThrough } from "./pass-through.ts";

export type Block = { readonly hash: string; readonly epochNumber: string };

export class FilterNetwork {
  readonly node: ConfluxNode;
  readonly sender: ConfluxSender;
  readonly contract: string;
  readonly upstreams: readonly PassThrough[];
  readonly #data: string;
  #gateway: RunningGateway;

  constructor(given: {
    node: ConfluxNode;
    sender: ConfluxSender;
    contract: string;
    upstreams: readonly PassThrough[];
    data: string;
    gateway: RunningGateway;
  }) {
    this.node = given.node;
    this.sender = given.sender;
    this.contract = given.contract;
    this.upstreams = given.upstreams;
    this.#data = given.data;
    this.#gateway = given.gateway;
  }

  get url(): string {
    return this.#gateway.endpoint("main");
  }

  /** Kills the gateway, as a loss of power would. */
  async kill(): Promise<void> {
    const dead = once(this.#gateway.process, "exit");
    this.#gateway.process.kill("SIGKILL");
    await dead;
  }

  async startAgain(): Promise<void> {
    this.#gateway = await startGateway(this.node, this.upstreams, this.#data);
  }

  async stop(): Promise<void> {
    await this.#gateway.stop();
    await Promise.all(this.upstreams.map((each) => each.close()));
    await this.node.close();
    await rm(this.#data, { recursive: true, force: true });
  }

  /** Waits until the gateway has followed all epochs that the node has executed. */
  async settled(): Promise<Block> {
    return until("the gateway has the node's newest epoch", async () => {
      const newest = await read<Block>(
        this.node.url,
        "cfx_getBlockByEpochNumber",
        "latest_state",
        false,
      );
      const { block } = await askNoted(this.url, "cfx_getLogs", [{ fromEpoch: "latest_state" }]);
      return block === `${Number(newest.epochNumber)} ${newest.hash}` && newest;
    });
  }

  /** A transaction that emits two logs: one with a topic, one without. */
  emitting(mark: number): Sending {
    const data = `0x${mark.toString(16).padStart(4, "0")}`;
    return {
      to: this.contract,
      data: inputOf([
        { topics: [], data },
        { topics: [toWord(mark)], data: "0x" },
      ]),
    };
  }

  /** Emits the logs in an epoch of their own; returns them as the node tells them. */
  async emit(mark: number): Promise<EpochLog[]> {
    const { epochNumber } = await this.sender.mine(this.emitting(mark));
    return this.logsFrom(epochNumber);
  }

  logsFrom(fromEpoch: string): Promise<EpochLog[]> {
    const filter = { fromEpoch, toEpoch: "latest_state", address: this.contract };
    return read(this.node.url, "cfx_getLogs", filter);
  }

  newFilter(filter: object = { address: this.contract }): Promise<string> {
    return read(this.url, "cfx_newFilter", filter);
  }

  /** All items of a filter, once the gateway has followed all epochs that are executed by now. */
  async told<Item = EpochLog>(id: string): Promise<Item[]> {
    await this.settled();
    const items: Item[] = [];
    for (;;) {
      const some = await read<Item[]>(this.url, "cfx_getFilterChanges", id);
      if (some.length === 0) return items;
      items.push(...some);
    }
  }
}

export async function startFilterNetwork(generation: Generation): Promise<FilterNetwork> {
  const node = (await startConfluxNode(generation)) as ConfluxNode;
  try {
    const sender = await openSender(node);
    const { contractCreated } = await sender.mine({ data: creationCode, storageLimit: 2_000n });
    const upstreams = [await startPassThrough(node.url), await startPassThrough(node.url)];
    const data = await mkdtemp(join(tmpdir(), "headgate-epochs-"));
    const gateway = await startGateway(node, upstreams, data);
    return new FilterNetwork({
      node,
      sender,
      contract: String(contractCreated),
      upstreams,
      data,
      gateway,
    });
  } catch (error) {
    await node.close();
    throw error;
  }
}

const startGateway = (
  { chainId }: ConfluxNode,
  upstreams: readonly PassThrough[],
  data: string,
): Promise<RunningGateway> => {
  const named = upstreams.map(({ url }, index) => ({ name: `node-${index}`, url }));
  const main = { family: "conflux", chainId, upstreams: named };
  return startGatewayProcess({ data, networks: { main } });
};

export const toWord = (value: number): string => `0x${value.toString(16).padStart(64, "0")}`;
