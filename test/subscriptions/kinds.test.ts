// Other kinds than heads, logs and hashes: whole transactions, and subscriptions relayed from nodes on a network that
// is not followed, from one node after another.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anvilCommand } from "../../packages/devnet/src/node-process.ts";
import type { Log } from "../filters/filter-client.ts";
import { reorganise } from "../filters/reorganise.ts";
import { emit, type Header, latest, logsOf, mine, settled } from "../support/anvil-chain.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { read } from "../support/ask.ts";
import { CutLine } from "../support/cut-line.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { SocketCaller } from "../support/socket-caller.ts";

const isHere = anvilCommand({ port: 1, chainId: 1 }) !== undefined;

describe.skipIf(!isHere)("over anvil", () => {
  let anvil: AnvilNode;
  let gateway: RunningGateway;
  let caller: SocketCaller;
  let lines: readonly [CutLine, CutLine];

  beforeAll(async () => {
    anvil = (await startAnvil()) as AnvilNode;
    await mine(anvil, 32);
    const port = Number(new URL(anvil.url).port);
    lines = [new CutLine(port), new CutLine(port)];
    const [one, other] = await Promise.all(lines.map((line) => line.open("ws")));
    const { chainId } = anvil;
    gateway = await startGatewayProcess({
      limits: { webSocket: { subscriptions: 6 } },
      networks: {
        main: { family: "evm", chainId, upstreams: [{ url: anvil.url }] },
        passing: {
          ...{ family: "evm", chainId, window: { blocks: 0 } },
          upstreams: [
            { name: "one", url: one },
            { name: "other", url: other },
          ],
        },
        silent: { family: "evm", chainId, window: { blocks: 0 }, upstreams: [{ url: anvil.url }] },
      },
    });
    await settled(gateway.endpoint("main"), anvil);
    caller = await SocketCaller.open(gateway.endpoint("main"));
  });
  afterAll(async () => {
    await caller.close();
    expect(await gateway.stop()).toBe(0);
    for (const line of lines) line.close();
    anvil.close();
  });

  type Transaction = { readonly hash: string; readonly from: string; readonly nonce: string };

  it.each([true, { includeTransactions: true }])(
    "pending transactions are told whole: %j",
    async (how) => {
      const id = await caller.subscribe("newPendingTransactions", how);
      const hash = await emit(anvil);
      const told = () => caller.resultsOf<Transaction>(id).filter((each) => each.hash === hash);
      await until("it is told", async () => told().length > 0);
      const wanted = await read<Transaction>(anvil.url, "eth_getTransactionByHash", hash);
      const { from, nonce } = wanted;
      expect(told()).toMatchObject([{ hash, from, nonce }]);
      expect((await caller.ask("eth_unsubscribe", id)).result).toBe(true);
    },
  );

  it.each([false, { includeTransactions: false }, {}])("or by their hashes: %j", async (how) => {
    const id = await caller.subscribe("newPendingTransactions", how);
    const hash = await emit(anvil);
    await until("it is told", async () => caller.resultsOf(id).includes(hash));
    expect((await caller.ask("eth_unsubscribe", id)).result).toBe(true);
  });

  it("a subscription to syncing is told nothing while all is well, and ends", async () => {
    const id = await caller.subscribe("syncing");
    expect((await caller.ask("eth_unsubscribe", id)).result).toBe(true);
    expect((await caller.ask("eth_unsubscribe", id)).result).toBe(false);
    expect(caller.resultsOf(id)).toEqual([]);
  });

  describe("on a network that is not followed", () => {
    let passing: SocketCaller;
    beforeAll(async () => {
      passing = await SocketCaller.open(gateway.endpoint("passing"));
    });
    afterAll(() => passing.close());

    it("a node's heads go on from another node, with what was missed, each once", async () => {
      const id = await passing.subscribe("newHeads");
      const heads = (): Header[] => passing.resultsOf(id);
      const headIs = async (): Promise<void> => {
        const { hash } = await latest(anvil.url);
        await until("the head is told", async () => heads().at(-1)?.hash === hash);
      };
      await mine(anvil, 3);
      await headIs();
      for (const line of lines) {
        line.set(false);
        await mine(anvil, 3);
        await headIs();
        line.set(true);
        await until("both nodes are usable", async () => (await usable()) === 2);
      }
      for (const line of lines) line.set(false);
      await mine(anvil, 4);
      await reorganise(anvil.url, 2);
      for (const line of lines) line.set(true);
      await headIs();
      const hashes = heads().map(({ hash }) => hash);
      expect(new Set(hashes).size).toBe(hashes.length);
      const [first] = heads();
      const from = Number(first?.number);
      for (let number = from; number <= Number((await latest(anvil.url)).number); number += 1) {
        const at = `0x${number.toString(16)}`;
        expect(hashes).toContain(
          (await read<Header>(anvil.url, "eth_getBlockByNumber", at, false)).hash,
        );
      }
      expect((await passing.ask("eth_unsubscribe", id)).result).toBe(true);
    });

    it("a node's logs go on from another node, with what was missed, each once", async () => {
      const before = (await logsOf(anvil)).length;
      const id = await passing.subscribe("logs", { address: anvil.emitter });
      const told = () =>
        passing.resultsOf<Log>(id).map((log) => `${log.blockHash} ${log.logIndex}`);
      const isTold = async (): Promise<void> => {
        const logs = (await logsOf(anvil)).slice(before);
        const wanted = logs.map((log) => `${log.blockHash} ${log.logIndex}`);
        await until("all logs are told", async () => wanted.every((log) => told().includes(log)));
        expect(told()).toHaveLength(wanted.length);
      };
      await emit(anvil);
      await isTold();
      for (const line of lines) line.set(false);
      await emit(anvil);
      await emit(anvil);
      for (const line of lines) line.set(true);
      await isTold();
      await emit(anvil);
      await isTold();
    });

    it("nothing is resumed, and where no node announces anything it is said so", async () => {
      const resumed = await passing.ask("eth_subscribe", "newHeads", { resume: "0x12" });
      expect(resumed.error).toMatchObject({ code: -32000, message: "subscription not found" });
      const silent = await SocketCaller.open(gateway.endpoint("silent"));
      expect((await silent.ask("eth_subscribe", "newHeads")).error).toMatchObject({ code: -32601 });
      await silent.close();
    });

    it("a key has so many and no more", async () => {
      const many = await SocketCaller.open(gateway.endpoint("passing"));
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => many.ask("eth_subscribe", "newHeads")),
      );
      expect(answers.filter(({ error }) => error?.code === -32005).length).toBeGreaterThan(0);
      await many.close();
    });
  });

  const usable = async (): Promise<number> => {
    const text = await (await fetch(gateway.metricsUrl)).text();
    const found = text.match(/^headgate_upstream_usable\{.*network="passing".*\} 1$/gm);
    return found?.length ?? 0;
  };
});
