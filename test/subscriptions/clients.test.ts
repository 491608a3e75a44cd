// Client libraries with their own subscriptions, over fifty blocks (twenty in the quick run) and two reorgs; and a node
// that forks.
import { WebSocketProvider } from "ethers";
import { pino } from "pino";
import { createPublicClient, webSocket } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Web3 } from "web3";
import { anvilCommand, freePorts, SupervisedNode } from "../../packages/devnet/src/node-process.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { reorganise } from "../filters/reorganise.ts";
import { emit, type Header, latest, mine, settled } from "../support/anvil-chain.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, read } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";

const isHere = anvilCommand({ port: 1, chainId: 1 }) !== undefined;

describe.skipIf(!isHere).each([1, 2])("over %i processes", (processes) => {
  let anvil: AnvilNode;
  let gateway: RunningGateway;
  let url: string;

  beforeAll(async () => {
    anvil = (await startAnvil()) as AnvilNode;
    await mine(anvil, 32);
    gateway = await startGatewayProcess({
      processes,
      networks: {
        main: { family: "evm", chainId: anvil.chainId, upstreams: [{ url: anvil.url }] },
      },
    });
    await settled(gateway.endpoint("main"), anvil);
    url = gateway.endpoint("main").replace("http:", "ws:");
  });
  afterAll(async () => {
    await gateway.stop();
    anvil.close();
  });

  const isHeard = async (heard: ReadonlySet<string>): Promise<unknown> => {
    const { hash } = await latest(anvil.url);
    return until("the client has heard of the head", async () => heard.has(hash));
  };
  /** Makes two reorgs; expects that the client has heard of all canonical blocks in the end. */
  const live = async (heard: ReadonlySet<string>): Promise<void> => {
    const first = Number((await latest(anvil.url)).number) + 1;
    const [many, few] = atDepth([8, 4], [20, 10]) as [number, number];
    const rounds = [
      [many, 3],
      [many, 6],
      [few, 0],
    ] as const;
    for (const [blocks, depth] of rounds) {
      await mine(anvil, blocks);
      await isHeard(heard);
      if (depth === 0) continue;
      await reorganise(anvil.url, depth);
      await isHeard(heard);
    }
    for (let number = first; number < first + 2 * many + few; number += 1) {
      const at = `0x${number.toString(16)}`;
      const { hash } = await read<Header>(anvil.url, "eth_getBlockByNumber", at, false);
      await until(`block ${number} is heard of`, async () => heard.has(hash));
    }
  };
  const begun = (heard: ReadonlySet<string>): Promise<unknown> =>
    until("it has begun", async () => {
      await mine(anvil, 1);
      return heard.size > 0;
    });

  it("viem watches blocks", async () => {
    const client = createPublicClient({ transport: webSocket(url, { reconnect: false }) });
    const heard = new Set<string>();
    const stop = client.watchBlocks({ onBlock: ({ hash }) => void heard.add(String(hash)) });
    await begun(heard);
    await live(heard);
    stop();
    (await client.transport.getRpcClient()).close();
  });

  it("ethers hears of blocks and logs", async () => {
    const provider = new WebSocketProvider(url, undefined, { cacheTimeout: -1 });
    const heard = new Set<string>();
    const asked: Promise<unknown>[] = [];
    await provider.on("block", (number: number) => {
      asked.push(provider.getBlock(number).then((block) => heard.add(String(block?.hash))));
    });
    await begun(heard);
    await live(heard);
    const hashes = new Set<string>();
    await provider.on({ address: anvil.emitter }, ({ transactionHash }) => {
      hashes.add(transactionHash);
    });
    await until("it has begun", async () => hashes.has(await emit(anvil)) || hashes.size > 0);
    const both = [await emit(anvil), await emit(anvil)];
    await until("both are heard of", async () => both.every((hash) => hashes.has(hash)));
    // Destroying the provider rejects its pending calls, and nothing awaits those.
    await Promise.all(asked);
    await provider.destroy();
  });

  it("web3.js subscribes to heads", async () => {
    const web3 = new Web3(url);
    const subscription = await web3.eth.subscribe("newHeads");
    const heard = new Set<string>();
    subscription.on("data", ({ hash }) => void heard.add(String(hash)));
    await begun(heard);
    await live(heard);
    await subscription.unsubscribe();
    web3.provider?.disconnect();
  });

  it("anvil forks over a WebSocket", async () => {
    const { port } = await freePorts("port");
    const { file, args } = anvilCommand({ port, chainId: anvil.chainId }) ?? { file: "", args: [] };
    const command = { file, args: [...args, "--fork-url", url] };
    const parts = { clock: systemClock, log: pino({ level: "silent" }) };
    const fork = new SupervisedNode({ name: "fork", command }, parts);
    fork.start();
    const at = `http://127.0.0.1:${port}`;
    await until("the fork answers", () =>
      ask(at, "eth_chainId").then(
        ({ result }) => result !== undefined,
        () => false,
      ),
    );
    const { number } = await latest(anvil.url);
    expect(await read(at, "eth_blockNumber")).toBe(number);
    const codes = [at, anvil.url].map((each) => read(each, "eth_getCode", anvil.emitter, "latest"));
    const [code, original] = await Promise.all(codes);
    expect(code).toBe(original);
    await fork.stop();
  });
});
