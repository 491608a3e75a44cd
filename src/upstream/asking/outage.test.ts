// A call that finds no usable upstream waits a little, while not too many other calls wait.
import { expect, it } from "vitest";
import { countedSignal } from "../../../test/support/counted-signal.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { driven, networkOf, result } from "../../../test/support/scripted-call.ts";
import type { Upstream } from "../upstream.ts";
import type { AgreementRule } from "./at-once.ts";
import { NetworkCalls } from "./network-calls.ts";

/** Calls of a network without usable upstreams until `comeBack`; `done` has the end of each call, with the time. */
function waitingRoom(rule?: AgreementRule) {
  const clock = new FakeClock();
  const { controller, signal, listeners } = countedSignal();
  const upstreams: Upstream[] = [];
  let isSettled = false;
  const pool = { usable: () => upstreams, nodes: upstreams, isSettled: () => isSettled };
  const shared = new NetworkCalls(
    {
      ...{ network: "n", toleratedLag: 1, broadcast: undefined },
      hedging: { share: 0.1, leastMs: 25, mostMs: 2_000 },
    },
    { clock, pool, metrics: undefined as never, log: undefined as never },
  );
  const network = {
    ...networkOf(upstreams),
    isSettled: () => shared.isSettled(),
    outSinceMs: (now: number) => shared.outSinceMs(now),
    mayWait: (shortOf: "budget" | "upstreams") => shared.mayWait(shortOf),
    enter: (...room: Parameters<typeof shared.enter>) => shared.enter(...room),
    leave: (...room: Parameters<typeof shared.leave>) => shared.leave(...room),
  };
  const done: string[] = [];
  const wait = (name: string): void => {
    const end = (how: string) => done.push(`${clock.now()} ${name} ${how}`);
    void driven({ method: "eth_call", signal, ...(rule && { rule }) }, { clock, network }).then(
      ({ kind }) => end(kind),
      ({ status }) => end(status),
    );
  };
  const comeBack = (): void => {
    const budget = { costOf: () => 1, waitMs: () => 0 };
    const ask = async () => result("1");
    const options = { vendor: `vendor ${upstreams.length}` };
    const upstream = { name: "a", ask, isMissing: () => false, budget, options };
    upstreams.push(upstream as unknown as Upstream);
    shared.resume();
  };
  const left = (): number => clock.waiting + listeners();
  const goAway = (): void => void upstreams.pop();
  const settle = (): void => {
    isSettled = true;
    shared.resume();
  };
  return {
    settle,
    clock,
    wait,
    done,
    left,
    comeBack,
    goAway,
    shared,
    abort: () => controller.abort(),
  };
}

it("ends for all as soon as somebody is there, and leaves nothing behind", async () => {
  const { clock, comeBack, wait, done, left } = waitingRoom();
  wait("a");
  await clock.advance(100);
  wait("b");
  comeBack();
  await clock.advance(0);
  expect(done).toEqual(["100 a result", "100 b result"]);
  expect(left()).toBe(0);
});

it("ends at one moment for those who came at first, and gives a little time to those who came late", async () => {
  const { clock, wait, done, left } = waitingRoom();
  wait("a");
  await clock.advance(2_000);
  wait("b");
  await clock.advance(1_000);
  wait("c");
  await clock.advance(599);
  expect(done).toEqual(["3000 a 503", "3000 b 503"]);
  await clock.advance(1);
  expect(done.at(-1)).toBe("3600 c 503");
  expect(left()).toBe(0);
});

it("begins anew when somebody was there meanwhile", async () => {
  const { clock, comeBack, goAway, wait, done } = waitingRoom();
  wait("a");
  await clock.advance(2_900);
  comeBack();
  await clock.advance(0);
  goAway();
  wait("b");
  await clock.advance(2_999);
  expect(done).toEqual(["2900 a result"]);
  await clock.advance(1);
  expect(done.at(-1)).toBe("5900 b 503");
});

it("ends once for a call that finds nobody again when it is told that somebody is there", async () => {
  const { clock, wait, shared, done, left } = waitingRoom();
  wait("a");
  await clock.advance(100);
  shared.resume();
  await clock.advance(0);
  expect(done).toEqual(["100 a 503"]);
  expect(left()).toBe(0);
});

it("is not had with one more when too many wait", async () => {
  const { clock, wait, done } = waitingRoom();
  for (let count = 0; count < 2_000; count += 1) wait("one of many");
  wait("c");
  await clock.advance(0);
  expect(done).toEqual(["0 c 503"]);
});

it("ends when the caller goes away", async () => {
  const { clock, wait, done, left, abort } = waitingRoom();
  wait("a");
  abort();
  await clock.advance(0);
  expect(done).toEqual(["0 a 503"]);
  expect(left()).toBe(0);
});

it("is for vendors that must agree while it is not known of all whether they can be asked", async () => {
  const { clock, comeBack, wait, done, left } = waitingRoom({ ask: 3, agree: 2 });
  comeBack();
  wait("a");
  await clock.advance(50);
  expect(done).toEqual([]);
  comeBack();
  await clock.advance(0);
  expect(done).toEqual(["50 a result"]);
  expect(left()).toBe(0);
});

it("for vendors has an end, and is not begun where all are known", async () => {
  const { clock, comeBack, wait, done, left, settle, shared } = waitingRoom({ ask: 3, agree: 2 });
  comeBack();
  wait("a");
  await clock.advance(2_000);
  shared.resume();
  wait("b");
  await clock.advance(1_000);
  expect(done).toEqual(["3000 a 503"]);
  settle();
  await clock.advance(0);
  wait("c");
  await clock.advance(0);
  expect(done).toEqual(["3000 a 503", "3000 b 503", "3000 c 503"]);
  expect(left()).toBe(0);
});
