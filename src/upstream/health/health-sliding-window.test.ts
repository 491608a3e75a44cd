import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MethodTimes } from "../asking/network-calls.ts";
import { SlidingWindow, type Summary } from "./health.ts";

const HALF_MS = 15_000;

/** A window, and functions to let time pass and to read it. */
function windowAt(startMs = 0) {
  let nowMs = startMs;
  const window = new SlidingWindow({ clock: { now: () => nowMs } });
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { window, pass, now: (): number => nowMs };
}

const NOTHING: Summary = {
  answers: 0,
  failures: 0,
  errorRate: 0,
  meanMs: undefined,
  medianMs: undefined,
  p95Ms: undefined,
};

describe("a window", () => {
  it("knows nothing at first", () => {
    expect(windowAt().window.summary()).toEqual(NOTHING);
  });

  it("tells the share that failed, and how long the others took", () => {
    const { window } = windowAt(7);
    for (let ms = 1; ms <= 100; ms += 1) window.answered(ms);
    for (let count = 0; count < 25; count += 1) window.failed();
    const { answers, failures, errorRate, meanMs, medianMs, p95Ms } = window.summary();
    expect({ answers, failures, errorRate }).toEqual({
      answers: 100,
      failures: 25,
      errorRate: 0.2,
    });
    for (const [is, want] of [
      [meanMs, 50.5],
      [medianMs, 50],
      [p95Ms, 95],
    ] as const)
      expect((is ?? 0) / want).toBeCloseTo(1, 1);
  });

  it("counts the time of those that nobody waited for, and not as answers", () => {
    const { window } = windowAt();
    window.answered(10);
    window.took(1_000);
    const { answers, failures, p95Ms } = window.summary();
    expect({ answers, failures }).toEqual({ answers: 1, failures: 0 });
    expect(p95Ms).toBeGreaterThan(900);
  });

  it.each([
    { ms: 0, least: 0, most: 0.01 },
    { ms: 0.25, least: 0.24, most: 0.26 },
    { ms: 3_600_000, least: 119_000, most: 121_000 },
  ])("holds a time of $ms ms between $least and $most ms", ({ ms, least, most }) => {
    const { window } = windowAt();
    window.answered(ms);
    expect(window.summary().meanMs).toBeGreaterThan(least);
    expect(window.summary().meanMs).toBeLessThanOrEqual(most);
  });

  it("tells the times of the half in which more was answered", () => {
    const { window, pass } = windowAt();
    for (let count = 0; count < 3; count += 1) window.answered(10);
    pass(HALF_MS);
    for (let count = 0; count < 2; count += 1) window.answered(100);
    expect(window.summary().medianMs).toBeCloseTo(10, 0);
    window.answered(100);
    pass(50);
    expect(window.summary().medianMs).toBeCloseTo(100, -1);
  });

  it("counts a time that comes after a silence to the present, not to what is past", () => {
    const { window, pass } = windowAt();
    window.answered(10);
    pass(2 * HALF_MS);
    window.took(500);
    expect(window.summary().meanMs).toBeCloseTo(500, -1);
  });

  it("makes its summary anew after 50 ms, and at once after a failure", () => {
    const { window, pass } = windowAt();
    window.summary();
    window.answered(1);
    pass(49);
    expect(window.summary().answers).toBe(0);
    pass(1);
    expect(window.summary().answers).toBe(1);
    window.failed();
    expect(window.summary().failures).toBe(1);
  });

  it("starts as new when it is told to forget", () => {
    const { window, pass } = windowAt();
    window.answered(1);
    pass(HALF_MS);
    window.failed();
    window.forget();
    expect(window.summary()).toEqual(NOTHING);
  });

  it("counts as a list of all that happened in this quarter minute and the one before does", () => {
    const step = fc.record({
      afterMs: fc.oneof(fc.integer({ min: 50, max: 3_000 }), fc.integer({ min: 50, max: 40_000 })),
      what: fc.constantFrom("answered", "failed", "nothing"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.nat(100_000), (steps, startMs) => {
        const { window, pass, now } = windowAt(startMs);
        const happened: { half: number; what: string }[] = [];
        const halfNow = (): number => Math.floor((now() - startMs) / HALF_MS);
        for (const { afterMs, what } of steps) {
          pass(afterMs);
          happened.push({ half: halfNow(), what });
          if (what === "answered") window.answered(1);
          if (what === "failed") window.failed();
          pass(50); // until the summary is recomputed
          const count = (of: string): number =>
            happened.filter((each) => each.what === of && each.half >= halfNow() - 1).length;
          const want = { answers: count("answered"), failures: count("failed") };
          expect(window.summary()).toMatchObject(want);
        }
      }),
    );
  });
});

function timesOf() {
  let nowMs = 0;
  const times = new MethodTimes({ clock: { now: () => nowMs } });
  const answer = (method: string, ms: number, count = 20): void => {
    for (let done = 0; done < count; done += 1) times.answered(method, ms);
    nowMs += 50; // until the summary is recomputed
  };
  return { times, answer };
}

it("tells nothing of a method that was answered less than twenty times", () => {
  const { times, answer } = timesOf();
  answer("eth_call", 10, 19);
  expect(times.p95Ms("eth_call")).toBeUndefined();
  answer("eth_call", 10, 1);
  expect(times.p95Ms("eth_call")).toBeCloseTo(10, 0);
});

it("tells each method's times, not another one's", () => {
  const { times, answer } = timesOf();
  answer("eth_call", 10);
  answer("eth_getLogs", 500);
  expect(times.p95Ms("eth_call")).toBeLessThan(11);
  expect(times.p95Ms("eth_getLogs")).toBeGreaterThan(490);
});

it("is not filled by names that callers invent and nobody answers", () => {
  const { times, answer } = timesOf();
  for (let index = 0; index < 1_000; index += 1) times.p95Ms(`eth_invented${index}`);
  answer("eth_call", 10);
  answer("eth_getLogs", 500);
  expect(times.p95Ms("eth_call")).toBeLessThan(11);
});

it("measures what is beyond a hundred methods together", () => {
  const { times, answer } = timesOf();
  for (let index = 0; index < 100; index += 1) answer(`eth_answered${index}`, 1, 1);
  answer("eth_call", 10);
  expect(times.p95Ms("eth_getLogs")).toBeCloseTo(10, 0);
});
