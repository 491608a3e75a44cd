import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { within } from "./within.ts";

describe("work that is waited for, but not for long", () => {
  it("gives what it gives in time", async () => {
    expect(await within(100, Promise.resolve("done"), { clock: new FakeClock() })).toBe("done");
  });

  it("is left to itself when time is up", async () => {
    const clock = new FakeClock();
    const waiting = within(100, new Promise<string>(() => undefined), { clock });
    await clock.advance(100);
    expect(await waiting).toBeUndefined();
  });

  it("is left to itself when its signal ends", async () => {
    const ending = new AbortController();
    const waiting = within(100, new Promise<string>(() => undefined), {
      clock: new FakeClock(),
      signal: ending.signal,
    });
    ending.abort();
    expect(await waiting).toBeUndefined();
  });

  it("fails as it fails", async () => {
    const work = Promise.reject(new Error("broken"));
    await expect(within(100, work, { clock: new FakeClock() })).rejects.toThrow("broken");
  });
});
