import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { MemoryBudget } from "../lib/memory-budget.ts";
import { RequestScope } from "./request-scope.ts";

function scopes(count: number, { isOver = false } = {}) {
  const clock = new FakeClock();
  const waiting: (() => void)[] = [];
  const turns = { isOver, next: () => new Promise<void>((resolve) => waiting.push(resolve)) };
  const memory = new MemoryBudget({ bytes: 1_000 }, { onRefused: () => undefined });
  const all = Array.from(
    { length: count },
    () => new RequestScope({ deadlineMs: 1_000 }, { clock, memory, turns }),
  );
  const signals = all.map((each) => each.signal());
  const given = () => signals.filter(({ aborted }) => aborted).length;
  const nextTurn = async (): Promise<void> => {
    waiting.shift()?.();
    await new Promise(setImmediate);
  };
  return { all, given, memory, clock, nextTurn };
}

describe("what works for a caller who leaves", () => {
  it("is given up at once where nothing else is done", () => {
    const { all, given, clock } = scopes(3);
    for (const scope of all) scope.end(false);
    expect([given(), clock.waiting]).toEqual([3, 0]);
  });

  it("is given up in turns where many leave, and nothing is held for them any more", async () => {
    const { all, given, memory, nextTurn } = scopes(3, { isOver: true });
    for (const scope of all) scope.hold("unsent", 100);
    for (const scope of all) scope.end(false);
    expect([given(), memory.waiting, all[0]?.hasEnded]).toEqual([0, 0, true]);
    for (const count of [1, 2, 3]) {
      await nextTurn();
      expect(given()).toBe(count);
    }
  });

  it("is over at once for who was sent the answer", () => {
    const { all, given } = scopes(1, { isOver: true });
    all[0]?.end(true);
    expect(given()).toBe(1);
  });
});

// What one request has: time from the first moment it waits, memory until its end, and who is told that it left.
const DEADLINE_MS = 1_000;

let clock: FakeClock;
let held: Record<string, number>;
let scope: RequestScope;

beforeEach(() => {
  clock = new FakeClock();
  held = { bodies: 0, building: 0, unsent: 0 };
  const count = (sign: number) => (kind: string, bytes: number) => {
    held[kind] = (held[kind] ?? 0) + sign * bytes;
  };
  const turns = { isOver: false, next: () => Promise.resolve() };
  const memory = { hold: count(1), release: count(-1) };
  scope = new RequestScope({ deadlineMs: DEADLINE_MS }, { clock, memory, turns });
});

describe("the time of a request", () => {
  it("begins when somebody waits, and no timer is set before", async () => {
    await clock.advance(5_000);
    expect(clock.waiting).toBe(0);
    expect(scope.remainingMs).toBe(DEADLINE_MS);
    const signal = scope.signal();
    await clock.advance(999);
    expect([signal.aborted, scope.remainingMs]).toEqual([false, 1]);
    await clock.advance(1);
    expect(signal.reason).toMatchObject({ message: "the deadline of the request has passed" });
  });

  it("is one signal for all who wait", () => {
    expect(scope.signal()).toBe(scope.signal());
  });

  it("begins anew with each part of the answer that is taken", async () => {
    const signal = scope.signal();
    await clock.advance(900);
    scope.restartDeadline();
    await clock.advance(900);
    expect(signal.aborted).toBe(false);
    await clock.advance(100);
    expect(signal.aborted).toBe(true);
  });

  it("ends with the request: whatever works for it stops, and no timer is left", () => {
    const signal = scope.signal();
    scope.end(true);
    scope.restartDeadline();
    expect(signal.reason).toMatchObject({ message: "the request has ended" });
    expect(clock.waiting).toBe(0);
    expect(scope.hasEnded).toBe(true);
  });
});

describe("who wants to know whether the answer left", () => {
  it.each([true, false])("is told %s once", (wasSent) => {
    const told: boolean[] = [];
    scope.onSent((sent) => told.push(sent));
    scope.end(wasSent);
    scope.end(!wasSent);
    expect(told).toEqual([wasSent]);
  });

  it("and asks too late, is told that it did not", () => {
    const told: boolean[] = [];
    scope.end(true);
    scope.onSent((sent) => told.push(sent));
    expect(told).toEqual([false]);
  });
});

describe("the memory of a request", () => {
  it("is let go at its end, each kind for itself", () => {
    scope.hold("bodies", 100);
    scope.hold("building", 70);
    scope.hold("building", -20);
    scope.hold("unsent", 30);
    expect(held).toEqual({ bodies: 100, building: 50, unsent: 30 });
    scope.end(true);
    expect(held).toEqual({ bodies: 0, building: 0, unsent: 0 });
  });

  it("is not taken any more after it", () => {
    scope.end(false);
    scope.hold("unsent", 30);
    expect(held["unsent"]).toBe(0);
  });
});
