import { describe, expect, it } from "vitest";
import { NEVER } from "./decision.ts";
import { BudgetWait } from "./one-answer.ts";

/** The waits of one call, with a clock that begins at 0 ms and is moved by `pass`. */
function waits() {
  let now = 0;
  const wait = new BudgetWait();
  const begin = (ms: number, mostMs?: number): boolean => wait.begin(ms, now, mostMs);
  /** @returns Whether the wait has ended after `ms` more. */
  const pass = (ms: number): boolean => {
    now += ms;
    return wait.end(now);
  };
  return { begin, pass, untilMs: (): number => wait.untilMs };
}

describe("a call that waits for budget", () => {
  it("waits for as long as is told", () => {
    const { begin, pass, untilMs } = waits();
    expect(begin(300)).toBe(true);
    expect(pass(299)).toBe(false);
    expect(untilMs()).toBe(300);
    expect(pass(1)).toBe(true);
    expect(untilMs()).toBe(NEVER);
    expect(pass(60_000)).toBe(false);
  });

  it("may wait again at the end of a wait", () => {
    const { begin, pass } = waits();
    const begun: boolean[] = [];
    for (let count = 0; count < 6; count += 1) {
      begun.push(begin(300));
      pass(300);
    }
    expect(begun).toEqual([true, true, true, false, false, false]); // at most 1 s in all
  });

  it.each([
    { ms: 1_000, may: true },
    { ms: 1_001, may: false },
    { ms: Number.POSITIVE_INFINITY, may: false },
  ])("may wait $ms ms: $may", ({ ms, may }) => {
    const { begin, untilMs } = waits();
    expect(begin(ms)).toBe(may);
    expect(untilMs()).toBe(may ? ms : NEVER);
  });

  it("has its second from the first time on, also while it is asked elsewhere", () => {
    const { begin, pass } = waits();
    begin(100);
    pass(100);
    pass(400); // meanwhile the call asked a node, which had no budget either
    expect(begin(501)).toBe(false);
    expect(begin(500)).toBe(true);
  });

  it("has less than a second when it is told so, in all its waits", () => {
    const { begin, pass } = waits();
    expect(begin(251, 250)).toBe(false);
    expect(begin(150, 250)).toBe(true);
    pass(150);
    expect(begin(101, 250)).toBe(false);
    expect(begin(100, 250)).toBe(true);
  });

  it("has no more than a second whatever it is told", () => {
    expect(waits().begin(1_001, 5_000)).toBe(false);
  });

  it("waits twenty times at most", () => {
    const { begin, pass, untilMs } = waits();
    let count = 0;
    for (; begin(1); count += 1) expect(pass(1)).toBe(true);
    expect(count).toBe(20);
    expect(untilMs()).toBe(NEVER);
  });
});
