import { expect, it } from "vitest";
import { FakeClock } from "../upstream/fake-clock.ts";
import { Insistence } from "./insistence.ts";

const said = async (...pausesMs: number[]): Promise<Insistence> => {
  const clock = new FakeClock();
  const insistence = new Insistence({ clock });
  for (const ms of pausesMs) {
    await clock.advance(ms);
    insistence.say();
  }
  return insistence;
};

it.each([
  { why: "it was never said", pausesMs: [], times: 0, isLong: false },
  { why: "it was said once, long after the start", pausesMs: [60_000], times: 1, isLong: false },
  { why: "it was said often in a moment", pausesMs: [0, 1, 1, 1], times: 4, isLong: false },
  { why: "it was said for 4,999 ms", pausesMs: [0, 2_000, 2_999], times: 3, isLong: false },
  { why: "it was said for 5,000 ms", pausesMs: [0, 2_000, 3_000], times: 3, isLong: true },
  { why: "it was said again after a long time", pausesMs: [0, 15_001], times: 1, isLong: false },
])("long: $isLong, since $why", async ({ pausesMs, times, isLong }) => {
  const insistence = await said(...pausesMs);
  expect([insistence.times, insistence.isLong]).toEqual([times, isLong]);
});

it("begins anew after it ended", async () => {
  const insistence = await said(0, 6_000);
  insistence.end();
  expect([insistence.times, insistence.isLong]).toEqual([0, false]);
  insistence.say();
  expect([insistence.times, insistence.isLong]).toEqual([1, false]);
});
