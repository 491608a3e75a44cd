// Reorgs of a real anvil, from 1 to 64 blocks deep, as callers see them. Also: after a caller has seen a receipt,
// `latest` contains it.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inputWord } from "../../packages/devnet/src/contracts.ts";
import { anvilCommand } from "../../packages/devnet/src/node-process.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, post } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";

const isHere = anvilCommand({ port: 1, chainId: 1 }) !== undefined;

type Block = { number: string; hash: string; parentHash: string; transactions: string[] };

/** Over HTTP the gateway polls for heads, over WebSocket it subscribes. */
describe.skipIf(!isHere).each(["http", "ws"])("anvil behind a gateway, over %s", (scheme) => {
  let anvil: AnvilNode;
  let gateway: RunningGateway;
  let url: string;
  let from: string;

  beforeAll(async () => {
    anvil = (await startAnvil()) as AnvilNode;
    const upstream = { url: anvil.url.replace("http", scheme) };
    gateway = await startGatewayProcess({
      networks: { main: { family: "evm", chainId: anvil.chainId, upstreams: [upstream] } },
    });
    url = gateway.endpoint("main");
    from = ((await ask(anvil.url, "eth_accounts")).result as string[])[0] ?? "";
    await until("the window is filled", async () =>
      gateway.log.find(({ msg }) => msg === "the window is filled"),
    );
  });

  afterAll(async () => {
    await gateway.stop();
    anvil.close();
  });

  const read = async <T>(at: string, method: string, ...params: unknown[]): Promise<T> =>
    (await ask(at, method, params)).result as T;

  const latest = (at: string): Promise<Block> => read(at, "eth_getBlockByNumber", "latest", false);

  const settled = (): Promise<unknown> =>
    until("the gateway has the node's head", async () => {
      const [own, theirs] = await Promise.all([latest(url), latest(anvil.url)]);
      return own.hash === theirs.hash;
    });

  /** Emits a log, in a block of its own. */
  const emit = (): Promise<string> =>
    read(anvil.url, "eth_sendTransaction", {
      from,
      to: anvil.emitter,
      data: inputWord(9),
      gas: "0x100000",
    });

  async function expectTheSameChain(): Promise<void> {
    const head = Number((await latest(anvil.url)).number);
    for (let number = Math.max(0, head - 70); number <= head; number += 1) {
      const at = `0x${number.toString(16)}`;
      for (const [method, params] of [
        ["eth_getBlockByNumber", [at, true]],
        ["eth_getBlockReceipts", [at]],
      ] as const)
        expect(await ask(url, method, params)).toEqual(await ask(anvil.url, method, params));
    }
    const filter = { fromBlock: "0x0", toBlock: "latest", address: anvil.emitter };
    expect(await read(url, "eth_getLogs", filter)).toEqual(
      await read(anvil.url, "eth_getLogs", filter),
    );
  }

  it.each(atDepth([1, 64], [1, 2, 7, 33, 64]))(
    "follows a reorganisation %i blocks deep, and drops what it dropped",
    async (depth) => {
      await read(anvil.url, "anvil_mine", `0x${(depth + 2).toString(16)}`);
      const dropped = await emit();
      await until("it is mined", () => read(url, "eth_getTransactionReceipt", dropped));
      const before = await latest(url);
      const logs = () =>
        read<{ removed: boolean }[]>(url, "eth_getLogs", { blockHash: before.hash });
      const told = await logs();
      expect(told.map(({ removed }) => removed)).toEqual(Array(5).fill(false));
      await read(anvil.url, "anvil_reorg", depth, []);
      await settled();
      const after = await latest(url);
      expect(after.hash).not.toBe(before.hash);
      expect(await logs()).toEqual(told.map((one) => ({ ...one, removed: true })));
      expect(await read(url, "eth_getTransactionReceipt", dropped)).toEqual(
        await read(anvil.url, "eth_getTransactionReceipt", dropped),
      );
      await expectTheSameChain();
    },
  );

  it("tells state that the node dropped from blocks that nobody knows", async () => {
    await read(anvil.url, "anvil_mine", "0x120"); // anvil keeps 256 states
    await settled();
    const ofBlock = async (block: unknown) =>
      (await ask(url, "eth_getBalance", [from, block])).error;
    const { hash } = await read<Block>(url, "eth_getBlockByNumber", "0x1", false);
    const message = expect.stringMatching(/^missing trie node/);
    for (const known of ["0x1", "earliest", { blockHash: hash }])
      expect(await ofBlock(known)).toMatchObject({ code: -32000, message });
    for (const unknown of ["0xffffff", { blockHash: `0x${"9".repeat(64)}` }])
      expect(await ofBlock(unknown)).toMatchObject({ code: -32001, message: "header not found" });
  });

  it("falls back with a node that was rolled back", async () => {
    const snapshot = await read(anvil.url, "evm_snapshot");
    const before = await latest(anvil.url);
    await read(anvil.url, "anvil_mine", "0x5");
    await settled();
    await read(anvil.url, "evm_revert", snapshot);
    await settled();
    expect((await latest(url)).hash).toBe(before.hash);
    await expectTheSameChain();
  });

  it("shows a transaction in `latest` to whoever has seen its receipt", async () => {
    for (let round = 0; round < atDepth(5, 20); round += 1) {
      const hash = await emit();
      const receipt = (await until("there is a receipt", () =>
        read(url, "eth_getTransactionReceipt", hash),
      )) as { blockNumber: string };
      const number = Number(receipt.blockNumber);
      expect(Number(await read(url, "eth_blockNumber"))).toBeGreaterThanOrEqual(number);
      const logs = await read<{ transactionHash: string }[]>(url, "eth_getLogs", {
        fromBlock: receipt.blockNumber,
        toBlock: "latest",
        address: anvil.emitter,
      });
      expect(logs.map(({ transactionHash }) => transactionHash)).toContain(hash);
      expect(Number(await read(url, "eth_getTransactionCount", from, "latest"))).toBeGreaterThan(
        round,
      );
    }
  });

  it("fetches each block once, whatever the number of callers", async () => {
    await settled();
    const counted = async (): Promise<number> => {
      const text = await (await fetch(gateway.metricsUrl)).text();
      const lines = text.match(/^headgate_upstream_calls_total\{.*purpose="call".*\} \d+$/gm) ?? [];
      return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    };
    const hash = await emit();
    await until("it is mined", () => read(url, "eth_getTransactionReceipt", hash));
    const before = await counted();
    const batch = JSON.stringify(
      ["eth_getTransactionReceipt", "eth_getTransactionByHash"].map((method, id) => ({
        jsonrpc: "2.0",
        id,
        method,
        params: [hash],
      })),
    );
    await Promise.all(
      Array.from({ length: 50 }, () => post(url, batch).then((response) => response.text())),
    );
    expect(await counted()).toBe(before);
    const text = await (await fetch(gateway.metricsUrl)).text();
    const perCall = /^headgate_upstream_calls_per_call\{network="[^"]+"\} (\S+)$/m.exec(text)?.[1];
    expect(Number(perCall)).toBeGreaterThan(0);
  });
});
