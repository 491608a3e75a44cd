import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { deadline, orAborted, TOO_LATE, within } from "./waiting.ts";

describe("a deadline", () => {
  it("aborts when time is up, and says so", async () => {
    const clock = new FakeClock();
    const { signal } = deadline(100, new AbortController().signal, clock);
    await clock.advance(99);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.reason).toBe(TOO_LATE);
  });

  it("aborts with the other signal, for its reason", () => {
    const outer = new AbortController();
    const { signal } = deadline(100, outer.signal, new FakeClock());
    outer.abort("gone");
    expect(signal.reason).toBe("gone");
    expect(deadline(100, outer.signal, new FakeClock()).signal.reason).toBe("gone");
  });

  it("leaves no timer behind when the work is done", () => {
    const clock = new FakeClock();
    deadline(100, new AbortController().signal, clock).done();
    expect(clock.waiting).toBe(0);
  });
});

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

const why = (): Error => new Error("too late");
const never = new Promise<never>(() => undefined);

it("gives what the promise gives, or throws what it throws", async () => {
  const { signal } = new AbortController();
  expect(await orAborted(Promise.resolve(1), signal, why)).toBe(1);
  await expect(orAborted(Promise.reject(new Error("no")), signal, why)).rejects.toThrow("no");
});

it("ends with the signal, also with one that was aborted before", async () => {
  const controller = new AbortController();
  const ended = expect(orAborted(never, controller.signal, why)).rejects.toThrow("too late");
  controller.abort();
  await ended;
  const tooLate = Promise.reject(new Error("no"));
  await expect(orAborted(tooLate, controller.signal, why)).rejects.toThrow("too late");
});
