import { describe, expect, it } from "vitest";
import { systemClock } from "../lib/clock.ts";
import { MemoryBudget, memoryHolder } from "../lib/memory-budget.ts";
import { SocketChannel, type SocketChannelParts } from "./push-channel.ts";

/** A channel over a socket that takes every notification, and whose confirmations the test settles. */
function channelOver() {
  const ending = new AbortController();
  const confirmations: ((arrived: boolean) => void)[] = [];
  const network = { facts: { name: "main" } };
  const saved: unknown[] = [];
  const record = (call: { saved: unknown }): void => void saved.push(call.saved);
  const holder = memoryHolder("test");
  const memory = new MemoryBudget({ bytes: 1_000 }, { onRefused: () => undefined });
  const meter = { charge: () => undefined, memory: holder };
  const grant = { name: "test", meter, usage: { record } };
  let isRevoked = false;
  let drain: Promise<void> | undefined;
  const parts = {
    socket: {
      signal: ending.signal,
      push: async (make: () => unknown) => {
        const isMade = make() !== undefined;
        await drain;
        return isMade && !ending.signal.aborted;
      },
      drained: async () => drain,
      confirm: () => new Promise<boolean>((resolve) => confirmations.push(resolve)),
    },
    payer: () => ({ grant: isRevoked ? undefined : grant, network }),
    memory,
    clock: systemClock,
  } as unknown as SocketChannelParts;
  const channel = new SocketChannel(grant as never, parts);
  const revoke = (): void => {
    isRevoked = true;
  };
  /** Makes the socket take nothing. @returns A function that makes it take all. */
  const stop = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    drain = promise;
    return resolve;
  };
  return { channel, ending, confirmations, saved, memory, holder, stop, revoke };
}

const turn = (): Promise<void> => new Promise(setImmediate);

it("knows what arrived by what is confirmed", async () => {
  const { channel, confirmations } = channelOver();
  await channel.push(() => ["1"], "eth_subscribe", 1);
  channel.confirm();
  await turn();
  await channel.push(() => ["2"], "eth_subscribe", 2);
  expect([channel.pushed, channel.arrived]).toEqual([2, 0]);
  const more = channel.moreArrived();
  confirmations[0]?.(true);
  await more;
  expect(channel.arrived).toBe(1);
  await turn();
  // The first confirmation was asked for before the second notification was pushed.
  expect(confirmations).toHaveLength(2);
});

it("asks a few times at once, and again when these are answered", async () => {
  const { channel, confirmations } = channelOver();
  for (let count = 1; count <= 9; count += 1) {
    await channel.push(() => [String(count)], "eth_subscribe", count);
    channel.confirm();
    await turn();
  }
  expect(confirmations).toHaveLength(4);
  for (const confirm of confirmations) confirm(true);
  await turn();
  await turn();
  expect(channel.arrived).toBe(4);
  confirmations[4]?.(true);
  await turn();
  expect(channel.arrived).toBe(9);
});

it("lets nobody wait for a socket that ended", async () => {
  const { channel, ending, confirmations } = channelOver();
  await channel.push(() => ["1"], "eth_subscribe", 1);
  channel.confirm();
  await turn();
  const more = channel.moreArrived();
  ending.abort();
  confirmations[0]?.(false);
  await more;
  await channel.moreArrived();
  expect(channel.arrived).toBe(0);
});

it("counts what the store told as saved, and what a node told not", async () => {
  const { channel, saved } = channelOver();
  await channel.push(() => ["1"], "eth_subscribe", 1);
  await channel.push(() => ["2"], "eth_subscribe", 2, "node");
  expect(saved).toEqual(["store", undefined]);
});

describe("the bytes of a channel", () => {
  const isReady = async (ready: Promise<boolean>): Promise<boolean | "waits"> =>
    Promise.race([ready, turn().then(() => "waits" as const)]);

  it("count for its key until they are pushed", async () => {
    const { channel, memory, holder, stop } = channelOver();
    const take = stop();
    const pushing = channel.push(() => ["12", "345"], "eth_subscribe", 1);
    channel.hold(100);
    await turn();
    expect([holder.bytes, memory.waitingAs("unsent")]).toEqual([105, 105]);
    take();
    await pushing;
    expect([holder.bytes, memory.waitingAs("unsent")]).toEqual([100, 100]);
    channel.hold(-100);
    expect(holder.bytes).toBe(0);
  });

  it("count no more when its socket has ended, whatever did not finish", () => {
    const { channel, ending, holder } = channelOver();
    channel.hold(700);
    ending.abort();
    channel.hold(-300);
    expect(holder.bytes).toBe(0);
  });

  it("let it make nothing new while they are many, or wait for the caller", async () => {
    const { channel, ending, stop } = channelOver();
    const take = stop();
    const ready = channel.ready();
    expect(await isReady(ready)).toBe("waits");
    channel.hold(900);
    take();
    expect(await isReady(ready)).toBe("waits");
    channel.hold(-900);
    expect(await ready).toBe(true);
    channel.hold(900);
    const late = channel.ready();
    ending.abort();
    expect(await late).toBe(false);
  });
});

it("pushes nothing that the key may not have any more when its turn comes", async () => {
  const { channel, revoke } = channelOver();
  const pushing = channel.push(() => ["1"], "eth_subscribe", 1);
  revoke();
  expect(await pushing).toBe(false);
});
