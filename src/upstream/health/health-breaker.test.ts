import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  afterFailure,
  afterNothing,
  afterSending,
  afterSuccess,
  type Breaker,
  breakerAt,
  CLOSED,
} from "./health.ts";

const FEW = { errorRate: 0.1, failures: 1 };
const open = (until: number, pauseMs = 1_000): Breaker => ({ kind: "open", until, pauseMs });
const halfOpen = (successes = 0, isTrying = false): Breaker => ({
  kind: "half-open",
  pauseMs: 1_000,
  successes,
  isTrying,
});
const closed = (failuresInARow: number): Breaker => ({ kind: "closed", failuresInARow });

describe("what a breaker becomes", () => {
  it.each<{ of: string; now: Breaker; when: (now: Breaker) => Breaker; becomes: Breaker }>([
    { of: "one that fails for the first time", now: CLOSED, when: fails(FEW), becomes: closed(1) },
    {
      of: "one that fails the fourth time in a row",
      now: closed(3),
      when: fails(FEW),
      becomes: closed(4),
    },
    {
      of: "one that fails the fifth time in a row",
      now: closed(4),
      when: fails(FEW),
      becomes: open(1_000),
    },
    { of: "one that answers after failures", now: closed(4), when: afterSuccess, becomes: CLOSED },
    {
      of: "one of whose ten calls half failed",
      now: CLOSED,
      when: fails({ errorRate: 0.5, failures: 10 }),
      becomes: open(1_000),
    },
    {
      of: "one that failed ten times of many",
      now: CLOSED,
      when: fails({ errorRate: 0.49, failures: 10 }),
      becomes: closed(1),
    },
    {
      of: "one that failed most of few calls",
      now: CLOSED,
      when: fails({ errorRate: 1, failures: 9 }),
      becomes: closed(1),
    },
    { of: "a closed one that is asked", now: closed(2), when: afterSending, becomes: closed(2) },
    {
      of: "a closed one whose caller went away",
      now: closed(2),
      when: afterNothing,
      becomes: closed(2),
    },
    {
      of: "an open one before its pause is over",
      now: open(1_000),
      when: (now) => breakerAt(now, 999),
      becomes: open(1_000),
    },
    {
      of: "an open one after its pause",
      now: open(1_000),
      when: (now) => breakerAt(now, 1_000),
      becomes: halfOpen(),
    },
    {
      of: "an open one that answers after all",
      now: open(1_000),
      when: afterSuccess,
      becomes: open(1_000),
    },
    {
      of: "an open one that fails once more",
      now: open(1_000),
      when: fails(FEW),
      becomes: open(1_000),
    },
    {
      of: "an open one that is asked in need",
      now: open(1_000),
      when: afterSending,
      becomes: open(1_000),
    },
    {
      of: "a half-open one that is tried",
      now: halfOpen(1),
      when: afterSending,
      becomes: halfOpen(1, true),
    },
    {
      of: "one that is tried and answers",
      now: halfOpen(0, true),
      when: afterSuccess,
      becomes: halfOpen(1),
    },
    {
      of: "one that is tried and answers a third time",
      now: halfOpen(2, true),
      when: afterSuccess,
      becomes: CLOSED,
    },
    {
      of: "one that is tried and fails",
      now: halfOpen(2, true),
      when: fails(FEW),
      becomes: open(2_000, 2_000),
    },
    {
      of: "one whose try came to no end",
      now: halfOpen(2, true),
      when: afterNothing,
      becomes: halfOpen(2),
    },
  ])("$of becomes $becomes.kind", ({ now, when, becomes }) => {
    expect(when(now)).toEqual(becomes);
  });

  function fails(recent: { errorRate: number; failures: number }): (now: Breaker) => Breaker {
    return (now) => afterFailure(now, recent, 0);
  }
});

describe("a breaker after anything that may have happened", () => {
  const happening = fc.record({
    afterMs: fc.nat(6_000),
    what: fc.constantFrom("sent", "success", "failure", "nothing"),
  });

  /** The breaker after all these events, and the time then. */
  function breakerAfter(happenings: readonly { afterMs: number; what: string }[]) {
    let nowMs = 0;
    let breaker: Breaker = CLOSED;
    for (const { afterMs, what } of happenings) {
      nowMs += afterMs;
      breaker = breakerAt(breaker, nowMs);
      if (what === "sent") breaker = afterSending(breaker);
      if (what === "success") breaker = afterSuccess(breaker);
      if (what === "failure")
        breaker = afterFailure(breaker, { errorRate: 1, failures: 10 }, nowMs);
      if (what === "nothing") breaker = afterNothing(breaker);
    }
    return { breaker, nowMs };
  }

  it("is never left alone for longer than five seconds", () => {
    fc.assert(
      fc.property(fc.array(happening), (happenings) => {
        const { breaker, nowMs } = breakerAfter(happenings);
        expect(breakerAt(breaker, nowMs + 5_000).kind).not.toBe("open");
        if (breaker.kind === "open") expect(breaker.pauseMs).toBeLessThanOrEqual(5_000);
      }),
    );
  });

  it("is closed again after its pause and three answers", () => {
    fc.assert(
      fc.property(fc.array(happening), (happenings) => {
        const { breaker, nowMs } = breakerAfter(happenings);
        let now = breakerAt(breaker, nowMs + 5_000);
        for (let count = 0; count < 3; count += 1) now = afterSuccess(afterSending(now));
        expect(now).toEqual(CLOSED);
      }),
    );
  });

  it("waits twice as long each time that the try fails, five seconds at most", () => {
    const pauses: number[] = [];
    let breaker = breakerAfter([{ afterMs: 0, what: "failure" }]).breaker;
    for (let nowMs = 0; pauses.length < 5; ) {
      if (breaker.kind !== "open") throw new Error(`is ${breaker.kind}`);
      pauses.push(breaker.pauseMs);
      nowMs = breaker.until;
      breaker = afterFailure(breakerAt(breaker, nowMs), FEW, nowMs);
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 5_000, 5_000]);
  });
});
