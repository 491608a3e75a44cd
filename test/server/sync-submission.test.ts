// A caller sends a transaction and waits for its receipt in one call (EIP-7966), over a node without the method.
import { createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anvilCommand } from "../../packages/devnet/src/node-process.ts";
import { keccak256OfData } from "../../src/evm/keccak.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, post, read } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

/** One of the accounts with funds on anvil. */
const account = privateKeyToAccount(
  "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
);
const SYNC = "eth_sendRawTransactionSync";
const isHere = anvilCommand({ port: 1, chainId: 1 }) !== undefined;

describe.skipIf(!isHere)("a transaction with its receipt in one call", () => {
  let anvil: AnvilNode;
  /** Passes all calls on but the one that it does not have. */
  let node: ScriptedNode;
  let gateway: RunningGateway;

  beforeAll(async () => {
    anvil = (await startAnvil()) as AnvilNode;
    node = await startScriptedNode(({ id, method, params }, response) => {
      const error = { code: -32601, message: "the method does not exist" };
      const missing = JSON.stringify({ jsonrpc: "2.0", id, error });
      const asked = JSON.stringify({ jsonrpc: "2.0", id, method, params });
      const answer =
        method === SYNC
          ? Promise.resolve(missing)
          : post(anvil.url, asked).then((told) => told.text());
      answer.then(
        (text) => response.end(text),
        () => response.destroy(),
      );
      return undefined;
    });
    const upstreams = [{ name: "node", url: node.url }];
    const network = { family: "evm", chainId: 1, upstreams };
    gateway = await startGatewayProcess({
      networks: { followed: network, passed: { ...network, window: { blocks: 0 } } },
    });
    await until("the chain is followed", async () => {
      const { headers } = await post(
        gateway.endpoint("followed"),
        '{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["latest",false]}',
      );
      return headers.get("x-headgate-source") === "store";
    });
  });

  afterAll(async () => {
    await gateway?.stop();
    await node?.close();
    anvil?.close();
  });

  const walletAt = (network: string) =>
    createWalletClient({
      account,
      chain: { ...foundry, id: anvil.chainId },
      transport: http(gateway.endpoint(network), { retryCount: 0 }),
    });
  const automine = (isOn: boolean) => read(anvil.url, "evm_setAutomine", isOn);
  const sign = async (value: bigint) => {
    const nonce = Number(
      await read(anvil.url, "eth_getTransactionCount", account.address, "pending"),
    );
    const fees = { maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 1n, gas: 21_000n };
    const { chainId } = anvil;
    return account.signTransaction({ chainId, nonce, to: account.address, value, ...fees });
  };

  it.each(["followed", "passed"])("is answered by viem at %s", async (network) => {
    await automine(true);
    const serializedTransaction = await sign(1n);
    const receipt = await walletAt(network).sendRawTransactionSync({ serializedTransaction });
    const hash = keccak256OfData(serializedTransaction);
    expect(receipt).toMatchObject({ status: "success", transactionHash: hash });
    const known = await read(gateway.endpoint(network), "eth_getTransactionReceipt", hash);
    expect(known).toMatchObject({ blockHash: receipt.blockHash });
    expect(node.calls.some(({ method }) => method === SYNC)).toBe(false);
  });

  it("waits for the block, and the proof of its receipt is told", async () => {
    await automine(false);
    const raw = await sign(2n);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: SYNC, params: [raw, 20_000] });
    const waiting = post(gateway.endpoint("followed"), body);
    await until("the transaction is sent", async () => {
      const sent = await read(anvil.url, "eth_getTransactionByHash", keccak256OfData(raw));
      return sent !== null;
    });
    await read(anvil.url, "evm_mine");
    const answer = await waiting;
    expect(await answer.json()).toMatchObject({ result: { status: "0x1" } });
    expect(answer.headers.get("x-headgate-source")).toBe("store");
    expect(answer.headers.get("x-headgate-proof")).toBe("full");
  });

  it.each(["followed", "passed"])(
    "is error 4 with its hash when it takes too long at %s",
    async (network) => {
      await automine(false);
      const serializedTransaction = await sign(3n);
      const hash = keccak256OfData(serializedTransaction);
      const told = walletAt(network).sendRawTransactionSync({
        serializedTransaction,
        timeout: 300,
      });
      await expect(told).rejects.toMatchObject({ cause: { code: 4, data: hash } });
      await read(anvil.url, "evm_mine");
      const again = await ask(gateway.endpoint(network), SYNC, [serializedTransaction]);
      expect(again.result).toMatchObject({ transactionHash: hash });
    },
  );

  it("is refused at once as the node refuses it", async () => {
    const poor = await sign(10n ** 30n);
    const { error } = await ask(gateway.endpoint("followed"), SYNC, [poor, 20_000]);
    expect(error?.message).toMatch(/insufficient funds/i);
  });
});
