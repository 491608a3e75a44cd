import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { CallbackGuard } from "./callback-guard.ts";

function watchedGuard() {
  const clock = new FakeClock();
  const counted: string[] = [];
  const logged: { event: string; unlogged: number }[] = [];
  const guard = new CallbackGuard({
    clock,
    metrics: { callbackFailed: (event) => void counted.push(event) },
    log: {
      error: (fields: { event: string; unlogged: number }) => void logged.push(fields),
    } as never,
  });
  let ended = 0;
  const connection = {
    destroy: () => {
      ended += 1;
    },
  };
  return { guard, clock, counted, logged, connection, ended: () => ended };
}

const fault = (): never => {
  throw new Error("a fault");
};

describe("a callback that fails", () => {
  it.each([
    ["throws", fault],
    ["rejects", async () => fault()],
  ])("by what it %s ends its connection, and is counted and logged", async (_, task) => {
    const { guard, counted, logged, connection, ended } = watchedGuard();
    guard.run("upgrade", connection, task);
    await new Promise((done) => setImmediate(done));
    expect([ended(), counted]).toEqual([1, ["upgrade"]]);
    expect(logged).toMatchObject([{ event: "upgrade", unlogged: 0, err: { message: "a fault" } }]);
  });

  it("is logged ten times a minute, and counted each time", async () => {
    const { guard, clock, counted, logged, connection } = watchedGuard();
    for (let times = 0; times < 25; times += 1) guard.run("request", connection, fault);
    expect([counted.length, logged.length]).toEqual([25, 10]);
    await clock.advance(60_000);
    guard.run("request", connection, fault);
    expect(logged.at(-1)).toMatchObject({ unlogged: 15 });
  });

  it("does no harm where its connection cannot be ended", () => {
    const { guard, counted } = watchedGuard();
    guard.run("request", { destroy: fault }, fault);
    expect(counted).toEqual(["request"]);
  });
});

it("a callback that succeeds leaves its connection", async () => {
  const { guard, counted, connection, ended } = watchedGuard();
  guard.run("request", connection, () => 7);
  guard.run("request", connection, async () => 7);
  await new Promise((done) => setImmediate(done));
  expect([ended(), counted]).toEqual([0, []]);
});
