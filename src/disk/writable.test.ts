import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { until } from "../../test/support/processes.ts";
import { NotWritable, Writable } from "./writable.ts";

const folder = mkdtempSync(join(tmpdir(), "headgate-writable-"));
afterAll(() => rmdirSync(folder));

/** The error of a commit as LMDB throws it: the reason is in a promise of its own. */
const failedCommit = (code: number, message = "Input/output error"): Error =>
  Object.assign(new Error("Commit failed (see commitError for details)"), {
    commitError: Promise.reject(Object.assign(new Error(message), { code })),
  });

let clock: FakeClock;
let isBroken: boolean;
let trials: number;
let told: (string | boolean)[];
let writable: Writable;

beforeEach(() => {
  clock = new FakeClock();
  isBroken = true;
  trials = 0;
  told = [];
  const log = {
    warn: (fields: object, text: string) => void told.push(`${text} ${JSON.stringify(fields)}`),
    info: (text: string) => void told.push(text),
  };
  writable = new Writable(
    { folder, name: "the store", meanwhile: "it waits" },
    {
      clock,
      log: log as never,
      onChange: (isWritable) => void told.push(isWritable),
      probe: async () => {
        trials += 1;
        if (isBroken) throw failedCommit(28);
      },
    },
  );
});

const fail = (): Promise<never> => writable.run(() => Promise.reject(failedCommit(28)));
describe("what the disk does not take", () => {
  it.each([
    [() => failedCommit(28), "no space is left on the disk"],
    [() => failedCommit(5), "the disk reports an input/output error"],
    [() => Object.assign(new Error("x"), { code: "EROFS" }), "the disk is read-only"],
    [() => Object.assign(new Error("x"), { code: "EDQUOT" }), "the disk quota is used up"],
    [() => Object.assign(new Error("x"), { code: -30_792 }), "its file cannot grow"],
    [() => failedCommit(-30_795, "MDB_PANIC"), "writing fails (MDB_PANIC)"],
  ])("is told in words: %s", async (errorOf, why) => {
    await expect(writable.run(() => Promise.reject(errorOf()))).rejects.toThrow(
      new NotWritable(why),
    );
    expect(writable.why).toBe(why);
  });

  it("is told once, however many writes were under way, and later ones are not tried", async () => {
    await Promise.allSettled([fail(), fail(), fail()]);
    let isTried = false;
    const later = writable.run(async () => {
      isTried = true;
    });
    await expect(later).rejects.toBeInstanceOf(NotWritable);
    expect(isTried).toBe(false);
    expect(told).toEqual([
      'the store cannot be written: it waits {"reason":"no space is left on the disk"}',
      false,
    ]);
  });

  it("is tried again, less and less often, and is told to be over once", async () => {
    await fail().catch(() => undefined);
    for (let second = 0; second < 60; second += 1) {
      await clock.advance(1000);
      await until("a trial is due", async () => clock.waiting === 1); // the timer of the next trial
    }
    expect(trials).toBeGreaterThan(5);
    expect(trials).toBeLessThan(12);
    isBroken = false;
    await clock.advance(10_000);
    await until("it can be written", async () => writable.why === undefined);
    expect(writable.why).toBeUndefined();
    expect(told.slice(2)).toEqual(["the store can be written again", true]);
    expect(await writable.run(async () => "written")).toBe("written");
    expect(clock.waiting).toBe(0);
  });

  it("is not what a mistake of our own is", async () => {
    await expect(writable.run(() => Promise.reject(new TypeError("x")))).rejects.toThrow(TypeError);
    expect(writable.why).toBeUndefined();
  });

  it("is tried no more after the end", async () => {
    await fail().catch(() => undefined);
    writable.close();
    expect(clock.waiting).toBe(0);
  });
});
