import { expect, it } from "vitest";
import { systemClock } from "../lib/clock.ts";
import { SocketChannel, type SocketChannelParts } from "./push-channel.ts";

/** A channel over a socket that takes every notification, and whose confirmations the test settles. */
function channelOver() {
  const ending = new AbortController();
  const confirmations: ((arrived: boolean) => void)[] = [];
  const network = { facts: { name: "main" } };
  const saved: unknown[] = [];
  const record = (call: { saved: unknown }): void => void saved.push(call.saved);
  const grant = { meter: { charge: () => undefined }, usage: { record } };
  const parts = {
    socket: {
      signal: ending.signal,
      push: async () => !ending.signal.aborted,
      confirm: () => new Promise<boolean>((resolve) => confirmations.push(resolve)),
    },
    payer: () => ({ grant, network }),
    clock: systemClock,
  } as unknown as SocketChannelParts;
  const channel = new SocketChannel({ holder: "test" }, parts);
  return { channel, ending, confirmations, saved };
}

const turn = (): Promise<void> => new Promise(setImmediate);

it("knows what arrived by what is confirmed", async () => {
  const { channel, confirmations } = channelOver();
  await channel.push(["1"], "eth_subscribe", 1);
  channel.confirm();
  await turn();
  await channel.push(["2"], "eth_subscribe", 2);
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
    await channel.push([String(count)], "eth_subscribe", count);
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
  await channel.push(["1"], "eth_subscribe", 1);
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
  await channel.push(["1"], "eth_subscribe", 1);
  await channel.push(["2"], "eth_subscribe", 2, "node");
  expect(saved).toEqual(["store", undefined]);
});
