// What one request has: time from the first moment it waits, memory until its end, and who is told that it left.
import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { RequestScope } from "./request-scope.ts";

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
