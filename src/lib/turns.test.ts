import { describe, expect, it } from "vitest";
import { systemClock } from "./clock.ts";
import { atOnce, Turns, turnsOfOne, type Work } from "./turns.ts";

/** Work of so many slices; each slice takes one millisecond of a clock that only work advances. */
async function work(slices: number, parts: { turns: Turns; spend: () => void }): Promise<void> {
  for (let slice = 0; slice < slices; slice += 1) {
    parts.spend();
    if (parts.turns.join() === "over") await parts.turns.next();
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
    // Each work does its first slice in the call; from then on all works share a turn.
    expect(most).toBeLessThanOrEqual(50 + 8);
  });

  it("are shared by all long work, which begins at once", async () => {
    let now = 0;
    const turns = new Turns({ clock: { now: () => now, yield: systemClock.yield } });
    let inTurn = 0;
    let most = 0;
    let isDone = false;
    const everyTurn = (): void => {
      inTurn = 0;
      if (!isDone) setImmediate(everyTurn);
    };
    everyTurn();
    function* inSteps(steps: number): Work<number> {
      for (let step = 0; step < steps; step += 1) {
        now += 1;
        inTurn += 1;
        most = Math.max(most, inTurn);
        yield;
      }
      return steps;
    }
    const done = Array.from({ length: 50 }, (_, each) => turns.do(inSteps(20 + each)));
    expect(inTurn).toBe(4 + 49);
    inTurn = 0;
    most = 0;
    expect(await Promise.all(done)).toEqual(Array.from({ length: 50 }, (_, each) => 20 + each));
    isDone = true;
    expect(most).toBeLessThanOrEqual(2 * 4); // the rest of one turn, and the next turn
  });

  it("are no business of work that fails", async () => {
    const turns = new Turns({ clock: systemClock });
    // biome-ignore lint/correctness/useYield: it has no time for that
    function* failing(): Work<never> {
      throw new Error("no");
    }
    await expect(turns.do(failing())).rejects.toThrow("no");
  });

  it("come in the order in which they were waited for", async () => {
    const turns = new Turns({ clock: systemClock });
    const order: number[] = [];
    await Promise.all([1, 2, 3].map((each) => turns.next().then(() => order.push(each))));
    expect(order).toEqual([1, 2, 3]);
  });

  it("let go on what holds memory before all that waits, and what begins behind it", async () => {
    const turns = new Turns({ clock: { now: () => 0, yield: systemClock.yield } });
    const order: string[] = [];
    const wait = (name: string, place?: "first") => turns.next(place).then(() => order.push(name));
    expect(turns.enter()).toBe("on");
    const waiting = [wait("a"), wait("b"), wait("under way", "first")];
    expect([turns.enter(), turns.join()]).toEqual(["over", "on"]);
    await Promise.all(waiting);
    expect(order).toEqual(["under way", "a", "b"]);
  });

  it("are not taken by work that is short", () => {
    const turns = new Turns({ clock: { now: () => 0, yield: systemClock.yield } });
    expect(turns.join()).toBe("on");
  });
});

function* counting(to: number): Work<number> {
  for (let step = 0; step < to; step += 1) yield;
  return to;
}

describe("long work", () => {
  it("is done at once", () => {
    expect(atOnce(counting(1000))).toBe(1000);
  });

  /** Does things of two pieces, each of so many turns. @returns The order in which the pieces began and things ended. */
  async function order(turnsOfEach: readonly number[]): Promise<string> {
    let now = 0;
    const turns = new Turns({ clock: { now: () => now, yield: systemClock.yield } });
    const told: string[] = [];
    function* piece(name: string, slices: number): Work<void> {
      told.push(name);
      for (let slice = 0; slice < slices; slice += 1) {
        now += 4; // each slice takes a whole turn
        yield;
      }
    }
    await Promise.all(
      turnsOfEach.map(async (slices, each) => {
        const own = turnsOfOne(turns);
        await own.do(piece(`${each}a`, slices));
        await own.do(piece(`${each}b`, slices));
        told.push(`${each}.`);
      }),
    );
    return told.join(" ");
  }

  it("of one thing come before those of others, once it is begun", async () => {
    expect(await order([2, 2, 2])).toBe("0a 0b 0. 1a 1b 1. 2a 2b 2.");
  });

  it("of one thing that takes long come in between those of others", async () => {
    expect(await order([60, 2, 2])).toBe("0a 1a 1b 1. 2a 2b 2. 0b 0.");
  });
});
