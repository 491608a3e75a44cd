// Clients as they are, with their own ways to subscribe.
import { WebSocketProvider } from "ethers";
import { createPublicClient, webSocket } from "viem";
import { afterAll, beforeAll, describe, it } from "vitest";
import { Web3 } from "web3";
import { inputWord } from "../../src/devnet/contracts.ts";
import { anvilCommand } from "../../src/devnet/node-process.ts";
import { reorganise } from "../filters/reorganise.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, read } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";

const isHere = anvilCommand({ port: 1, chainId: 1 }) !== undefined;

describe.skipIf(!isHere).each([1, 2])("over %i processes", (processes) => {
  let anvil: AnvilNode;
  let gateway: RunningGateway;
  let url: string;
  let from: string;

  beforeAll(async () => {
    anvil = (await startAnvil()) as AnvilNode;
    from = ((await ask(anvil.url, "eth_accounts")).result as string[])[0] ?? "";
    await ask(anvil.url, "anvil_mine", ["0x20"]);
    gateway = await startGatewayProcess({
      processes,
      networks: {
        main: { family: "evm", chainId: anvil.chainId, upstreams: [{ url: anvil.url }] },
      },
    });
    const { number } = await read<{ number: string }>(
      anvil.url,
      "eth_getBlockByNumber",
      "latest",
      false,
    );
    await until(
      "the head is there",
      async () => (await ask(gateway.endpoint("main"), "eth_blockNumber")).result === number,
    );
    url = gateway.endpoint("main").replace("http:", "ws:");
  });
  afterAll(async () => {
    await gateway.stop();
    anvil.close();
  });

  const latestHash = async (): Promise<string> =>
    (await read<{ hash: string }>(anvil.url, "eth_getBlockByNumber", "latest", false)).hash;
  /** Blocks, a reorganisation, and blocks: until the client has heard of the head. */
  const live = async (heard: () => string | undefined): Promise<void> => {
    for (const happen of [
      () => ask(anvil.url, "anvil_mine", ["0x3"]),
      () => reorganise(anvil.url, 2),
      () => ask(anvil.url, "anvil_mine", ["0x1"]),
    ]) {
      await happen();
      const hash = await latestHash();
      await until("the client has heard of it", async () => heard() === hash);
    }
  };

  it("viem watches blocks", async () => {
    const client = createPublicClient({ transport: webSocket(url, { reconnect: false }) });
    let last: string | undefined;
    const stop = client.watchBlocks({
      onBlock: ({ hash }) => {
        last = hash ?? undefined;
      },
    });
    await until("it has begun", async () => {
      await ask(anvil.url, "anvil_mine", ["0x1"]);
      return last;
    });
    await live(() => last);
    stop();
    (await client.transport.getRpcClient()).close();
  });

  it("ethers hears of logs", async () => {
    const provider = new WebSocketProvider(url);
    const heard = new Set<string>();
    await provider.on({ address: anvil.emitter }, ({ transactionHash }) => {
      heard.add(transactionHash);
    });
    const emit = () =>
      read<string>(anvil.url, "eth_sendTransaction", {
        ...{ from, to: anvil.emitter, data: inputWord(9), gas: "0x100000" },
      });
    await until("it has begun", async () => heard.has(await emit()) || heard.size > 0);
    const hashes = [await emit(), await emit()];
    await until("both are heard of", async () => hashes.every((hash) => heard.has(hash)));
    await provider.destroy();
  });

  it("web3.js subscribes to heads", async () => {
    const web3 = new Web3(url);
    const subscription = await web3.eth.subscribe("newHeads");
    let last: string | undefined;
    subscription.on("data", ({ hash }) => {
      last = String(hash);
    });
    await live(() => last);
    await subscription.unsubscribe();
    web3.provider?.disconnect();
  });
});
