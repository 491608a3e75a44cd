import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { MemoryState } from "../../../test/support/memory-state.ts";
import { LearnedLimit, RateBudget, type RateBudgetOptions } from "./rate-budget.ts";

const nothingKept = new MemoryState();

const budgetOf = (options: Partial<RateBudgetOptions>, clock = new FakeClock()): RateBudget =>
  new RateBudget({ network: "eth", upstream: "node", ...options }, { clock, state: nothingKept });

/** Sends all calls that may go at once, at most `most`. */
function sendAll(budget: RateBudget, most = 1000): number {
  let sent = 0;
  for (; sent < most && budget.waitMs(1) === 0; sent += 1) budget.take(1);
  return sent;
}

describe("a configured rate", () => {
  it("lets a burst go at once, and then so many a second", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({ perSecond: 10, burst: 4 }, clock);
    expect(sendAll(budget)).toBe(4);
    expect(budget.waitMs(1)).toBe(100);
    await clock.advance(99);
    expect(budget.waitMs(1)).toBe(1);
    await clock.advance(1);
    expect(sendAll(budget)).toBe(1);
    await clock.advance(60_000);
    expect(sendAll(budget)).toBe(4);
  });

  it("lets a quarter of a second's worth go at once when no burst is told", () => {
    expect(sendAll(budgetOf({ perSecond: 40 }))).toBe(10);
  });

  it("lets a call pass that is dearer than the burst, and those after it pay for it", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({ perSecond: 100, burst: 50, costs: { eth_getLogs: 250 } }, clock);
    expect(budget.waitMs(budget.costOf("eth_getLogs"))).toBe(0);
    budget.take(250);
    expect(budget.waitMs(1)).toBe(2010);
    expect(budget.waitMs(250)).toBe(2500);
  });

  it("never lets more than the rate and the burst go in any span of time", () => {
    const step = fc.record({ afterMs: fc.nat(400), cost: fc.integer({ min: 1, max: 5 }) });
    const limits = {
      perSecond: fc.integer({ min: 1, max: 50 }),
      burst: fc.integer({ min: 5, max: 20 }),
    };
    const refusal = fc.option(fc.nat(300));
    const steps = fc.array(fc.tuple(step, refusal), { maxLength: 100 });
    fc.assert(
      fc.property(fc.record(limits), steps, ({ perSecond, burst }, pattern) => {
        let nowMs = 0;
        const clock = { now: () => nowMs, wallTime: () => 0, sleep: async () => undefined };
        const budget = new RateBudget(
          { network: "eth", upstream: "node", perSecond, burst },
          { clock, state: nothingKept },
        );
        const sent: { atMs: number; cost: number }[] = [];
        for (const [{ afterMs, cost }, retryAfterMs] of pattern) {
          nowMs += afterMs;
          while (budget.waitMs(cost) === 0) {
            budget.take(cost);
            sent.push({ atMs: nowMs, cost });
          }
          if (retryAfterMs === null) budget.answered(nowMs);
          else budget.limited(retryAfterMs, nowMs);
        }
        for (const [from, first] of sent.entries()) {
          let sum = 0;
          for (const { atMs, cost } of sent.slice(from)) {
            sum += cost;
            expect(sum).toBeLessThanOrEqual(
              (perSecond * (atMs - first.atMs)) / 1000 + burst + 0.001,
            );
          }
        }
      }),
    );
  });
});

