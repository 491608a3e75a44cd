// The filters of viem, ethers and web3.js over a real anvil and the real process: their items equal the answers to
// queries. Once over a node that the gateway polls for pending transactions, and once over a node that announces them.
import {
  Contract,
  type ContractEventPayload,
  type DeferredTopicFilter,
  type EventFilter,
  JsonRpcProvider,
  Log,
} from "ethers";
import {
  createPublicClient,
  type Hex,
  http,
  InvalidInputRpcError,
  type PublicClient,
  pad,
  toEventSelector,
} from "viem";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Numbers, Web3 } from "web3";
import { anvilCommand } from "../../packages/devnet/src/node-process.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { abi, type FedChain, fed, feedChain } from "./clients-chain.ts";

const isHere = anvilCommand({ port: 1, chainId: 1 }) !== undefined;
const POLLED_EVERY_MS = 50;

type Call = { readonly method: string; readonly params?: readonly unknown[] };

const polledIds = (calls: readonly Call[]): string[] =>
  calls.flatMap(({ method, params }) =>
    method === "eth_getFilterChanges" ? [String(params?.[0])] : [],
  );
const countOf = (calls: readonly Call[], wanted: string): number =>
  calls.filter(({ method }) => method === wanted).length;

describe.skipIf(!isHere)("filters of clients over anvil", () => {
  let anvil: AnvilNode;
  let gateway: RunningGateway;
  let chain: FedChain;

  beforeAll(async () => {
    anvil = (await startAnvil()) as AnvilNode;
    const { chainId } = anvil;
    const pushing = anvil.url.replace("http:", "ws:");
    gateway = await startGatewayProcess({
      networks: {
        polled: { family: "evm", chainId, upstreams: [{ url: anvil.url }] },
        pushed: { family: "evm", chainId, upstreams: [{ url: pushing }] },
      },
    });
    chain = await feedChain(
      anvil.url,
      ["polled", "pushed"].map((name) => gateway.endpoint(name)),
    );
  });

  afterAll(async () => {
    await gateway.stop();
    anvil.close();
  });

  const gone = (network: string, id: string): Promise<boolean> =>
    until(`the filter ${id} is gone`, async () => {
      const { error } = await ask(gateway.endpoint(network), "eth_getFilterChanges", [id]);
      if (error) expect(error).toEqual({ code: -32000, message: "filter not found" });
      return error !== undefined;
    });

  describe.each(["polled", "pushed"])("%s", (network) => {
    describe("viem", () => {
      let client: PublicClient;
      let calls: Call[];

      beforeEach(() => {
        const own: Call[] = [];
        calls = own;
        const transport = http(gateway.endpoint(network), {
          retryCount: 0,
          onFetchRequest: (_, { body }) => {
            own.push(JSON.parse(String(body)) as Call);
          },
        });
        client = createPublicClient({ transport, pollingInterval: POLLED_EVERY_MS, cacheTime: 0 });
      });

      const logsOf = async (hashes: readonly Hex[]) => {
        const address = chain.contract;
        const receipts = await Promise.all(
          hashes.map((hash) => client.getTransactionReceipt({ hash })),
        );
        const each = receipts.map(({ blockHash }) =>
          client.getLogs({ address, event: fed, blockHash }),
        );
        return (await Promise.all(each)).flat();
      };
      /** Waits until the client polls another filter; returns the filter's id. */
      const polled = (...before: string[]): Promise<string> =>
        until("the client polls", async () => polledIds(calls).find((id) => !before.includes(id)));

      it("gets new logs, and all of its range", async () => {
        const fromBlock = await client.getBlockNumber();
        const before = await chain.feed();
        const criteria = { address: chain.contract, event: fed, fromBlock } as const;
        const filter = await client.createEventFilter(criteria);
        const hashes = [await chain.feed(), await chain.feed()];
        const told = await client.getFilterChanges({ filter });
        expect(told).toEqual(await logsOf(hashes));
        expect(told[0]).toMatchObject({ eventName: "Fed", removed: false });
        expect(await client.getFilterChanges({ filter })).toEqual([]);
        const all = await client.getFilterLogs({ filter });
        expect(all).toEqual(await client.getLogs(criteria));
        expect(all.at(-3)?.transactionHash).toBe(before);
        expect(await client.uninstallFilter({ filter })).toBe(true);
        expect(await client.uninstallFilter({ filter })).toBe(false);
        await expect(client.getFilterChanges({ filter })).rejects.toThrow(InvalidInputRpcError);
      });

      it("gets the logs of its arguments only", async () => {
        const [one, other] = chain.feeders;
        const address = chain.contract;
        const ofOne = await client.createEventFilter({ address, event: fed, args: { who: one } });
        const ofOther = await client.createContractEventFilter({
          address,
          abi,
          eventName: "Fed",
          args: { who: [other] },
        });
        const ofBoth = await client.createEventFilter({
          address: [address],
          event: fed,
          args: { who: [one, other] },
        });
        const elsewhere = await client.createEventFilter({ address: anvil.emitter as Hex });
        const hashes = [await chain.feed(other), await chain.feed(one), await chain.feed(other)];
        const logs = await logsOf(hashes);
        expect(await client.getFilterChanges({ filter: ofOne })).toEqual([logs[1]]);
        expect(await client.getFilterChanges({ filter: ofOther })).toEqual([logs[0], logs[2]]);
        expect(await client.getFilterChanges({ filter: ofBoth })).toEqual(logs);
        expect(await client.getFilterChanges({ filter: elsewhere })).toEqual([]);
        for (const filter of [ofOne, ofOther, ofBoth, elsewhere])
          expect(await client.uninstallFilter({ filter })).toBe(true);
      });

      it("gets dropped logs with `removed`", async () => {
        const filter = await client.createEventFilter({ address: chain.contract, event: fed });
        const dropped = [await chain.feed(), await chain.feed()];
        const told = await client.getFilterChanges({ filter });
        expect(told).toEqual(await logsOf(dropped));
        await chain.reorg(2);
        const fresh = await chain.feed();
        const removed = told.toReversed().map((log) => ({ ...log, removed: true }));
        const expected = [...removed, ...(await logsOf([fresh]))];
        expect(await client.getFilterChanges({ filter })).toEqual(expected);
        expect(await client.uninstallFilter({ filter })).toBe(true);
      });

      it("gets the hashes of new blocks", async () => {
        const filter = await client.createBlockFilter();
        const head = await client.getBlockNumber();
        await chain.mine(3);
        const numbers = [1n, 2n, 3n].map((more) => head + more);
        const blocks = await Promise.all(
          numbers.map((blockNumber) => client.getBlock({ blockNumber })),
        );
        expect(await client.getFilterChanges({ filter })).toEqual(blocks.map(({ hash }) => hash));
        expect(await client.getFilterChanges({ filter })).toEqual([]);
        expect(await client.uninstallFilter({ filter })).toBe(true);
      });

      it("gets the hashes of transactions that wait", async () => {
        const filter = await client.createPendingTransactionFilter();
        const told: Hex[] = [];
        await chain.whileWaiting(3, async (hashes) => {
          await until("they are told", async () => {
            told.push(...(await client.getFilterChanges({ filter })));
            return told.includes(hashes[2] ?? "0x");
          });
          expect(told).toEqual(hashes);
          const transactions = await Promise.all(
            hashes.map((hash) => client.getTransaction({ hash })),
          );
          expect(transactions.map(({ blockHash }) => blockHash)).toEqual([null, null, null]);
        });
        expect(await client.uninstallFilter({ filter })).toBe(true);
        await expect(client.getFilterChanges({ filter })).rejects.toThrow(InvalidInputRpcError);
      });

      it("watches an event by a filter, over a reorg", async () => {
        const seen: unknown[] = [];
        const onLogs = (told: readonly unknown[]): void => void seen.push(...told);
        const watched = { address: chain.contract, event: fed, onLogs } as const;
        const unwatch = client.watchEvent(watched);
        const id = await polled();
        const logs = await logsOf([await chain.feed(), await chain.feed()]);
        await until("both are told", async () => seen.length >= 2);
        expect(seen).toEqual(logs);
        await chain.reorg(2);
        const fresh = await logsOf([await chain.feed()]);
        await until("the reorg is told", async () => seen.length >= 5);
        const removed = logs.toReversed().map((log) => ({ ...log, removed: true }));
        expect(seen).toEqual([...logs, ...removed, ...fresh]);
        expect(countOf(calls, "eth_newFilter")).toBe(1);
        expect(new Set(polledIds(calls))).toEqual(new Set([id]));
        unwatch();
        await gone(network, id);
      });

      it("makes a filter again that is gone while it watches a contract", async () => {
        const seen: unknown[] = [];
        const errors: Error[] = [];
        const unwatch = client.watchContractEvent({
          address: chain.contract,
          abi,
          args: { who: chain.feeders[1] },
          eventName: "Fed",
          onLogs: (told) => seen.push(...told),
          onError: (error) => errors.push(error),
        });
        const id = await polled();
        await ask(gateway.endpoint(network), "eth_uninstallFilter", [id]);
        const second = await polled(id);
        expect(errors).toEqual([expect.any(InvalidInputRpcError)]);
        await chain.feed();
        const expected = await logsOf([await chain.feed(chain.feeders[1])]);
        await until("it is told", async () => seen.length > 0);
        expect(seen).toEqual(expected);
        unwatch();
        await gone(network, second);
      });

      it("watches transactions that wait, and blocks", async () => {
        const told: Hex[] = [];
        const blocks: unknown[] = [];
        const stop = [
          client.watchPendingTransactions({ onTransactions: (hashes) => told.push(...hashes) }),
          client.watchBlocks({ onBlock: (block) => blocks.push(block), emitMissed: true }),
        ];
        const id = await polled();
        await chain.whileWaiting(2, async (hashes) => {
          await until("they are told", async () => told.includes(hashes[1] ?? "0x"));
          expect(told).toEqual(hashes);
        });
        expect(countOf(calls, "eth_newPendingTransactionFilter")).toBe(1);
        const head = await client.getBlock();
        await until("the block is told", async () =>
          blocks.some((block) => Object(block).hash === head.hash),
        );
        expect(blocks.at(-1)).toEqual(head);
        for (const unwatch of stop) unwatch();
        await gone(network, id);
      });
    });

    describe("ethers", () => {
      let provider: JsonRpcProvider;
      let calls: Call[];
      let unanswered: number;

      beforeEach(() => {
        const own: Call[] = [];
        calls = own;
        unanswered = 0;
        provider = new JsonRpcProvider(gateway.endpoint(network), undefined, {
          cacheTimeout: -1,
          polling: false,
          pollingInterval: POLLED_EVERY_MS,
        });
        void provider.on("debug", ({ action, payload }) => {
          unanswered += action === "sendRpcPayload" ? 1 : -1;
          if (action === "sendRpcPayload") own.push(...[payload].flat());
        });
      });
      afterEach(async () => {
        await provider.send("net_version", []); // ethers sends its waiting calls before this one
        await until("all has its answer", async () => unanswered === 0);
        provider.destroy();
      });

      const logsOf = async (hashes: readonly string[], filter: EventFilter = {}) => {
        const receipts = await Promise.all(
          hashes.map((hash) => provider.getTransactionReceipt(hash)),
        );
        const each = receipts.map((receipt) =>
          provider.getLogs({ ...filter, blockHash: receipt?.blockHash ?? "" }),
        );
        return (await Promise.all(each)).flat();
      };
      const polled = (): Promise<string> =>
        until("the provider polls", async () => polledIds(calls)[0]);
      /** Mines blocks while it waits: ethers polls filters only when it sees a new block, which it seldom looks for. */
      const untilWithBlocks = (what: string, isSo: () => boolean): Promise<unknown> =>
        until(what, async () => isSo() || chain.mine(1));

      it("is told of logs by a filter, over a reorg", async () => {
        const filter = { address: chain.contract, topics: [toEventSelector(fed)] };
        const seen: Log[] = [];
        const listener = (log: Log): void => void seen.push(log);
        await provider.on(filter, listener);
        const id = await polled();
        const logs = await logsOf([await chain.feed(), await chain.feed()], filter);
        await untilWithBlocks("both are told", () => seen.length >= 2);
        expect(seen).toEqual(logs);
        // ethers tells a dropped log only to listeners for the loss of that very log.
        const lost = logs.map((log) => new Log({ ...log.toJSON(), removed: true }, provider));
        const orphans: Log[] = [];
        for (const log of lost)
          await provider.on(
            { orphan: "drop-log", log },
            (orphan: Log) => void orphans.push(orphan),
          );
        const depth = (await provider.getBlockNumber()) - (logs[0]?.blockNumber ?? 0) + 1;
        await chain.reorg(depth);
        const fresh = await logsOf([await chain.feed()], filter);
        await untilWithBlocks("the reorg is told", () => seen.length >= 3);
        expect(orphans).toEqual(lost.toReversed());
        expect(seen).toEqual([...logs, ...fresh]);
        expect(countOf(calls, "eth_newFilter")).toBe(1);
        await provider.off(filter, listener);
        await gone(network, id);
      });

      it("is told of a contract's events with the arguments that were asked for", async () => {
        const [one, other] = chain.feeders;
        const contract = new Contract(chain.contract, abi, provider);
        const event = contract.filters["Fed"]?.(other) as DeferredTopicFilter;
        const seen: ContractEventPayload[] = [];
        const listener = (...told: unknown[]): void =>
          void seen.push(told.at(-1) as ContractEventPayload);
        await contract.on(event, listener);
        const id = await polled();
        await chain.feed(one);
        await chain.feed(other);
        await untilWithBlocks("it is told", () => seen.length > 0);
        const events = await contract.queryFilter(event);
        expect(seen.map(({ log }) => log)).toEqual(events.slice(-1));
        await contract.off(event, listener);
        await gone(network, id);
      });

      it("is told of transactions that wait", async () => {
        const told: string[] = [];
        const listener = (hash: string): void => void told.push(hash);
        await provider.on("pending", listener);
        const id = await polled();
        await chain.whileWaiting(2, async (hashes) => {
          const last = hashes.at(-1) ?? "";
          await untilWithBlocks("they are told", () => told.includes(last));
          expect(told).toEqual(hashes);
        });
        expect(countOf(calls, "eth_newPendingTransactionFilter")).toBe(1);
        await provider.off("pending", listener);
        await gone(network, id);
      });
    });

    describe("web3.js", () => {
      let eth: Web3["eth"];

      beforeEach(() => {
        ({ eth } = new Web3(gateway.endpoint(network)));
      });

      const logsOf = async (hashes: readonly Hex[]) => {
        const receipts = await Promise.all(hashes.map((hash) => eth.getTransactionReceipt(hash)));
        const each = receipts.map(({ blockNumber }) =>
          eth.getPastLogs({ ...criteria(), fromBlock: blockNumber, toBlock: blockNumber }),
        );
        return (await Promise.all(each)).flat();
      };
      const criteria = () => ({ address: chain.contract, topics: [toEventSelector(fed)] });
      const ends = async (id: Numbers): Promise<void> => {
        expect(await eth.uninstallFilter(id)).toBe(true);
        expect(await eth.uninstallFilter(id)).toBe(false);
        await expect(eth.getFilterChanges(id)).rejects.toThrow("filter not found");
      };

      it("gets new logs, dropped ones, and all of its range", async () => {
        const fromBlock = await eth.getBlockNumber();
        const id = await eth.createNewFilter({ ...criteria(), fromBlock });
        const logs = await logsOf([await chain.feed(), await chain.feed()]);
        expect(logs).toHaveLength(2);
        expect(await eth.getFilterChanges(id)).toEqual(logs);
        await chain.reorg(2);
        const fresh = await logsOf([await chain.feed()]);
        const removed = logs.toReversed().map((log) => ({ ...Object(log), removed: true }));
        expect(await eth.getFilterChanges(id)).toEqual([...removed, ...fresh]);
        expect(await eth.getFilterChanges(id)).toEqual([]);
        const all = await eth.getFilterLogs(id);
        expect(all).toEqual(await eth.getPastLogs({ ...criteria(), fromBlock }));
        expect(all.slice(-1)).toEqual(fresh);
        await ends(id);
      });

      it("gets the logs of its topics only", async () => {
        const [one, other] = chain.feeders;
        const topics = [null, [pad(other)]];
        const id = await eth.createNewFilter({ address: [chain.contract], topics });
        const elsewhere = await eth.createNewFilter({ address: anvil.emitter });
        const hashes = [await chain.feed(one), await chain.feed(other)];
        expect(await eth.getFilterChanges(id)).toEqual((await logsOf(hashes)).slice(1));
        expect(await eth.getFilterChanges(elsewhere)).toEqual([]);
        for (const each of [id, elsewhere]) await ends(each);
      });

      it("gets the hashes of new blocks", async () => {
        const id = await eth.createNewBlockFilter();
        const head = await eth.getBlockNumber();
        await chain.mine(3);
        const blocks = await Promise.all([1n, 2n, 3n].map((more) => eth.getBlock(head + more)));
        expect(await eth.getFilterChanges(id)).toEqual(blocks.map(({ hash }) => hash));
        await ends(id);
      });

      it("gets the hashes of transactions that wait", async () => {
        const id = await eth.createNewPendingTransactionFilter();
        const told: unknown[] = [];
        await chain.whileWaiting(3, async (hashes) => {
          await until("they are told", async () => {
            told.push(...(await eth.getFilterChanges(id)));
            return told.includes(hashes[2]);
          });
          expect(told).toEqual(hashes);
        });
        await ends(id);
      });
    });
  });
});
