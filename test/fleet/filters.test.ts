// Filters that are made at one gateway and polled at another, over a chain with reorgs: a client that only applies the
// filter's items, from whichever gateway, ends with the canonical logs and blocks.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FilterClient, type Log } from "../filters/filter-client.ts";
import { ask, read } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import { Random } from "../support/generated-chain/random.ts";
import { until } from "../support/processes.ts";
import { ChainOfFleet } from "./chain-of-fleet.ts";
import { canRunFleet, type Fleet, startFleet } from "./fleet.ts";

const SEED = 5;
const SCHEDULES = atDepth(2, 6);
const STEPS = 14;
const OTHERS = Array.from({ length: 20 }, (_, number) => `0x${`${number}`.padStart(40, "0")}`);

describe.skipIf(!canRunFleet)("a filter of two gateways over one Redis", () => {
  const random = new Random(SEED);
  let fleet: Fleet;
  let chain: ChainOfFleet;
  let polls = 0;

  beforeAll(async () => {
    fleet = await startFleet();
    chain = await ChainOfFleet.of(fleet);
  });
  afterAll(() => fleet.close());

  const urlOf = (side: number): string => fleet.gateways[side % 2 === 0 ? 0 : 1].endpoint();
  const pollAt = (side: number, id: string): Promise<(Log | string)[]> =>
    read(urlOf(side), "eth_getFilterChanges", id);
  const next = (): number => {
    polls += 1;
    return polls;
  };

  async function move(): Promise<void> {
    switch (random.below(4)) {
      case 0:
        await chain.reorganise(1 + random.below(6));
        break;
      case 1:
        await chain.mine(1 + random.below(3));
        break;
      default:
        await chain.emit();
    }
  }

  /** Expects the removed items before the items of the blocks that replace them. */
  function expectRemovedFirst(items: readonly (Log | string)[]): void {
    const removed = items.map((item) => typeof item !== "string" && item.removed);
    expect(removed).toEqual(removed.toSorted((a, b) => Number(b) - Number(a)));
  }

  /** Makes a log filter and a block filter at one gateway, with a client for each. */
  async function open(side: number) {
    await chain.settled();
    const since = await chain.head();
    const logs = new FilterClient(await chain.logs());
    const blocks = new FilterClient();
    // Every second filter has so many addresses that they are an entry of their own.
    const address = side % 2 === 0 ? chain.emitter : [chain.emitter, ...OTHERS];
    const logFilter = await read<string>(urlOf(side), "eth_newFilter", { address });
    const blockFilter = await read<string>(urlOf(side), "eth_newBlockFilter");
    const poll = async (at: number): Promise<void> => {
      const told = await pollAt(at, logFilter);
      expectRemovedFirst(told);
      logs.hear(told);
      blocks.hear(await pollAt(at, blockFilter));
    };
    const expectAll = async (): Promise<void> => {
      const end = await chain.canonicalEnd(since, () => poll(next()));
      logs.expectLogs(end.logs);
      blocks.expectHashes(end.hashes, (hash) => chain.heights.get(hash));
      expect(await read(urlOf(next()), "eth_uninstallFilter", logFilter)).toBe(true);
      expect(await read(urlOf(next()), "eth_uninstallFilter", blockFilter)).toBe(true);
    };
    return { poll, expectAll, logFilter, blockFilter, since };
  }

  it(`tells all exactly once, polled at one and the other in turn (${SCHEDULES} schedules, seed ${SEED})`, async () => {
    for (let schedule = 0; schedule < SCHEDULES; schedule += 1) {
      const filters = await open(schedule);
      for (let step = 0; step < STEPS; step += 1) {
        await move();
        if (random.below(2)) await filters.poll(next());
      }
      await filters.expectAll();
    }
  });

  it("tells all exactly once through the death of one gateway, and its restart", async () => {
    for (const side of [0, 1] as const) {
      const filters = await open(side);
      await chain.emit();
      await filters.poll(side);
      await fleet.gateways[side].kill();
      await chain.emit();
      await chain.reorganise(2);
      await chain.emit();
      await chain.settled(1 - side);
      await filters.poll(1 - side);
      await chain.emit();
      await fleet.gateways[side].restart();
      await chain.reorganise(3);
      await chain.settled();
      await filters.poll(side);
      await chain.emit();
      await filters.expectAll();
    }
  });

  it("fails while Redis is away, and tells all exactly once when it is back", async () => {
    const filters = await open(1);
    await chain.emit();
    await filters.poll(0);
    await fleet.redis.kill();
    await chain.reorganise(2);
    await chain.emit();
    await chain.settled();
    for (const side of [0, 1]) {
      const { error } = await ask(urlOf(side), "eth_getFilterChanges", [filters.blockFilter]);
      expect(error).toMatchObject({ code: -32603, message: expect.stringContaining("state") });
    }
    await fleet.redis.start();
    await chain.emit();
    const isBack = async (side: number): Promise<boolean> =>
      "result" in (await ask(urlOf(side), "eth_newBlockFilter"));
    for (const side of [0, 1]) await until("filters are there again", () => isBack(side));
    await filters.poll(1);
    await chain.reorganise(3);
    await filters.expectAll();
  });

  it("tells each block and each change of a log once to those who poll at both at the same time", async () => {
    const { logFilter, blockFilter, since } = await open(0);
    const before = (await chain.logs()).map(nameOf);
    const [hashes, changes]: [string[], Log[]] = [[], []];
    let isOver = false;
    /** Polls; retries when Redis is too slow because the machine stood still. */
    const poll = (side: number, id: string): Promise<(Log | string)[]> =>
      pollAt(side, id).catch((error: Error) => {
        if (!error.message.endsWith("cannot be reached, try again")) throw error;
        return [];
      });
    const poller = async (side: number): Promise<void> => {
      while (!isOver) {
        hashes.push(...((await poll(side, blockFilter)) as string[]));
        changes.push(...((await poll(side, logFilter)) as Log[]));
      }
    };
    const pollers = [0, 0, 1, 1].map(poller);
    for (let step = 0; step < 30; step += 1) await move();
    const end = await chain.canonicalEnd(since, async () => {
      await Promise.all([0, 1].map((side) => chain.settled(side)));
    });
    await until("the last block is told", async () => hashes.includes(end.hashes.at(-1) ?? ""));
    isOver = true;
    await Promise.all(pollers);
    for (const side of [0, 1]) {
      expect(await pollAt(side, blockFilter)).toEqual([]);
      changes.push(...((await pollAt(side, logFilter)) as Log[]));
    }
    expect(new Set(hashes).size).toBe(hashes.length);
    expect(hashes).toEqual(expect.arrayContaining(end.hashes));
    expect(balanceOf(before, changes)).toEqual(
      new Map(end.logs.map((log) => [nameOf(log), 1] as const).toSorted()),
    );
  });
});

const nameOf = ({ blockHash, logIndex }: Log): string => `${blockHash} ${logIndex}`;

/** The balance of each log after all changes. Clients that poll at the same time cannot know the order of the changes. */
function balanceOf(before: readonly string[], changes: readonly Log[]): Map<string, number> {
  const balance = new Map(before.map((name) => [name, 1]));
  for (const log of changes) {
    const name = nameOf(log);
    balance.set(name, (balance.get(name) ?? 0) + (log.removed ? -1 : 1));
  }
  return new Map([...balance].filter(([, count]) => count !== 0).toSorted());
}
