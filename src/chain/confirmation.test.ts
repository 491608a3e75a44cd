import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { Confirmation } from "./confirmation.ts";

const said = async (...pausesMs: number[]): Promise<Confirmation> => {
  const clock = new FakeClock();
  const confirmation = new Confirmation({ clock });
  for (const ms of pausesMs) {
    await clock.advance(ms);
    confirmation.say();
  }
  return confirmation;
};

it.each([
  { why: "it was never said", pausesMs: [], times: 0, isLong: false },
  { why: "it was said once, long after the start", pausesMs: [60_000], times: 1, isLong: false },
  { why: "it was said often in a moment", pausesMs: [0, 1, 1, 1], times: 4, isLong: false },
  { why: "it was said for 4,999 ms", pausesMs: [0, 2_000, 2_999], times: 3, isLong: false },
  { why: "it was said for 5,000 ms", pausesMs: [0, 2_000, 3_000], times: 3, isLong: true },
  { why: "it was said again after a long time", pausesMs: [0, 15_001], times: 1, isLong: false },
])("long: $isLong, since $why", async ({ pausesMs, times, isLong }) => {
  const confirmation = await said(...pausesMs);
  expect([confirmation.times, confirmation.isLong]).toEqual([times, isLong]);
});

it("begins anew after it ended", async () => {
  const confirmation = await said(0, 6_000);
  confirmation.end();
  expect([confirmation.times, confirmation.isLong]).toEqual([0, false]);
  confirmation.say();
  expect([confirmation.times, confirmation.isLong]).toEqual([1, false]);
});
