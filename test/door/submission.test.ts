// A real node takes transactions whose answers are lost: sending one is safe to repeat.
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { anvilCommand } from "../../src/devnet/find-nodes.ts";
import { keccak256OfData } from "../../src/evm/keccak.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, post, read } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { type NodeCall, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

/** One of those that anvil gives funds. */
const account = privateKeyToAccount(
  "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
);
const isHere = anvilCommand({ port: 1, chainId: 1 }) !== undefined;

describe.skipIf(!isHere)("a transaction", () => {
  let anvil: AnvilNode;
  /** Passes everything on, but the answers to transactions are lost. */
  let losing: ScriptedNode;
  let passing: ScriptedNode;
  let gateway: RunningGateway;
  let nonce: number;

  const startDouble = (isLost: (call: NodeCall) => boolean): Promise<ScriptedNode> =>
    startScriptedNode((call, response) => {
      passOn(anvil.url, call).then(
        (text) => (isLost(call) ? response.destroy() : response.end(text)),
        () => response.destroy(),
      );
      return undefined;
    });

  const sign = (value: bigint): Promise<string> => {
    const fees = { maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 1n, gas: 21_000n };
    const { chainId } = anvil;
    return account.signTransaction({ chainId, nonce, to: account.address, value, ...fees });
  };
  const send = (network: string, raw: string) =>
    ask(gateway.endpoint(network), "eth_sendRawTransaction", [raw]);

  beforeAll(async () => {
    anvil = (await startAnvil()) as AnvilNode;
    await read(anvil.url, "evm_setAutomine", false);
    losing = await startDouble(({ method }) => method === "eth_sendRawTransaction");
    passing = await startDouble(() => false);
    const of = (nodes: readonly ScriptedNode[], blocks?: number) => ({
      family: "evm",
      chainId: 1, // what doubles say that they are of
      upstreams: nodes.map(({ url }, index) => ({ name: `node-${index}`, url })),
      ...(blocks !== undefined && { window: { blocks } }),
    });
    const networks = {
      alone: of([losing], 0),
      pair: of([losing, passing], 0),
      followed: of([losing, passing]),
    };
    gateway = await startGatewayProcess({ networks });
  });

  beforeEach(async () => {
    nonce = Number(await read(anvil.url, "eth_getTransactionCount", account.address, "latest"));
  });

  afterAll(async () => {
    await gateway?.stop();
    await Promise.all([losing?.close(), passing?.close()]);
    anvil?.close();
  });

  it.each(["alone", "pair", "followed"])(
    "is answered its hash at %s, lost or not",
    async (name) => {
      const raw = await sign(1n);
      const hash = keccak256OfData(raw);
      expect(await send(name, raw)).toMatchObject({ result: hash }); // the answer is lost
      expect(await send(name, raw)).toMatchObject({ result: hash }); // it waits in the pool
      await mine();
      expect(await send(name, raw)).toMatchObject({ result: hash }); // its nonce is used
      const receipt = await read(anvil.url, "eth_getTransactionReceipt", hash);
      expect(receipt).toMatchObject({ status: "0x1" });
    },
  );

  it("that two send at once is answered to both", async () => {
    const raw = await sign(1n);
    const told = await Promise.all([send("pair", raw), send("pair", raw)]);
    expect(told.map(({ result }) => result)).toEqual(Array(2).fill(keccak256OfData(raw)));
    await mine();
  });

  it("whose nonce another has used is refused as the node refuses it", async () => {
    const waiting = await sign(1n);
    const other = await sign(2n);
    expect(await send("pair", waiting)).toMatchObject({ result: keccak256OfData(waiting) });
    for (const message of ["replacement transaction underpriced", "nonce too low"]) {
      const { error } = await ask(anvil.url, "eth_sendRawTransaction", [other]);
      expect(error?.message).toBe(message);
      expect((await send("pair", other)).error).toEqual(error);
      expect((await send("followed", other)).error).toEqual(error);
      await mine();
    }
  });

  it("that no node takes is an error, not a hash", async () => {
    const poor = await sign(10n ** 30n);
    expect((await send("pair", poor)).error?.message).toMatch(/insufficient funds/i);
    expect(await send("alone", poor)).toMatchObject({ error: { code: -32603 } });
    expect((await send("pair", "0x03c0")).error?.message).toBe("Failed to decode transaction");
  });

  const mine = (): Promise<unknown> => read(anvil.url, "evm_mine");
});

async function passOn(nodeUrl: string, { id, method, params }: NodeCall): Promise<string> {
  const response = await post(nodeUrl, JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  return response.text();
}
