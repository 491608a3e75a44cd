import { expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { HeadTimes } from "./head-times.ts";

it("tells for how long a node has been behind", async () => {
  const clock = new FakeClock();
  const heads = new HeadTimes({ clock });
  expect(heads.secondsBehind(5)).toBe(0);
  heads.saw(10);
  await clock.advance(2_000);
  heads.saw(11);
  heads.saw(9); // another node's head
  await clock.advance(3_000);
  heads.saw(14); // 12 and 13 were skipped
  expect([9, 10, 11, 12, 14, 15].map((number) => heads.secondsBehind(number))).toEqual([
    5, 3, 0, 0, 0, 0,
  ]);
  await clock.advance(1_000);
  expect([9, 10, 11, 13].map((number) => heads.secondsBehind(number))).toEqual([6, 4, 1, 1]);
  expect(heads.highest).toBe(14);
});

it("does not remember without end", async () => {
  const clock = new FakeClock();
  const heads = new HeadTimes({ clock });
  for (let number = 0; number < 3_000; number += 1) {
    heads.saw(number);
    await (number % 500 === 0 ? clock.advance(1_000) : undefined);
  }
  expect(heads.secondsBehind(2_999)).toBe(0);
  expect(heads.secondsBehind(1)).toBeLessThanOrEqual(3);
});

it("tells the time between the newest blocks", async () => {
  const clock = new FakeClock();
  const heads = new HeadTimes({ clock });
  expect(heads.blockMs).toBeUndefined();
  heads.saw(100);
  expect(heads.blockMs).toBeUndefined();
  await clock.advance(60_000);
  heads.saw(102); // no head was seen in between
  expect(heads.blockMs).toBe(30_000);
  for (let number = 103; number < 120; number += 1) {
    await clock.advance(2_000);
    heads.saw(number);
  }
  expect(heads.blockMs).toBe(2_000);
});
