// A call for which no upstream has budget left waits, or exceeds a learned limit.
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import {
  DELAY_MS,
  failed,
  lacking,
  outcomeOf,
  result,
  scriptedCall,
} from "../../../test/support/scripted-call.ts";
import { RateBudget } from "../budget/rate-budget.ts";
import type { Reply } from "../reply.ts";
import type { Upstream } from "../upstream.ts";

const busy = (retryAfterMs: number): Reply => ({ kind: "busy", retryAfterMs });

describe("a call for which no node has budget left", () => {
  it("waits for the first one that has", async () => {
    const { log, clock, answer, left } = scriptedCall([{ waitMs: 300 }, { waitMs: 900 }]);
    expect(left()).toEqual({ timers: 1, waiting: 1 });
    await clock.advance(299);
    expect(log).toEqual([]);
    await clock.advance(1);
    await answer("a", result("1"));
    expect(log).toEqual(["300 a", "answered in 0", "1"]);
    expect(left()).toEqual({ timers: 0, waiting: 0 });
  });

  it.each([
    { when: "that would be longer than a second", nodes: [{ waitMs: 1_001 }], mayWait: true },
    { when: "too many wait already", nodes: [{ waitMs: 5 }, { waitMs: 9 }], mayWait: false },
    {
      when: "there is none in this month",
      nodes: [{ waitMs: Number.POSITIVE_INFINITY }],
      mayWait: true,
    },
  ])("is refused at once when $when", async ({ nodes, mayWait }) => {
    const { log, left, idle, outcome } = scriptedCall(nodes, { mayWait });
    await outcome;
    expect(log).toEqual(["503 all upstreams of this network are at their rate limit"]);
    expect(left()).toEqual(idle);
  });

  it("waits after others failed as well", async () => {
    const { log, clock, answer } = scriptedCall([{ says: [failed] }, { waitMs: 300 }]);
    await clock.advance(0);
    await clock.advance(300);
    await answer("b", result("2"));
    expect(log).toEqual(["0 a", "300 b", "answered in 0", "2"]);
  });

  it("waits also for a node that had none when it might have been the second", async () => {
    const { log, clock, answer } = scriptedCall([{}, { waitMs: DELAY_MS + 30 }]);
    await clock.advance(DELAY_MS);
    await answer("a", failed);
    await clock.advance(30);
    await answer("b", result("2"));
    expect(log).toEqual(["0 a", "80 b", "answered in 0", "2"]);
  });

  it("waits again when others were faster, a second in all", async () => {
    const says = Array.from({ length: 9 }, () => busy(300));
    const { log, clock, left, idle } = scriptedCall([{ says, waitMs: 300 }]);
    for (let count = 0; count < 10; count += 1) await clock.advance(300);
    expect(log.filter((line) => line !== "failed")).toEqual([
      ...["300 a", "600 a", "900 a"],
      "503 all upstreams of this network are at their rate limit",
    ]);
    expect(left()).toEqual(idle);
  });

  it("is asked beyond the learned limit of a node whose limit is only learned, when waiting would take long", async () => {
    const { log, answer, left, idle } = scriptedCall([
      { waitMs: 251 },
      { waitMs: 1_001, mayExceedLearnedLimit: true },
      { waitMs: 2_000, mayExceedLearnedLimit: true },
    ]);
    await answer("b", result("2"));
    expect(log).toEqual(["0 b beyond the learned limit", "answered in 0", "2"]);
    expect(left()).toEqual(idle);
  });

  it("is not asked beyond the learned limit while waiting a quarter of a second is enough", async () => {
    const { log, clock } = scriptedCall([{ waitMs: 250, mayExceedLearnedLimit: true }]);
    await clock.advance(250);
    expect(log).toEqual(["250 a"]);
  });

  it("is asked beyond the learned limit when it waited in vain for a quarter of a second in all", async () => {
    const says = [busy(100), busy(100)];
    const { log, clock, answer } = scriptedCall([
      { says, waitMs: 100, mayExceedLearnedLimit: true },
    ]);
    for (let count = 0; count < 2; count += 1) await clock.advance(100);
    expect(log).toEqual(["100 a", "200 a", "200 a beyond the learned limit"]);
    await answer("a", result("1"));
    expect(log.at(-1)).toBe("1");
  });

  it("is asked beyond the learned limit when too many wait already", async () => {
    const { log } = scriptedCall([{ waitMs: 5, mayExceedLearnedLimit: true }], { mayWait: false });
    expect(log).toEqual(["0 a beyond the learned limit"]);
  });

  it("is asked of a node once that has budget when others lack what it speaks of", async () => {
    const { log, clock, answer } = scriptedCall([{ says: [lacking] }, { waitMs: 300 }]);
    await clock.advance(0);
    await clock.advance(4 * DELAY_MS);
    await clock.advance(100);
    await answer("b", result("2"));
    expect(log).toEqual(["0 a", "300 b", "answered in 0", "2"]);
  });
});

