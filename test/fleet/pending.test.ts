// A filter for pending transactions that is polled at two gateways, each of which hears them from the node: it tells
// every hash once, whichever gateway is polled, and whichever is away for a while.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { read } from "../support/ask.ts";
import { until } from "../support/processes.ts";
import { ChainOfFleet } from "./chain-of-fleet.ts";
import { canRunFleet, type Fleet, startFleet } from "./fleet.ts";

const SIDES = [0, 1] as const;
type Side = (typeof SIDES)[number];

describe.skipIf(!canRunFleet)("a filter for pending transactions of two gateways", () => {
  let fleet: Fleet;
  let chain: ChainOfFleet;

  beforeAll(async () => {
    fleet = await startFleet();
    chain = await ChainOfFleet.of(fleet);
    await chain.settled();
  });
  afterAll(() => fleet.close());

  const urlOf = (side: Side): string => fleet.gateways[side].endpoint();

  /** Makes a filter at one gateway, and keeps the hashes that were sent and told since. */
  async function open(side: Side) {
    const id = await read<string>(urlOf(side), "eth_newPendingTransactionFilter");
    const told: string[] = [];
    const sent: string[] = [];
    const poll = async (at: Side): Promise<void> => {
      told.push(...(await read<string[]>(urlOf(at), "eth_getFilterChanges", id)));
    };
    return {
      told,
      poll,
      send: async (count: number): Promise<void> => {
        for (let value = 0; value < count; value += 1)
          sent.push(await chain.send({ to: chain.emitter, value: "0x0", gas: "0x100000" }));
      },
      allTold: (...sides: readonly Side[]): Promise<unknown> =>
        until("all is told", async () => {
          for (const at of sides) await poll(at);
          return told.length >= sent.length;
        }),
      expectOnce: async (): Promise<void> => {
        for (const at of SIDES) await poll(at);
        expect(told.toSorted()).toEqual(sent.toSorted());
      },
    };
  }

  it("tells each hash once, polled at one and the other in turn", async () => {
    const { send, poll, allTold, expectOnce } = await open(0);
    for (let round = 0; round < 20; round += 1) {
      await send(round % 4);
      await poll(round % 2 === 0 ? 1 : 0);
    }
    await allTold(...SIDES);
    await expectOnce();
  });

  it("tells each hash once to those who poll at both at the same time", async () => {
    const { send, poll, allTold, expectOnce } = await open(1);
    let isOver = false;
    const poller = async (side: Side): Promise<void> => {
      while (!isOver) await poll(side);
    };
    const pollers = Promise.all(([0, 0, 1, 1] as const).map(poller));
    await Promise.race([send(60), pollers]);
    isOver = true;
    await pollers;
    await allTold(...SIDES);
    await expectOnce();
  });

  it.each(SIDES)(
    "tells each hash once when gateway %i is killed, and comes back",
    async (dying) => {
      const living = dying === 0 ? 1 : 0;
      const { send, poll, allTold, expectOnce, told } = await open(dying);
      await send(5);
      await poll(dying);
      await poll(living);
      await allTold(living);
      await send(3);
      await fleet.gateways[dying].kill();
      await send(5);
      await allTold(living);
      expect(told.length).toBe(13);
      await send(2);
      await fleet.gateways[dying].restart();
      await send(5);
      await allTold(dying, living);
      await expectOnce();
    },
  );
});
