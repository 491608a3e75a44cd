import { describe, expect, it } from "vitest";
import { systemClock } from "./clock.ts";
import { Turns } from "./turns.ts";

/** So many slices, each over in a moment of a clock that only work moves. */
async function work(slices: number, parts: { turns: Turns; spend: () => void }): Promise<void> {
  for (let slice = 0; slice < slices; slice += 1) {
    parts.spend();
    if (parts.turns.isOver) await parts.turns.next();
  }
}

describe("turns", () => {
  it("let others in between, however many work at once", async () => {
    let now = 0;
    const turns = new Turns({ clock: { now: () => now, yield: systemClock.yield } });
    let spentInTurn = 0;
    let most = 0;
    const spend = (): void => {
      now += 1;
      spentInTurn += 1;
      most = Math.max(most, spentInTurn);
    };
    let isDone = false;
    const everyTurn = (): void => {
      spentInTurn = 0;
      if (!isDone) setImmediate(everyTurn);
    };
    everyTurn();
    await Promise.all(Array.from({ length: 50 }, () => work(20, { turns, spend })));
    isDone = true;
    // Each begins where it is called; from then on all of them share a turn.
    expect(most).toBeLessThanOrEqual(50 + 8);
  });

  it("come in the order in which they were waited for", async () => {
    const turns = new Turns({ clock: systemClock });
    const order: number[] = [];
    await Promise.all([1, 2, 3].map((each) => turns.next().then(() => order.push(each))));
    expect(order).toEqual([1, 2, 3]);
  });

  it("are not taken by work that is short", () => {
    const turns = new Turns({ clock: systemClock });
    expect(turns.isOver).toBe(false);
  });
});
