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

/** The flags that are set while the thread works so many milliseconds of each half a second. */
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
    sum.idle += 500 - active;
    await clock.advance(500);
  }
  watch.close();
  return flags;
}

const calm = (looks: number): number[] => Array.from({ length: looks }, () => 125);

describe("memory is saved", () => {
  it("not before the thread had time to spare for ten seconds on end", async () => {
    expect(await flagsAfter([...calm(19), 126, ...calm(19)])).toEqual([]);
  });

  it("from then on, until the thread has no time to spare", async () => {
    expect(await flagsAfter([500, ...calm(20)])).toEqual(["--memory-saver-mode"]);
    const again = [...calm(30), 300, 500, ...calm(20)];
    expect(await flagsAfter(again)).toEqual([
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