describe("a call whose timer is early", () => {
  it("waits on until the time has come", async () => {
    const clock = new FakeClock();
    const early = Object.assign(Object.create(clock), {
      now: () => clock.now(),
      after: (ms: number, run: () => void) => clock.after(ms > 5 ? ms - 5 : ms, run),
    });
    const waitMs = (): number => Math.max(0, 1_000 - clock.now());
    const budget = { costOf: () => 1, waitMs, mayExceedLearnedLimit: () => false };
    const ask = async (): Promise<Reply> => result("1");
    const node = { name: "a", ask, isMissing: () => false, budget } as unknown as Upstream;
    const reply = outcomeOf([node], early).then(
      ({ kind }) => `${clock.now()} ${kind}`,
      ({ message }) => `${clock.now()} ${message}`,
    );
    await clock.advance(995);
    await clock.advance(5);
    expect(await reply).toBe("1000 result");
    expect(clock.waiting).toBe(0);
  });
});

describe("calls that wait for one node's budget", () => {
  const nothingKept = {
    get: async () => undefined,
    update: async () => ({ isChanged: true, texts: [] }),
  };

  it("are all answered when it has some for all of them in that second", async () => {
    const clock = new FakeClock();
    const options = { network: "n", upstream: "a", perSecond: 20, burst: 1 };
    const budget = new RateBudget(options, { clock, state: nothingKept });
    const ask = async (): Promise<Reply> => {
      const waitMs = budget.waitMs(1);
      if (waitMs > 0) return { kind: "busy", retryAfterMs: waitMs };
      budget.take(1);
      return result("1");
    };
    const node = { name: "a", ask, isMissing: () => false, budget } as unknown as Upstream;
    const said = Array.from({ length: 10 }, async () => (await outcomeOf([node], clock)).kind);
    for (let count = 0; count < 100; count += 1) await clock.advance(10);
    expect(await Promise.all(said)).toEqual(Array(10).fill("result"));
  });

  it("asks who had no budget, once it has, while the one that was asked says nothing", async () => {
    const { log, clock, answer } = scriptedCall([{}, { waitMs: 400 }, { fromMs: 60_000 }]);
    for (let passed = 0; passed < 500; passed += 50) await clock.advance(50);
    await answer("b", result("2"));
    expect(log.at(-1)).toBe("2");
  });

  it("presses who has none, but a learned limit, rather than waits for one that says nothing", async () => {
    const { log, clock, answer } = scriptedCall([
      {},
      { waitMs: 9_000, mayExceedLearnedLimit: true },
      { fromMs: 60_000 },
    ]);
    for (let passed = 0; passed < 300; passed += 50) await clock.advance(50);
    await answer("b", result("2"));
    expect(log.at(-1)).toBe("2");
  });

  it("leave no timer behind that asks on after the answer", async () => {
    const learned = { waitMs: 9_000, mayExceedLearnedLimit: true };
    const { clock, answer, left } = scriptedCall([{}, learned, { fromMs: 60_000 }]);
    for (let passed = 0; passed < 300; passed += 50) await clock.advance(50);
    await answer("b", result("2"));
    expect(left()).toEqual({ timers: 1, waiting: 0 }); // the first attempt is still awaited
  });
});