describe("a node that says too often", () => {
  it("is left alone for as long as it said, to the millisecond", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({}, clock);
    sendAll(budget, 20);
    budget.limited(1234, clock.now());
    expect(budget.state()).toMatchObject({ isPaused: true, pausedForMs: 1234 });
    await clock.advance(1233);
    expect(budget.waitMs(1)).toBe(1);
    await clock.advance(1);
    expect(budget.waitMs(1)).toBe(0);
    expect(budget.state()).toMatchObject({ isPaused: false, pausedForMs: 0 });
  });

  it.each([
    { told: undefined, want: 1000 },
    { told: 0, want: 1000 }, // no information
    { told: 0.5, want: 1 },
    { told: 61_000, want: 61_000 },
    { told: 86_400_000, want: 3_600_000 }, // capped at an hour
  ])("rests $want ms when it said $told", ({ told, want }) => {
    const budget = budgetOf({});
    budget.limited(told, 0);
    expect(budget.state().pausedForMs).toBe(want);
  });

  it("rests twice as long each time that it answered nothing in between, at most a minute", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({}, clock);
    const pauses: number[] = [];
    for (let count = 0; count < 8; count += 1) {
      budget.limited(undefined, clock.now());
      pauses.push(budget.state().pausedForMs);
      await clock.advance(budget.state().pausedForMs);
    }
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
    budget.answered(clock.now());
    budget.limited(undefined, clock.now());
    expect(budget.state().pausedForMs).toBe(1000);
  });

  it("are five seconds at most where only words ask for them", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({}, clock);
    const pauses: number[] = [];
    for (let count = 0; count < 5; count += 1) {
      budget.limited(undefined, clock.now(), "words");
      pauses.push(budget.state().pausedForMs);
      await clock.advance(pauses.at(-1) ?? 0);
    }
    expect(pauses).toEqual([1000, 2000, 4000, 5000, 5000]);
  });

  it("gets seven tenths of what it was sent, by one step for a hundred refusals", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({}, clock);
    expect(sendAll(budget, 100)).toBe(100);
    await clock.advance(50);
    for (let count = 0; count < 50; count += 1) budget.limited(undefined, 0);
    await clock.advance(2000); // the other refusals arrive after the pause
    for (let count = 0; count < 50; count += 1) budget.limited(undefined, 0);
    expect(budget.state()).toMatchObject({ perSecond: 70, isPaused: false });
  });

  it("rests until the last moment that any refusal of a burst named", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({}, clock);
    for (const retryAfterMs of [100, 5000, 300]) budget.limited(retryAfterMs, 0);
    expect(budget.state().pausedForMs).toBe(5000);
  });

  it("does not get less for refusing again before it answered anything", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({ perSecond: 100 }, clock);
    budget.limited(10, clock.now());
    const { perSecond } = budget.state();
    await clock.advance(10);
    budget.limited(10, clock.now());
    expect(budget.state().perSecond).toBe(perSecond);
  });

  it("is not taken to answer because of calls from before its pause", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({}, clock);
    budget.limited(undefined, 0);
    await clock.advance(1500);
    budget.answered(0);
    budget.limited(undefined, clock.now());
    expect(budget.state().pausedForMs).toBe(2000);
  });

  it("gets little more at once for a call that it answers after a long silence", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({}, clock);
    budget.take(1);
    budget.limited(undefined, 0);
    await clock.advance(300_000);
    budget.take(1);
    budget.answered(clock.now());
    expect(budget.state().perSecond).toBeCloseTo(0.7 * 1.05);
  });

  it("is without limit again when it refused nothing for ten minutes", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({}, clock);
    sendAll(budget, 10);
    budget.limited(undefined, 0);
    await clock.advance(599_999);
    expect(budget.state().perSecond).toBe(7);
    await clock.advance(1);
    expect(budget.state().perSecond).toBeUndefined();
    expect(sendAll(budget)).toBe(1000);
  });
});

describe("a limit that was only found out", () => {
  /** The ways in which a call may ignore the limit: no other node can answer it, or it follows the chain. */
  const may = (budget: RateBudget, cost = 1): string => {
    const tried = budget.mayExceedLearnedLimit(cost) ? "tried" : "";
    return [tried, budget.mayBeExceeded(cost) ? "exceeded" : ""].filter(Boolean).join();
  };

  it("may be broken by what goes before callers when the pause is over, by all after two seconds", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({}, clock);
    sendAll(budget, 10);
    expect(may(budget)).toBe("");
    budget.limited(500, 0);
    await clock.advance(499);
    expect(may(budget)).toBe(""); // the node named the pause
    await clock.advance(1);
    expect(may(budget)).toBe("exceeded");
    await clock.advance(1_499);
    expect(may(budget)).toBe("exceeded");
    await clock.advance(1);
    expect(may(budget)).toBe("tried,exceeded");
    expect(budget.state().perSecond).toBe(7);
  });

  it("may be broken two seconds after a refusal also in a pause that the node did not name", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({}, clock);
    for (const pauseMs of [1_000, 2_000, 4_000]) {
      budget.limited(undefined, clock.now());
      if (pauseMs < 4_000) await clock.advance(pauseMs);
    }
    await clock.advance(1_999);
    expect([budget.waitMs(1), may(budget)]).toEqual([2_001, ""]);
    await clock.advance(1);
    expect([budget.waitMs(1), may(budget)]).toEqual([2_000, "tried"]);
    budget.limited(5_000, clock.now());
    await clock.advance(4_999);
    expect(may(budget)).toBe(""); // the node named the pause
  });

  it("is not broken any more when the node has just refused that", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({}, clock);
    budget.limited(500, 0);
    await clock.advance(5_000);
    budget.answered(clock.now());
    expect(may(budget)).toBe("tried,exceeded");
    budget.limited(500, clock.now());
    await clock.advance(500);
    expect(may(budget)).toBe("exceeded");
  });

  it("is not broken by what goes before callers once a second's worth and more is owed", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({}, clock);
    sendAll(budget, 10);
    budget.limited(500, 0);
    await clock.advance(10_000);
    let exceeded = 0;
    for (; exceeded < 100 && budget.mayBeExceeded(1); exceeded += 1) budget.take(1);
    expect(exceeded).toBe(8); // 7 a second, and a burst of 1.75
    expect(may(budget)).toBe("tried");
    await clock.advance(200);
    expect(may(budget)).toBe("tried,exceeded");
  });

  it("is none any more when the node refused nothing for ten minutes", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({}, clock);
    budget.limited(undefined, 0);
    await clock.advance(599_999);
    expect(may(budget)).toBe("tried,exceeded");
    await clock.advance(1);
    expect(may(budget)).toBe("");
  });

  it("is never broken where a rate is configured, be it lower or not", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({ perSecond: 10 }, clock);
    sendAll(budget);
    expect(budget.waitMs(1)).toBeGreaterThan(0);
    expect(may(budget)).toBe("");
    budget.limited(500, 0);
    await clock.advance(10_000);
    expect(budget.state().perSecond).toBeLessThan(10);
    expect(may(budget)).toBe("");
  });

  it("is not broken by a call dearer than what is left of the month", async () => {
    const clock = new FakeClock();
    const budget = budgetOf({ perMonth: 5 }, clock);
    budget.take(1);
    budget.limited(10, 0);
    await clock.advance(5_000);
    expect(may(budget, 4)).toBe("tried,exceeded");
    expect(may(budget, 10)).toBe("");
    expect(budget.waitMs(10)).toBe(Number.POSITIVE_INFINITY);
    budget.take(4);
    expect(may(budget)).toBe("");
  });
});

