import { afterEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { MemoryState } from "../../../test/support/memory-state.ts";
import type { State, Updated } from "../../state/state.ts";
import { MonthCount, type MonthCountParts } from "./month-count.ts";
import { RateBudget } from "./rate-budget.ts";

/** A clock with a wall time that can be set. */
class WallClock extends FakeClock {
  #wallAtStartMs = Date.parse("2025-12-31T23:59:50Z");

  override wallTime(): number {
    return this.#wallAtStartMs + this.now();
  }

  setWall(time: string): void {
    this.#wallAtStartMs = Date.parse(time) - this.now();
  }
}

/** A state that processes share. Each call takes a turn of the event loop, so that calls interleave. */
class SharedTexts extends MemoryState {
  writes = 0;
  /** Turns of the event loop until a writer learns of its write. */
  turnsToAnswer = 0;
  isBroken = false;
  /** The number of coming writes that succeed, but whose answer is lost. */
  lostAnswers = 0;

  override async get(key: string): Promise<string | undefined> {
    await new Promise(setImmediate);
    if (this.isBroken) throw new Error("no space left");
    return super.get(key);
  }

  override async update(...update: Parameters<State["update"]>): Promise<Updated> {
    await new Promise(setImmediate);
    if (this.isBroken) throw new Error("no space left");
    const updated = await super.update(...update);
    this.writes += 1;
    if (this.lostAnswers > 0) {
      this.lostAnswers -= 1;
      throw new Error("no answer");
    }
    for (let turn = 0; turn < this.turnsToAnswer; turn += 1) await new Promise(setImmediate);
    return updated;
  }
}

let clock = new WallClock();
let state = new SharedTexts();

afterEach(() => {
  clock = new WallClock();
  state = new SharedTexts();
});

async function startCount(): Promise<MonthCount> {
  const parts: MonthCountParts = { clock, state };
  const count = new MonthCount({ key: "budget eth node", limit: 100 }, parts);
  await count.start();
  return count;
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
};

describe("the count of a month", () => {
  it("survives a restart", async () => {
    const before = await startCount();
    before.add(30);
    before.add(0.5);
    await before.close();
    const after = await startCount();
    expect(after.used).toBe(30.5);
    expect(after.left).toBe(69.5);
  });

  it("loses no more than a second in a crash, and is written no more often", async () => {
    const crashed = await startCount();
    for (let count = 0; count < 40; count += 1) {
      crashed.add(1);
      await clock.advance(100);
      await turns();
    }
    expect(state.writes).toBeLessThanOrEqual(4);
    expect((await startCount()).used).toBeGreaterThanOrEqual(30);
  });

  it("has what is used during a write, once, however long that takes", async () => {
    const count = await startCount();
    state.turnsToAnswer = 5;
    for (const units of [1, 2, 4]) {
      count.add(units);
      await clock.advance(1000);
      await new Promise(setImmediate);
      expect((await startCount()).used).toBeLessThanOrEqual(count.used);
    }
    count.add(8);
    await count.close();
    expect((await startCount()).used).toBe(15);
  });

  it("is what two processes used together", async () => {
    const [one, other] = [await startCount(), await startCount()];
    for (let second = 0; second < 5; second += 1) {
      one.add(3);
      other.add(4);
      await clock.advance(1000);
      await turns();
    }
    one.add(1);
    other.add(1);
    await Promise.all([one.close(), other.close()]);
    expect((await startCount()).used).toBe(37);
  });

  it("knows of the others' use a second after its own", async () => {
    const [one, other] = [await startCount(), await startCount()];
    other.add(60);
    await other.close();
    one.add(1);
    expect(one.left).toBe(99);
    await clock.advance(1000);
    await turns();
    expect(one.left).toBe(39);
    await one.close();
  });
});

describe("another month", () => {
  it("begins at nothing, and what was used in the last second of December is December's", async () => {
    const count = await startCount();
    clock.setWall("2025-12-31T23:59:59.800Z");
    count.add(80);
    await clock.advance(200);
    expect(count.used).toBe(0);
    count.add(7);
    await count.close();
    expect((await startCount()).used).toBe(7);
    clock.setWall("2025-12-15T00:00:00Z");
    expect((await startCount()).used).toBe(80);
  });

  it("that a wrong clock told of takes nothing away", async () => {
    const count = await startCount();
    count.add(50);
    clock.setWall("2099-05-01T00:00:00Z");
    count.add(5);
    clock.setWall("2025-12-31T23:59:59Z");
    expect(count.used).toBe(50);
    count.add(1);
    await count.close();
    expect((await startCount()).used).toBe(51);
  });

  it("leaves no more than two in the state", async () => {
    const count = await startCount();
    for (const time of ["2026-01-05", "2026-02-05", "2026-03-05"]) {
      clock.setWall(time);
      count.add(1);
      await clock.advance(1000);
      await turns();
    }
    await count.close();
    const kept = JSON.parse(state.texts.get("budget eth node") ?? "") as [string, unknown][];
    expect(kept.slice(1)).toEqual([
      ["2026-02", 1],
      ["2026-03", 1],
    ]);
  });

  it("is known where an earlier version wrote it, and to one", async () => {
    state.texts.set("budget eth node", '[["2025-11",5],["2025-12",30]]');
    const count = await startCount();
    count.add(1);
    await count.close();
    const kept = JSON.parse(state.texts.get("budget eth node") ?? "") as [string, number][];
    expect(new Map(kept).get("2025-12")).toBe(31);
  });
});

it("keeps what could not be written until it can be", async () => {
  const count = await startCount();
  state.isBroken = true;
  count.add(10);
  await clock.advance(1000);
  await turns();
  expect(count.used).toBe(10);
  state.isBroken = false;
  await clock.advance(1000);
  await turns();
  expect((await startCount()).used).toBe(10);
  count.add(1);
  state.isBroken = true;
  await expect(count.close()).rejects.toThrow("no space left");
});

describe("a write whose answer was lost", () => {
  it("is not added a second time", async () => {
    const count = await startCount();
    state.lostAnswers = 2;
    for (const units of [10, 5]) {
      count.add(units);
      await clock.advance(1000);
      await turns();
    }
    expect(count.used).toBe(15);
    await count.close();
    expect((await startCount()).used).toBe(15);
  });

  it("is found under what another process added to it", async () => {
    const [one, other] = [await startCount(), await startCount()];
    state.lostAnswers = 1;
    one.add(10);
    await clock.advance(1000);
    await turns();
    other.add(7);
    await other.close();
    one.add(1);
    await one.close();
    expect((await startCount()).used).toBe(18);
  });

  it("is found at the end", async () => {
    const count = await startCount();
    state.lostAnswers = 1;
    count.add(10);
    await expect(count.close()).rejects.toThrow("no answer");
    await count.close();
    expect((await startCount()).used).toBe(10);
  });
});

it("begins without what is kept while the state is away, and takes it up later", async () => {
  const before = await startCount();
  before.add(30);
  await before.close();
  state.isBroken = true;
  const count = await startCount();
  expect(count.used).toBe(0);
  count.add(5);
  await clock.advance(1000);
  await turns();
  expect(count.used).toBe(5);
  state.isBroken = false;
  await clock.advance(1000);
  await turns();
  expect(count.used).toBe(35);
  await count.close();
});

it("leaves no timer behind", async () => {
  const count = await startCount();
  count.add(1);
  await count.close();
  count.add(1);
  expect(clock.waiting).toBe(0);
});

describe("a budget for the month", () => {
  it("lets nothing go when it is used up, and again when the next one begins", async () => {
    const options = { network: "eth", upstream: "node", perMonth: 10, costs: { eth_getLogs: 8 } };
    const parts = { clock, state };
    const budget = new RateBudget(options, parts);
    await budget.start();
    budget.take(budget.costOf("eth_getLogs"));
    expect(budget.state()).toMatchObject({ monthUsed: 8, monthLeft: 2 });
    expect(budget.waitMs(budget.costOf("eth_getLogs"))).toBe(Number.POSITIVE_INFINITY);
    expect(budget.waitMs(2)).toBe(0);
    await clock.advance(10_000);
    expect(budget.waitMs(8)).toBe(0);
    await budget.close();
  });

  it("is no count at all where none is configured", async () => {
    const parts = { clock, state };
    const budget = new RateBudget({ network: "eth", upstream: "node" }, parts);
    await budget.start();
    budget.take(1);
    await budget.close();
    expect(budget.state().monthUsed).toBeUndefined();
    expect(state.texts.size + clock.waiting).toBe(0);
  });
});
