// When the upstream of a call takes long, the call is hedged at another one.
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import {
  DELAY_MS,
  failed,
  outcomeOf,
  refused,
  result,
  scriptedCall,
} from "../../../test/support/scripted-call.ts";
import { Health } from "../health/health.ts";
import { LOST_RACE } from "../node-requests.ts";
import type { Reply } from "../reply.ts";
import type { Upstream } from "../upstream.ts";

const timeout: Reply = { kind: "timeout" };

describe("a call whose node takes long", () => {
  it("is asked of a second one, and the loser is told after a second that it was superseded", async () => {
    const { log, aborted, clock, answer, left, idle } = scriptedCall([{}, {}, {}]);
    await clock.advance(DELAY_MS - 1);
    expect(log).toEqual(["0 a"]);
    await clock.advance(1);
    await clock.advance(7);
    await answer("b", result("2"));
    expect(log).toEqual(["0 a", "slow", "50 b", "answered in 7", "2"]);
    await clock.advance(999);
    expect(aborted).toEqual([]);
    await clock.advance(1);
    expect(aborted).toEqual([LOST_RACE]);
    expect(left()).toEqual(idle);
  });

  it("takes the first one's answer when that comes first after all", async () => {
    const { log, aborted, clock, answer } = scriptedCall([{}, {}]);
    await clock.advance(DELAY_MS);
    await answer("a", result("1"));
    expect(log).toEqual(["0 a", "slow", "50 b", "answered in 50", "1"]);
    await clock.advance(1_000);
    expect(aborted).toEqual([LOST_RACE]);
  });

  describe("when the second one lags", () => {
    const nodes = [{}, { isBehind: true }];

    it("takes the first one's answer, which comes a little later", async () => {
      const { log, clock, answer, left, idle } = scriptedCall(nodes);
      await clock.advance(DELAY_MS);
      await answer("b", result("old"));
      expect(log).toEqual(["0 a", "slow", "50 b", "answered in 0"]);
      await answer("a", result("new"));
      expect(log.at(-1)).toBe("new");
      expect(left()).toEqual(idle);
    });

    it("takes the second one's at once when the first fails, then or before", async () => {
      for (const order of ["ab", "ba"]) {
        const { log, clock, answer, left, idle } = scriptedCall(nodes);
        await clock.advance(DELAY_MS);
        for (const name of order) await answer(name, name === "a" ? failed : result("old"));
        expect(log.at(-1)).toBe("old");
        expect(left()).toEqual(idle);
      }
    });

    it.each([
      { node: "says nothing", hasReplied: false, ends: 4 * DELAY_MS },
      { node: "answers others", hasReplied: true, ends: 2_000 },
    ])("waits $ends ms for a first one that $node", async ({ hasReplied, ends }) => {
      const { log, clock, answer } = scriptedCall([{ hasReplied }, { isBehind: true }]);
      await clock.advance(DELAY_MS);
      await answer("b", result("old"));
      const then = log.length;
      while (log.length === then) await clock.advance(DELAY_MS);
      expect([clock.now() - DELAY_MS, log.at(-1)]).toEqual([ends, "old"]);
    });

    it("takes its answer at once where it was the first to be asked", async () => {
      const { log, clock, answer } = scriptedCall([{ isBehind: true }, {}]);
      await clock.advance(DELAY_MS);
      await answer("a", result("old"));
      expect(log.at(-1)).toBe("old");
    });
  });

  it("is measured at the loser too, when that answers within a second", async () => {
    const { log, aborted, clock, answer, left, idle } = scriptedCall([{}, {}]);
    await clock.advance(DELAY_MS);
    await answer("b", result("2"));
    const then = log.length;
    expect(left()).toEqual({ timers: 1, waiting: 0 });
    await clock.advance(900);
    await answer("a", result("1"));
    expect(left()).toEqual(idle);
    await clock.advance(60_000);
    expect(aborted).toEqual([]);
    expect(log.slice(then)).toEqual([]);
  });

  it("has its loser listened to without the caller, who may be gone", async () => {
    const { aborted, caller, clock, answer, listeners } = scriptedCall([{}, {}]);
    await clock.advance(DELAY_MS);
    await answer("b", result("2"));
    expect(listeners()).toBe(0);
    caller.abort(new Error("gone"));
    await clock.advance(999);
    expect(aborted).toEqual([]);
    await clock.advance(1);
    expect(aborted).toEqual([LOST_RACE]);
  });

  it("is asked of a third one when two take long, and of nobody twice", async () => {
    const { log, aborted, clock, answer, left, idle } = scriptedCall([{}, {}, {}]);
    for (let count = 0; count < 5; count += 1) await clock.advance(DELAY_MS);
    expect(log).toEqual(["0 a", "slow", "50 b", "slow", "100 c"]);
    expect(clock.waiting).toBe(0);
    await answer("c", refused);
    expect(log.at(-1)).toBe("refused: execution reverted");
    await answer("a", failed); // the attempt at b is still awaited
    await clock.advance(1_000);
    expect(aborted).toEqual([LOST_RACE]);
    expect(left()).toEqual(idle);
  });

  it("waits while no more may be spent, looks again, and is asked elsewhere once it may", async () => {
    const call = { mayHedge: false };
    const { log, clock, answer } = scriptedCall([{}, {}], call);
    await clock.advance(DELAY_MS);
    await clock.advance(DELAY_MS);
    expect(log).toEqual(["0 a"]);
    call.mayHedge = true;
    await clock.advance(DELAY_MS);
    await answer("b", result("2"));
    expect(log).toEqual(["0 a", "slow", "150 b", "answered in 0", "2"]);
  });

  it("is asked elsewhere once it is late when the node has stopped, whatever may be spent", async () => {
    const { log, clock } = scriptedCall([{ isStalled: true }, {}], { mayHedge: false });
    await clock.advance(DELAY_MS);
    expect(log).toEqual(["0 a", "slow", "50 b"]);
  });

  it("goes on with the second when the first fails, and with the first when the second does", async () => {
    for (const [one, other] of [
      ["a", "b"],
      ["b", "a"],
    ] as const) {
      const { log, clock, answer } = scriptedCall([{}, {}]);
      await clock.advance(DELAY_MS);
      await answer(one, failed);
      expect(log).toEqual(["0 a", "slow", "50 b"]);
      await answer(other, result("late"));
      expect(log.at(-1)).toBe("late");
    }
  });

  it("has failed when both have", async () => {
    const { log, clock, answer, left, idle } = scriptedCall([{}, {}]);
    await clock.advance(DELAY_MS);
    await answer("b", timeout);
    await answer("a", failed);
    expect(log.at(-1)).toBe("502 no upstream could answer");
    expect(left()).toEqual(idle);
  });

  it.each([
    { which: "does something", call: { method: "anvil_mine" } },
    { which: "is about what one node has", call: { method: "eth_getFilterChanges" } },
    {
      which: "is read while it comes",
      call: { options: { reader: () => ({ add: () => true, finish: () => undefined }) } },
    },
  ])("is not asked twice when it $which", async ({ call }) => {
    const { log, clock } = scriptedCall([{ isStalled: true }, {}], call);
    expect(clock.waiting).toBe(0);
    await clock.advance(10 * DELAY_MS);
    expect(log).toEqual(["0 a"]);
  });

  it("is not looked at when there is nobody else", () => {
    expect(scriptedCall([{}]).clock.waiting).toBe(0);
  });

  it.each([
    { whose: "lacks the method", other: { lacks: "eth_call" } },
    { whose: "has no budget", other: { waitMs: 9_000 } },
  ])("is not spent on when the only other one $whose", async ({ other }) => {
    let spent = 0;
    const call = {
      get mayHedge() {
        spent += 1;
        return true;
      },
    };
    const { log, clock } = scriptedCall([{}, other], call);
    for (let count = 0; count < 5; count += 1) await clock.advance(DELAY_MS);
    expect(log).toEqual(["0 a"]);
    expect(spent).toBe(0);
  });

  it("is asked of one that was not there at the beginning, when nobody else is left", async () => {
    const { log, clock, answer, left, idle } = scriptedCall([{}, { fromMs: 400 }]);
    for (let count = 0; count < 8; count += 1) await clock.advance(DELAY_MS);
    expect(log).toEqual(["0 a"]);
    for (let count = 0; count < 8; count += 1) await clock.advance(DELAY_MS);
    expect(log.at(-1)).toMatch(/^\d+ b$/);
    await answer("b", result("2"));
    await answer("a", failed);
    expect(log.at(-1)).toBe("2");
    expect(left()).toEqual(idle);
  });

  it("is not late any more once it has ended, though its asking goes on", async () => {
    const clock = new FakeClock();
    const health = new Health({ clock });
    await clock.advance(1);
    const ask: Upstream["ask"] = async (_method, _params, _signal, { attempt } = {}) => {
      const call = health.open("execution");
      if (attempt) attempt.call = call;
      health.close(call, "failed");
      return failed;
    };
    const mayExceedLearnedLimit = (): boolean => false;
    const budgeted = (waitMs: number) => ({
      costOf: () => 1,
      waitMs: () => waitMs,
      mayExceedLearnedLimit,
    });
    const node = { name: "a", ask, isMissing: () => false, health, budget: budgeted(0) };
    const nodes = [node, { ...node, name: "b", budget: budgeted(600) }];
    for (let count = 0; count < 3; count += 1)
      void outcomeOf(nodes as unknown as Upstream[], clock).catch(() => undefined);
    await clock.advance(0);
    await clock.advance(DELAY_MS);
    expect(clock.waiting).toBeGreaterThan(0);
    expect(health.isStalled("execution")).toBe(false);
    expect(health.inFlight).toBe(0);
  });

  it("is not changed by answers that come after its end", async () => {
    const { log, clock, answer, outcome, left, idle } = scriptedCall([{ isDeaf: true }, {}]);
    await clock.advance(DELAY_MS);
    await answer("b", result("2"));
    await outcome;
    const then = log.length;
    await clock.advance(60_000);
    await answer("a", failed);
    expect(log.slice(then)).toEqual([]);
    expect(left()).toEqual(idle);
  });
});