describe("what a call costs", () => {
  const costs = budgetOf({
    costs: { "*": 10, "eth_get*": 20, eth_getLogs: 75, "eth_getBlock*": 16 },
  });

  it.each([
    ["eth_getLogs", 75],
    ["eth_getBlockByHash", 16],
    ["eth_getCode", 20],
    ["net_version", 10],
    [`eth_get${"s".repeat(100_000)}`, 20],
  ])("%.20s: %i", (method, want) => {
    expect(costs.costOf(method)).toBe(want);
    expect(costs.costOf(method)).toBe(want);
  });

  it("is 1 where nothing else is told", () => {
    expect(budgetOf({}).costOf("eth_call")).toBe(1);
    expect(budgetOf({ costs: { "eth_*": 5 } }).costOf("net_version")).toBe(1);
  });

  it("may be nothing, or a part of a unit", () => {
    const cheap = budgetOf({ costs: { eth_chainId: 0, eth_call: 0.5 } });
    expect([cheap.costOf("eth_chainId"), cheap.costOf("eth_call")]).toEqual([0, 0.5]);
  });

  it("stays right after more names than are remembered", () => {
    for (let count = 0; count < 5000; count += 1) costs.costOf(`eth_get${count}`);
    expect(costs.costOf("eth_get17")).toBe(20);
    expect(costs.costOf("eth_getLogs")).toBe(75);
  });
});

/** A limit of 70 a second, after the node refused 100 a second at time 0. */
function learned(configured?: number): LearnedLimit {
  const limit = new LearnedLimit(configured);
  limit.lower(100, 0);
  expect(limit.inForce(0)).toBe(70);
  return limit;
}

describe("a learned limit", () => {
  it.each<{ rule: string; sent: number; afterMs: number; want: number }>([
    { rule: "rises slowly by what is within it", sent: 70, afterMs: 5_000, want: 73.5 },
    { rule: "does not rise by what is far below it", sent: 48, afterMs: 5_000, want: 70 },
    { rule: "rises slowly by a burst that it allows", sent: 105, afterMs: 5_000, want: 73.5 },
    { rule: "rises at once to what the node took beyond it", sent: 106, afterMs: 5_000, want: 106 },
    { rule: "rises to twice as much at most", sent: 900, afterMs: 5_000, want: 140 },
    { rule: "rises slowly right after a refusal", sent: 900, afterMs: 1_999, want: 73.5 },
  ])("$rule", ({ sent, afterMs, want }) => {
    const limit = learned();
    limit.raise(sent, afterMs);
    expect(limit.inForce(afterMs)).toBeCloseTo(want);
  });

  it("rises again and again while the node takes more than it", () => {
    const limit = learned();
    for (const afterMs of [5_000, 5_001, 5_002]) limit.raise(500, afterMs);
    expect(limit.inForce(5_002)).toBe(500);
  });

  it("is none any more where it comes up to the configured one", () => {
    const limit = learned(120);
    expect(limit.isLearned(0)).toBe(false); // it only lowers the configured limit
    limit.raise(500, 5_000);
    expect(limit.inForce(5_000)).toBe(120);
  });

  it("is learned until it is forgotten", () => {
    const limit = learned();
    expect([limit.isLearned(599_999), limit.isLearned(600_000)]).toEqual([true, false]);
    expect(limit.inForce(600_000)).toBeUndefined();
    expect(new LearnedLimit(undefined).isLearned(0)).toBe(false);
  });
});
