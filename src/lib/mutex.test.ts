import { describe, expect, it } from "vitest";
import { Mutex, UseCount } from "./mutex.ts";

describe("a mutex", () => {
  it("runs tasks one after the other, in the order in which they came", async () => {
    const mutex = new Mutex();
    const seen: string[] = [];
    const task = (name: string) => async (): Promise<string> => {
      seen.push(`${name} begins`);
      await new Promise(setImmediate);
      seen.push(`${name} ends`);
      return name;
    };
    const names = await Promise.all([mutex.run(task("first")), mutex.run(task("second"))]);
    expect(names).toEqual(["first", "second"]);
    expect(seen).toEqual(["first begins", "first ends", "second begins", "second ends"]);
  });

  it("tells a failure to the one who asked, and goes on", async () => {
    const mutex = new Mutex();
    const failed = mutex.run(async () => {
      throw new Error("broken");
    });
    const next = mutex.run(async () => "next");
    await expect(failed).rejects.toThrow("broken");
    expect(await next).toBe("next");
  });

  it("is idle when nothing runs or waits", async () => {
    const mutex = new Mutex();
    expect(mutex.isIdle).toBe(true);
    void mutex.run(async () => undefined);
    expect(mutex.isIdle).toBe(false);
    await mutex.idle();
    expect(mutex.isIdle).toBe(true);
  });
});

it("is empty when the last one has left", async () => {
  const occupancy = new UseCount();
  await occupancy.empty();
  occupancy.enter();
  occupancy.enter();
  const seen: string[] = [];
  const empty = occupancy.empty().then(() => seen.push("empty"));
  occupancy.leave();
  await new Promise(setImmediate);
  expect(seen).toEqual([]);
  occupancy.leave();
  await empty;
  expect(seen).toEqual(["empty"]);
});
