import { expect, it } from "vitest";
import { systemClock } from "../lib/clock.ts";
import { SocketChannel, type SocketChannelParts } from "./push-channel.ts";

/** A channel over a socket that takes all, and confirms when the test says so. */
function channelOver() {
  const ending = new AbortController();
  const confirmations: ((arrived: boolean) => void)[] = [];
  const network = { facts: { name: "main" } };
  const grant = { meter: { charge: () => undefined }, usage: { record: () => undefined } };
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
  return { channel, ending, confirmations };
}

it("knows what arrived by one confirmation after the other", async () => {
  const { channel, confirmations } = channelOver();
  await channel.push(["1"], "eth_subscribe", 1);
  await channel.push(["2"], "eth_subscribe", 2);
  expect(confirmations).toHaveLength(1);
  expect([channel.pushed, channel.arrived]).toEqual([2, 0]);
  const more = channel.moreArrived();
  confirmations[0]?.(true);
  await more;
  // The second was pushed behind what was asked about.
  expect(channel.arrived).toBe(1);
  expect(confirmations).toHaveLength(2);
});

it("lets nobody wait for a socket that ended", async () => {
  const { channel, ending, confirmations } = channelOver();
  await channel.push(["1"], "eth_subscribe", 1);
  const more = channel.moreArrived();
  ending.abort();
  confirmations[0]?.(false);
  await more;
  await channel.moreArrived();
  expect(channel.arrived).toBe(0);
});
