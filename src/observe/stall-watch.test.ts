import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { StallWatch } from "./stall-watch.ts";

it("a process that stood still counts it, and tells it once a minute", async () => {
  const clock = new FakeClock();
  const told: unknown[] = [];
  const seconds: number[] = [];
  const watch = new StallWatch({
    clock,
    log: { warn: (line: unknown) => void told.push(line) } as never,
    metrics: { stoodStill: (each) => void seconds.push(each) },
  });
  watch.start();
  await clock.advance(500);
  await clock.advance(1_400);
  expect(seconds).toEqual([]);
  await clock.advance(3_500);
  await clock.advance(2_500);
  expect(seconds).toEqual([3, 2]);
  expect(told).toEqual([{ ms: 3_000 }]);
  await clock.advance(60_500);
  expect(told).toHaveLength(2);
  watch.close();
  expect(clock.waiting).toBe(0);
});
