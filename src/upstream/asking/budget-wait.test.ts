import { describe, expect, it } from "vitest";
import { FakeClock } from "../fake-clock.ts";
import { BudgetWait } from "./budget-wait.ts";

/** One call's waits; `waiting` is how many calls wait, of which at most `mostWaiting` may. */
function waits(mostWaiting = 1) {
  const clock = new FakeClock();
  let waiting = 0;
  let done = 0;
  const onWaiting = (count: 1 | -1): boolean => {
    if (waiting + count > mostWaiting) return false;
    waiting += count;
    return true;
  };
  const budgetWait = new BudgetWait({ clock, onWaiting });
  const onDone = (): void => {
    done += 1;
  };
  const begin = (ms: number, patienceMs?: number): boolean =>
    budgetWait.begin(ms, onDone, patienceMs);
  const now = () => ({ timers: clock.waiting, waiting, done });
  return { clock, begin, now, stop: (): void => budgetWait.stop() };
}

describe("a call that waits for budget", () => {
  it("waits for as long as is told, and is counted meanwhile", async () => {
    const { clock, begin, now } = waits();
    expect(begin(300)).toBe(true);
    await clock.advance(299);
    expect(now()).toEqual({ timers: 1, waiting: 1, done: 0 });
    await clock.advance(1);
    expect(now()).toEqual({ timers: 0, waiting: 0, done: 1 });
  });

  it("may wait again at the end of a wait", async () => {
    const clock = new FakeClock();
    const ends: number[] = [];
    const budgetWait = new BudgetWait({ clock, onWaiting: () => true });
    const again = (): void => {
      ends.push(clock.now());
      budgetWait.begin(300, again);
    };
    budgetWait.begin(300, again);
    for (let count = 0; count < 6; count += 1) await clock.advance(300);
    expect(ends).toEqual([300, 600, 900]); // a second in all
    expect(clock.waiting).toBe(0);
  });

  it.each([
    { ms: 1_000, may: true },
    { ms: 1_001, may: false },
    { ms: Number.POSITIVE_INFINITY, may: false },
  ])("may wait $ms ms: $may", ({ ms, may }) => {
    const { begin, now } = waits();
    expect(begin(ms)).toBe(may);
    expect(now()).toMatchObject({ timers: may ? 1 : 0, waiting: may ? 1 : 0 });
  });

  it("has its second from the first time on, also while it is asked elsewhere", async () => {
    const { clock, begin } = waits();
    begin(100);
    await clock.advance(100);
    await clock.advance(400); // a node was asked, and said no
    expect(begin(501)).toBe(false);
    expect(begin(500)).toBe(true);
  });

  it("has less than a second when it is told so, in all its waits", async () => {
    const { clock, begin } = waits();
    expect(begin(251, 250)).toBe(false);
    expect(begin(150, 250)).toBe(true);
    await clock.advance(150);
    expect(begin(101, 250)).toBe(false);
    expect(begin(100, 250)).toBe(true);
  });

  it("has no more than a second whatever it is told", () => {
    expect(waits().begin(1_001, 5_000)).toBe(false);
  });

  it("waits twenty times at most", async () => {
    const { clock, begin, now } = waits();
    let count = 0;
    for (; begin(1); count += 1) await clock.advance(1);
    expect(count).toBe(20);
    expect(now()).toEqual({ timers: 0, waiting: 0, done: 20 });
  });

  it("does not when too many do", async () => {
    const { clock, begin, now } = waits(0);
    expect(begin(5)).toBe(false);
    await clock.advance(5);
    expect(now()).toEqual({ timers: 0, waiting: 0, done: 0 });
  });

  it("that is stopped waits no more, and is counted once", async () => {
    const { clock, begin, now, stop } = waits();
    begin(5);
    stop();
    stop();
    await clock.advance(5);
    expect(now()).toEqual({ timers: 0, waiting: 0, done: 0 });
  });

  it("is not counted off when it never waited", () => {
    const { now, stop } = waits();
    stop();
    expect(now()).toMatchObject({ waiting: 0 });
  });
});
