import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { ProcessWatch } from "./process-watch.ts";

it("a process that stood still counts it, and tells it once a minute", async () => {
  const clock = new FakeClock();
  const told: unknown[] = [];
  const seconds: number[] = [];
  const watch = new ProcessWatch({
    clock,
    log: { warn: (line: unknown) => void told.push(line) } as never,
    metrics: { stoodStill: (each) => void seconds.push(each) },
    setFlag: () => undefined,
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

const LOOKS_MS = Array.from({ length: 10 }, () => 500);

/** The flags that are set while the thread works so many milliseconds of each five seconds. */
async function flagsAfter(activeMs: readonly number[]): Promise<string[]> {
  const clock = new FakeClock();
  const flags: string[] = [];
  const sum = { active: 0, idle: 0, utilization: 0 };
  const watch = new ProcessWatch({
    clock,
    log: { warn: () => undefined },
    metrics: { stoodStill: () => undefined },
    worked: () => ({ ...sum }),
    setFlag: (flag) => flags.push(flag),
  });
  watch.start();
  for (const active of activeMs) {
    sum.active += active;
    sum.idle += 5_000 - active;
    for (const ms of LOOKS_MS) await clock.advance(ms);
  }
  watch.close();
  return flags;
}

describe("memory is saved", () => {
  it("not as long as the thread works much of its time", async () => {
    expect(await flagsAfter([5_000, 4_000, 1_300])).toEqual([]);
  });

  it("from when the thread has time to spare, until it has none", async () => {
    expect(await flagsAfter([5_000, 100, 0, 1_250, 2_000, 3_000, 10])).toEqual([
      "--memory-saver-mode",
      "--no-memory-saver-mode",
      "--memory-saver-mode",
    ]);
  });

  it("by a flag that this V8 knows", () => {
    const { stdout } = spawnSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
    expect(stdout).toContain("--memory-saver-mode");
  });
});
