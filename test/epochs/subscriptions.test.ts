// js-conflux-sdk subscribes over the real process to a real node's epochs, heads and logs: fifty epochs (twenty in the
// quick run) and two pivot changes. cive calls over a WebSocket; its own subscriptions are `eth_subscribe`, which
// these nodes lack.
import type { EventEmitter } from "node:events";
import { Conflux } from "js-conflux-sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { toQuantity } from "../../src/evm/values.ts";
import { read } from "../support/ask.ts";
import type { Generation } from "../support/conflux-nodes.ts";
import { atDepth } from "../support/depth.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { SocketCaller } from "../support/socket-caller.ts";
import { describeEach, startEach, stopEach } from "./each-generation.ts";
import { type FilterNetwork, startFilterNetwork } from "./filter-network.ts";

let networks: ReadonlyMap<Generation, FilterNetwork>;

beforeAll(async () => {
  networks = await startEach(startFilterNetwork);
});

afterAll(() => networks && stopEach(networks));

type Epoch = { readonly epochNumber: number; readonly epochHashesOrdered: readonly string[] };
type Told = { readonly hash: string };
type Log = { readonly blockHash: string; readonly logIndex: number; readonly epochNumber: number };

/** A node executes an epoch when about so many later ones are mined. */
const MINED_AHEAD = 6;

/** The last notification of each epoch. */
const lastOf = (epochs: readonly Epoch[]): Map<number, readonly string[]> =>
  new Map(epochs.map(({ epochNumber, epochHashesOrdered }) => [epochNumber, epochHashesOrdered]));

describeEach("subscriptions over conflux-rust", (generation) => {
  let network: FilterNetwork;
  let gateway: RunningGateway;
  let url: string;

  beforeAll(async () => {
    network = networks.get(generation) as FilterNetwork;
    const { chainId, webSocketUrl } = network.node;
    gateway = await startGatewayProcess({
      networks: { main: { family: "conflux", chainId, upstreams: [{ url: webSocketUrl }] } },
    });
    url = gateway.endpoint("main").replace("http:", "ws:");
    await until("the epochs are followed", async () => {
      const caller = await SocketCaller.open(url, "cfx");
      const { error } = await caller.ask("cfx_subscribe", "epochs", "latest_state");
      await caller.close();
      return error === undefined;
    });
  });
  afterAll(() => gateway?.stop());

  const stateEpoch = async (): Promise<number> =>
    Number(await read(network.node.url, "cfx_epochNumber", "latest_state"));
  const blocksOf = (epoch: number): Promise<string[]> =>
    read(network.node.url, "cfx_getBlocksByEpoch", toQuantity(epoch));

  /** Makes epochs, some with logs; in the end another branch replaces the last ones. */
  async function live(epochs: number): Promise<void> {
    const { sender } = network;
    await sender.learnNonce();
    const fork = await sender.tip();
    let tip = fork;
    for (let made = 0; made < 3; made += 1) tip = await sender.putBlock(tip);
    await sender.bury(tip);
    tip = fork;
    for (let made = 0; made < epochs; made += 1) {
      const sendings = made % 5 === 2 ? [network.emitting(made)] : [];
      tip = await sender.putBlock(tip, { sendings });
    }
    await sender.bury(tip);
  }

  it("js-conflux-sdk hears of all epochs, heads and logs", async () => {
    const conflux = new Conflux({ url, networkId: 1234 });
    const direct = await SocketCaller.open(network.node.webSocketUrl, "cfx");
    const own = await direct.subscribe("newHeads");
    const heads: Told[] = [];
    const mined: Epoch[] = [];
    const executed: Epoch[] = [];
    let logs: Log[] = [];
    const { contract } = network;
    const hear = <Data>(from: EventEmitter, list: Data[]): void =>
      void from.on("data", (data: Data) => list.push(data));
    hear(await conflux.subscribeNewHeads(), heads);
    hear(await conflux.subscribeEpochs(), mined);
    hear(await conflux.subscribeEpochs("latest_state"), executed);
    const stream = await conflux.subscribeLogs({ address: contract } as never);
    stream.on("data", (log: Log) => void logs.push(log));
    stream.on("revert", ({ revertTo }: { revertTo: number }) => {
      logs = logs.filter(({ epochNumber }) => epochNumber <= revertTo);
    });
    const first = (await stateEpoch()) + 1;
    const half = atDepth(10, 25);
    await live(half);
    await live(half);
    const last = await stateEpoch();
    expect(last - first).toBeGreaterThanOrEqual(2 * half - 5);
    await until("the last epoch is told", async () => lastOf(executed).has(last));
    const hashes = (): Set<string> => new Set(heads.map(({ hash }) => hash));
    for (let epoch = first; epoch <= last; epoch += 1) {
      const blocks = await blocksOf(epoch);
      expect(lastOf(executed).get(epoch), `epoch ${epoch}`).toEqual(blocks);
      await until("its heads are told", async () => blocks.every((each) => hashes().has(each)));
      // Epochs that were mined before the subscription are not told.
      if (epoch > first + MINED_AHEAD)
        await until("it is told as mined", async () =>
          blocks.every((each) => lastOf(mined).get(epoch)?.includes(each)),
        );
    }
    const canonical = await read<Log[]>(network.node.url, "cfx_getLogs", {
      ...{ fromEpoch: toQuantity(first), toEpoch: toQuantity(last), address: contract },
    });
    const nameOf = (log: Log): string => `${log.blockHash} ${Number(log.logIndex)}`;
    await until("all logs are told", async () => logs.length >= canonical.length);
    expect(logs.map(nameOf)).toEqual(canonical.map(nameOf));
    expect(canonical.length).toBeGreaterThan(half / 5);
    conflux.close();
    await direct.close();
    expect(direct.resultsOf(own).length).toBeGreaterThan(0);
  });

  it("heads have the members that the node's own have", async () => {
    const caller = await SocketCaller.open(url, "cfx");
    const direct = await SocketCaller.open(network.node.webSocketUrl, "cfx");
    const ids = [await caller.subscribe("newHeads"), await direct.subscribe("newHeads")] as const;
    await live(6);
    const heads = (): Told[] => caller.resultsOf(ids[0]);
    await until("heads are told", async () => heads().length > 5);
    const nodes = new Map(direct.resultsOf<Told>(ids[1]).map((head) => [head.hash, head]));
    const both = heads().find(({ hash }) => nodes.has(hash));
    const members = Object.keys(nodes.get(both?.hash ?? "") ?? {});
    expect(members.length).toBeGreaterThan(15);
    const told = Object.keys(both ?? {});
    // Nodes of 2.4 leave two members out of their notifications.
    const more = told.filter((name) => !members.includes(name));
    expect(["custom", "baseFeePerGas"]).toEqual(expect.arrayContaining(more));
    expect(told).toEqual(expect.arrayContaining(members));
    await caller.close();
    await direct.close();
  });

  it("cive asks over a WebSocket", async () => {
    const { createPublicClient, webSocket } = await import("cive");
    const client = createPublicClient({ transport: webSocket(url, { retryCount: 0 }) });
    expect(Number(await client.getEpochNumber({ epochTag: "latest_state" }))).toBe(
      await stateEpoch(),
    );
    (await client.transport.getRpcClient()).close();
  });

  it.each([["epochs", "latest_confirmed"], ["newHeads", "latest_state"], ["nothing"]])(
    "of %j is refused",
    async (...params) => {
      const caller = await SocketCaller.open(url, "cfx");
      expect(await caller.ask("cfx_subscribe", ...params)).toMatchObject({
        error: { code: -32602 },
      });
      await caller.close();
    },
  );
});
