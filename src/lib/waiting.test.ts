import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import {
  deadline,
  HEARTBEAT_MS,
  Heartbeat,
  orAborted,
  PendingReplies,
  soon,
  TIMED_OUT,
  within,
} from "./waiting.ts";

describe("a deadline", () => {
  it("aborts when time is up, and says so", async () => {
    const clock = new FakeClock();
    const { signal } = deadline(100, new AbortController().signal, clock);
    await clock.advance(99);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.reason).toBe(TIMED_OUT);
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

describe("the heartbeat of another process or thread", () => {
  const watch = (takeBeats?: () => number) => {
    const clock = new FakeClock();
    const hangs: number[] = [];
    const onHang = (silentMs: number): void => void hangs.push(silentMs);
    const parts = { clock, silenceMs: () => 2_000, onHang, ...(takeBeats && { takeBeats }) };
    const heartbeat = new Heartbeat(parts);
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += HEARTBEAT_MS) await clock.advance(HEARTBEAT_MS);
    };
    return { heartbeat, hangs, pass, clock };
  };

  it("may be late at the beginning, and stops once", async () => {
    const { heartbeat, hangs, pass } = watch();
    await pass(20_000);
    expect(heartbeat.isAlive).toBe(true);
    heartbeat.beat();
    await pass(1_500);
    expect({ isAlive: heartbeat.isAlive, hasHung: heartbeat.hasHung }).toEqual({
      isAlive: true,
      hasHung: false,
    });
    await pass(2_000);
    expect({ isAlive: heartbeat.isAlive, hasHung: heartbeat.hasHung, hangs }).toEqual({
      isAlive: false,
      hasHung: true,
      hangs: [2_000],
    });
  });

  it("may be looked for instead of told, and is nobody's business after its end", async () => {
    let beats = 1;
    const { heartbeat, hangs, pass, clock } = watch(() => beats);
    await pass(60_000);
    expect(hangs).toEqual([]);
    beats = 0;
    heartbeat.stop();
    expect(clock.waiting).toBe(0);
  });
});

describe("replies that are pending", () => {
  it("come under the ids of their requests, in any order, once", async () => {
    const replies = new PendingReplies<string>();
    const [one, other] = [replies.begin(), replies.begin()];
    replies.settle(other.id, "second");
    replies.settle(other.id, "again");
    replies.settle(99, "nobody's");
    replies.settle(one.id, "first");
    expect(await Promise.all([one.reply, other.reply])).toEqual(["first", "second"]);
  });

  it("are replaced when time is up, with no timer left behind those that came", async () => {
    const clock = new FakeClock();
    const replies = new PendingReplies<string>();
    const timeout = { ms: 100, reply: "too late", clock };
    const [one, other] = [replies.begin(timeout), replies.begin(timeout)];
    replies.settle(one.id, "in time");
    expect(clock.waiting).toBe(1);
    await clock.advance(100);
    expect(await Promise.all([one.reply, other.reply])).toEqual(["in time", "too late"]);
  });

  it("are all replaced when none comes any more", async () => {
    const replies = new PendingReplies<string>();
    const pending = [replies.begin(), replies.begin()];
    replies.settleAll("gone");
    expect(await Promise.all(pending.map(({ reply }) => reply))).toEqual(["gone", "gone"]);
  });
});

describe("what several give soon", () => {
  const times = { afterFirstMs: 10, longestMs: 100 };

  it("is what all gave, in order, as soon as all did", async () => {
    const clock = new FakeClock();
    const work = [Promise.resolve("a"), Promise.resolve(undefined), Promise.reject(new Error())];
    expect(await soon(work, times, { clock })).toEqual(["a", undefined, undefined]);
    expect(clock.waiting).toBe(0);
  });

  it("does not wait long for others when one gave something", async () => {
    const clock = new FakeClock();
    const waiting = soon([never, Promise.resolve("b")], times, { clock });
    await clock.advance(0);
    await clock.advance(10);
    expect(await waiting).toEqual([undefined, "b"]);
  });

  it("waits for the first, but not for ever", async () => {
    const clock = new FakeClock();
    const waiting = soon([never, Promise.resolve(undefined)], times, { clock });
    await clock.advance(99);
    await clock.advance(1);
    expect(await waiting).toEqual([undefined, undefined]);
  });
});
