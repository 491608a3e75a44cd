// js-conflux-sdk and cive through the real process over real nodes of two generations: they get the same answers as
// from the node itself.
import { Conflux } from "js-conflux-sdk";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SECRET } from "../support/conflux-nodes.ts";
import { until } from "../support/processes.ts";
import { describeEach } from "./each-generation.ts";
import { type EpochWorld, type EpochWorlds, startEpochWorlds } from "./epoch-worlds.ts";
import { inputOf } from "./log-contract.ts";

let worlds: EpochWorlds;

beforeAll(async () => {
  const networks = { followed: {}, passed: { window: { blocks: 0 } } };
  worlds = await startEpochWorlds(networks, { epochs: 6, logs: 40 });
});

afterAll(() => worlds?.stop());

/** A status without latestConfirmed, which grows with time and not with epochs. */
const withoutConfirmed = (status: object): object => ({ ...status, latestConfirmed: undefined });
const emission = inputOf([{ topics: [`0x${"0e".repeat(32)}`], data: "0x05" }]) as `0x${string}`;

/** Does the same work with a client of the gateway and one of the node, and expects equal answers. */
async function askBoth<Client, Answer>(
  clients: readonly [Client, Client],
  work: (client: Client) => Promise<Answer>,
): Promise<Answer> {
  const [own, direct] = await Promise.all(clients.map(work));
  expect(own).toEqual(direct);
  return own as Answer;
}

const openConflux = (at: string): Conflux => new Conflux({ url: at, networkId: 1234 });

describeEach("over conflux-rust", (generation) => {
  describe.each(["followed", "passed"])("%s", (name) => {
    let world: EpochWorld;
    let url: string;

    beforeEach(() => {
      world = worlds.world(generation);
      url = worlds.endpoint(generation, name);
    });

    it("serves the reads of js-conflux-sdk", async () => {
      const both = [openConflux(url), openConflux(world.node.url)] as const;
      const asBoth = <Answer>(work: (conflux: Conflux) => Promise<Answer>): Promise<Answer> =>
        askBoth(both, work);
      const [log] = world.model.logs;
      const address = world.contracts[0] ?? "";
      const hash = log?.transactionHash ?? "";
      const filter = { fromEpoch: 1, toEpoch: "latest_state", address, topics: [null, null] };
      const logs = await asBoth<unknown[]>(({ cfx }) => cfx.getLogs(filter as never));
      expect(logs.length).toBeGreaterThan(3);
      await asBoth(async ({ cfx }) => withoutConfirmed(await cfx.getStatus()));
      await asBoth(({ cfx }) => cfx.epochNumber());
      await asBoth(({ cfx }) => cfx.epochNumber("latest_state"));
      expect(await asBoth(({ cfx }) => cfx.getBalance(log?.address ?? ""))).toBe(0n);
      expect(await asBoth(({ cfx }) => cfx.getTransactionByHash(hash))).toMatchObject({
        hash,
      });
      expect(await asBoth(({ cfx }) => cfx.getTransactionReceipt(hash))).toMatchObject({
        transactionHash: hash,
      });
      await asBoth(({ cfx }) => cfx.getBlockByEpochNumber("latest_state", true));
      await asBoth(({ cfx }) => cfx.call({ to: address, data: emission }));
      await asBoth(({ cfx }) => cfx.getCode(address));
    });

    it("takes a transaction of js-conflux-sdk, and its filters tell of it", async () => {
      const conflux = openConflux(url);
      const to = world.contracts[0] ?? "";
      const account = conflux.wallet.addPrivateKey(`0x${SECRET}`);
      const { cfx } = conflux;
      const filter = await cfx.newFilter({ address: to } as never);
      const blocks = await cfx.newBlockFilter();
      await cfx.getFilterChanges(filter);
      const pending = cfx.sendTransaction({
        from: String(account),
        to,
        data: emission,
        gas: 100_000,
        gasPrice: 20_000_000_000,
        storageLimit: 0,
      } as never);
      const receipt = (await pending.executed({ delta: 50 })) as Record<string, unknown>;
      expect(receipt).toMatchObject({ outcomeStatus: 0, logs: [{ data: "0x05" }] });
      const { epochNumber, blockHash } = receipt as { epochNumber: number; blockHash: string };
      const range = { fromEpoch: epochNumber, toEpoch: epochNumber };
      const logs = await cfx.getLogs(range as never);
      expect(logs).toEqual(await openConflux(world.node.url).cfx.getLogs(range as never));
      expect(logs).toHaveLength(1);
      expect(await cfx.getFilterChanges(filter)).toMatchObject([{ blockHash, data: "0x05" }]);
      expect(await cfx.getFilterChanges(filter)).toEqual([]);
      expect(await cfx.getFilterChanges(blocks)).toContain(blockHash);
      expect(await cfx.uninstallFilter(filter)).toBe(true);
    });

    it("serves cive, and takes a transaction of it", async () => {
      const { createPublicClient, createWalletClient, http } = await import("cive");
      const { defineChain } = await import("cive/utils");
      const { privateKeyToAccount } = await import("cive/accounts");
      const account = privateKeyToAccount(`0x${SECRET}`, { networkId: 1234 });
      const chainAt = (at: string) =>
        defineChain({
          id: 1234,
          name: "test",
          nativeCurrency: { name: "CFX", symbol: "CFX", decimals: 18 },
          rpcUrls: { default: { http: [at] } },
        });
      const open = (at: string) =>
        createPublicClient({
          chain: chainAt(at),
          transport: http(at, { retryCount: 0 }),
          cacheTime: 0,
          pollingInterval: 50,
        });
      const both = [open(url), open(world.node.url)] as const;
      const to = world.contracts[0] as typeof account.address;
      const [log] = world.model.logs;
      const hash = log?.transactionHash as `0x${string}`;
      const own = both[0];
      const asBoth = <Answer>(work: (client: typeof own) => Promise<Answer>): Promise<Answer> =>
        askBoth(both, work);
      await asBoth(async (client) => withoutConfirmed(await client.getStatus()));
      await asBoth((client) => client.getEpochNumber({ epochTag: "latest_state" }));
      await asBoth((client) => client.getBalance({ address: account.address }));
      await asBoth((client) => client.getTransaction({ hash }));
      await asBoth((client) => client.getTransactionReceipt({ hash }));
      await asBoth((client) => client.call({ to, data: emission }));
      const range = { fromEpoch: 0n, toEpoch: "latest_state" } as const;
      expect(await asBoth((client) => client.getLogs({ ...range, address: to }))).not.toEqual([]);
      const filter = await own.createEventFilter({ address: to });
      await own.getFilterChanges({ filter });
      const wallet = createWalletClient({ account, chain: chainAt(url), transport: http(url) });
      const sent = await wallet.sendTransaction({ to, data: emission });
      const receipt = await own.waitForTransactionReceipt({ hash: sent });
      expect(receipt).toMatchObject({ outcomeStatus: "success", logs: [{ data: "0x05" }] });
      const told = await until("the filter tells", async () => {
        const changes = await own.getFilterChanges({ filter });
        return changes.length > 0 && changes;
      });
      expect(told).toMatchObject([{ transactionHash: sent }]);
      expect(await own.uninstallFilter({ filter })).toBe(true);
    });
  });
});
