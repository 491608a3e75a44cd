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

/** The settings of one V8 flag while the thread works this many milliseconds of each half second. */
async function flagsAfter(activeMs: readonly number[], name: string): Promise<string[]> {
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
  return flags.filter((flag) => flag.endsWith(name));
}

const calm = (looks: number): number[] => Array.from({ length: looks }, () => 125);

describe("memory is saved", () => {
  const saved = (activeMs: readonly number[]) => flagsAfter(activeMs, "memory-saver-mode");

  it("not before the thread had time to spare for ten seconds on end", async () => {
    expect(await saved([...calm(19), 126, ...calm(19)])).toEqual([]);
  });

  it("from then on, until the thread has no time to spare", async () => {
    expect(await saved([500, ...calm(20)])).toEqual(["--memory-saver-mode"]);
    expect(await saved([...calm(30), 300, 500, ...calm(20)])).toEqual([
      "--memory-saver-mode",
      "--no-memory-saver-mode",
      "--memory-saver-mode",
    ]);
  });

  it("without a long stop while calls come", async () => {
    const compacted = (activeMs: readonly number[]) => flagsAfter(activeMs, "compact");
    expect(await compacted([0, 10, 10])).toEqual([]);
    expect(await compacted([10, 11, 125, 10])).toEqual(["--no-compact", "--compact"]);
    expect(await compacted([500, 126, 125, 126])).toEqual(["--no-compact", "--compact"]);
  });

  it.each(["memory-saver-mode", "compact"])("by a flag that this V8 knows: %s", (name) => {
    const { stdout } = spawnSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
    expect(stdout).toMatch(new RegExp(`^ +--${name} `, "m"));
  });
});
