import { describe, expect, it } from "vitest";
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
  const signals = all.map((scope) => scope.signal());
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
