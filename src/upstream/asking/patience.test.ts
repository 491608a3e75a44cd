import { expect, it } from "vitest";
import { FakeClock } from "../fake-clock.ts";
import { countedSignal } from "../fake-signal.ts";
import { Patience } from "./patience.ts";

function waitingRoom() {
  const clock = new FakeClock();
  const patience = new Patience({ ms: 3_000, leastMs: 600, mostWaiting: 2 }, { clock });
  const { controller, signal, listeners } = countedSignal();
  const done: string[] = [];
  const wait = (name: string): void => {
    void patience.wait(signal).then(() => done.push(`${clock.now()} ${name}`));
  };
  const left = (): number => clock.waiting + listeners();
  return { clock, patience, wait, done, left, abort: () => controller.abort() };
}

it("ends for all as soon as somebody is there, and leaves nothing behind", async () => {
  const { clock, patience, wait, done, left } = waitingRoom();
  wait("a");
  await clock.advance(100);
  wait("b");
  patience.end();
  await clock.advance(0);
  expect(done).toEqual(["100 a", "100 b"]);
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
  expect(done).toEqual(["3000 a", "3000 b"]);
  await clock.advance(1);
  expect(done.at(-1)).toBe("3600 c");
  expect(left()).toBe(0);
});

it("begins anew when somebody was there meanwhile", async () => {
  const { clock, patience, wait, done } = waitingRoom();
  wait("a");
  await clock.advance(2_900);
  patience.end();
  await clock.advance(0);
  wait("b");
  await clock.advance(2_999);
  expect(done).toEqual(["2900 a"]);
  await clock.advance(1);
  expect(done.at(-1)).toBe("5900 b");
});

it("is not had with one more when too many wait", async () => {
  const { clock, wait, done } = waitingRoom();
  for (const name of ["a", "b", "c"]) wait(name);
  await clock.advance(0);
  expect(done).toEqual(["0 c"]);
});

it("ends when the caller goes away", async () => {
  const { clock, wait, done, left, abort } = waitingRoom();
  wait("a");
  abort();
  await clock.advance(0);
  expect(done).toEqual(["0 a"]);
  expect(left()).toBe(0);
});
