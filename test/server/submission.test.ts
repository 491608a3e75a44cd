// A real node takes transactions whose answers are lost: repeating the submission is safe.
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { anvilCommand } from "../../packages/devnet/src/node-process.ts";
import { keccak256OfData } from "../../src/evm/keccak.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, post, read } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import {
  type NodeCall,
  result as resultOf,
  type ScriptedNode,
  startScriptedNode,
} from "../support/scripted-node.ts";

/** One of the accounts with funds on anvil. */
const account = privateKeyToAccount(
  "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
);
const isHere = anvilCommand({ port: 1, chainId: 1 }) !== undefined;

describe.skipIf(!isHere)("a transaction", () => {
  let anvil: AnvilNode;
  /** Passes calls on, but loses the answers to transactions. */
  let losing: ScriptedNode;
  let passing: ScriptedNode;
  let second: ScriptedNode;
  let hidden: ScriptedNode;
  /** Takes no transaction, and answers with a hash of its own. */
  let lying: ScriptedNode;
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
    second = await startDouble(() => false);
    hidden = await startDouble(() => false);
    lying = await startScriptedNode((call) => resultOf(call, `"0x${"ab".repeat(32)}"`));
    const of = (nodes: readonly ScriptedNode[], settings: object = { window: { blocks: 0 } }) => ({
      family: "evm",
      chainId: 1, // the chain id that the proxies claim
      upstreams: nodes.map((node, index) => ({
        ...{ name: `node-${index}`, url: node.url },
        private: node === hidden,
        weight: nodes.length - index,
      })),
      ...settings,
    });
    const networks = {
      alone: of([losing]),
      pair: of([losing, passing]),
      followed: of([losing, passing], {}),
      deceived: of([lying, passing]),
      betrayed: of([lying]),
      discreet: of([passing, hidden]),
      spread: of([losing, passing, second, hidden], { window: { blocks: 0 }, broadcast: 2 }),
    };
    gateway = await startGatewayProcess({ networks });
  });

  beforeEach(async () => {
    nonce = Number(await read(anvil.url, "eth_getTransactionCount", account.address, "latest"));
  });

  afterAll(async () => {
    await gateway?.stop();
    await Promise.all([losing, passing, second, hidden, lying].map((node) => node?.close()));
    anvil?.close();
  });

  it.each(["alone", "pair", "followed"])(
    "is answered its hash at %s, lost or not",
    async (name) => {
      const raw = await sign(1n);
      const hash = keccak256OfData(raw);
      expect(await send(name, raw)).toMatchObject({ result: hash }); // the answer is lost
      expect(await send(name, raw)).toMatchObject({ result: hash }); // the transaction is in the pool
      await mine();
      expect(await send(name, raw)).toMatchObject({ result: hash }); // its nonce is used
      const receipt = await read(anvil.url, "eth_getTransactionReceipt", hash);
      expect(receipt).toMatchObject({ status: "0x1" });
    },
  );

  const sentTo = (): boolean[] =>
    [losing, passing, second, hidden].map(({ calls }) =>
      calls.some(({ method }) => method === "eth_sendRawTransaction"),
    );
  const forget = (): void => {
    for (const { calls } of [losing, passing, second, hidden]) (calls as NodeCall[]).length = 0;
  };

  it("is answered its own hash, whatever a node says, and the liar is told of once", async () => {
    const raw = await sign(1n);
    const hash = keccak256OfData(raw);
    expect(await send("deceived", raw)).toMatchObject({ result: hash });
    expect(await read(anvil.url, "eth_getTransactionByHash", hash)).toMatchObject({ hash });
    await mine();
    for (const _ of [1, 2]) {
      const { error } = await send("betrayed", raw);
      expect(error).toMatchObject({ code: -32603, message: "no upstream could answer" });
    }
    const told = gateway.log.filter(({ msg }) => msg === "an upstream gave a false answer");
    expect(told.filter(({ network }) => network === "betrayed")).toHaveLength(1);
    const metrics = await (await fetch(gateway.metricsUrl)).text();
    expect(metrics).toMatch(
      /headgate_upstream_lies_total\{network="betrayed",upstream="node-0"\} [2-9]/,
    );
  });

  it("goes to a private node alone where there is one", async () => {
    forget();
    const raw = await sign(1n);
    expect(await send("discreet", raw)).toMatchObject({ result: keccak256OfData(raw) });
    expect(sentTo()).toEqual([false, false, false, true]);
    await mine();
  });

  it("that is only simulated or traced is shown to the private node alone, too", async () => {
    forget();
    const raw = await sign(1n);
    await ask(gateway.endpoint("discreet"), "eth_callBundle", [{ txs: [raw], blockNumber: "0x1" }]);
    await ask(gateway.endpoint("discreet"), "trace_rawTransaction", [raw, ["trace"]]);
    const saw = ({ calls }: ScriptedNode): boolean =>
      calls.some(({ params }) => JSON.stringify(params).includes(raw));
    expect([passing, hidden].map(saw)).toEqual([false, true]);
  });

  it("goes to as many at once as `broadcast` says, never to a private one", async () => {
    forget();
    const raw = await sign(1n);
    expect(await send("spread", raw)).toMatchObject({ result: keccak256OfData(raw) });
    expect(sentTo().filter(Boolean).length).toBeGreaterThanOrEqual(2);
    expect(sentTo()[3]).toBe(false);
    await mine();
    expect(await send("spread", raw)).toMatchObject({ result: keccak256OfData(raw) });
  });

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
