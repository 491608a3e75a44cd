// The rates that a budget learns for nodes that limit calls per second without naming the limit.
import { describe, expect, it } from "vitest";
import { RateBudget } from "./rate-budget.ts";

const LATENCY_MS = 40;
const STEP_MS = 1;
const nothingKept = {
  get: async () => undefined,
  update: async () => ({ isChanged: true, texts: [] }),
};

/** Whether the node accepts a call, for one call after the other. */
type ScriptedNode = (atMs: number) => boolean;

/** Accepts this many calls in each second of the node's wall clock. */
function bySecond(perSecond: number): ScriptedNode {
  let second = -1;
  let count = 0;
  return (atMs) => {
    if (Math.floor(atMs / 1000) !== second) count = 0;
    second = Math.floor(atMs / 1000);
    count += 1;
    return count <= perSecond;
  };
}

/** Accepts this many calls in any second; refused calls count, or not. */
function sliding(perSecond: number, refused: "counted" | "free"): ScriptedNode {
  const seen: number[] = [];
  return (atMs) => {
    while ((seen[0] ?? atMs) <= atMs - 1000) seen.shift();
    const isTaken = seen.length < perSecond;
    if (isTaken || refused === "counted") seen.push(atMs);
    return isTaken;
  };
}

/** Accepts this many calls a second, and after a silence the calls of one second at once. */
function bucket(perSecond: number): ScriptedNode {
  let tokens = perSecond;
  let filledAtMs = 0;
  return (atMs) => {
    tokens = Math.min(perSecond, tokens + ((atMs - filledAtMs) * perSecond) / 1000);
    filledAtMs = atMs;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}

type Rig = { readonly budget: RateBudget; run(options: Span): { taken: number; refused: number } };
type Span = { readonly seconds: number; readonly wanted: number; readonly node: ScriptedNode };

/** Callers want this many calls a second, evenly spread; a call that would have to wait goes to another node. */
function rig(perSecond?: number): Rig {
  let nowMs = 0;
  const clock = { now: () => nowMs, wallTime: () => 0, sleep: async () => undefined };
  const options = { network: "eth", upstream: "node", perSecond };
  const budget = new RateBudget(options, { clock, state: nothingKept });
  const underway: { sentAtMs: number; isTaken: boolean }[] = [];
  const settle = (): void => {
    while (underway[0] && underway[0].sentAtMs + LATENCY_MS <= nowMs) {
      const { sentAtMs, isTaken } = underway.shift() ?? underway[0];
      if (isTaken) budget.answered(sentAtMs);
      else budget.limited(undefined, sentAtMs);
    }
  };
  const run = ({ seconds, wanted, node }: Span): { taken: number; refused: number } => {
    const counts = { taken: 0, refused: 0 };
    let due = 0;
    for (const endMs = nowMs + seconds * 1000; nowMs < endMs; nowMs += STEP_MS) {
      settle();
      for (due += (wanted * STEP_MS) / 1000; due >= 1; due -= 1) {
        if (budget.waitMs(1) > 0) continue;
        budget.take(1);
        const isTaken = node(nowMs);
        counts[isTaken ? "taken" : "refused"] += 1;
        underway.push({ sentAtMs: nowMs, isTaken });
      }
    }
    return counts;
  };
  return { budget, run };
}

describe.each([
  { name: "in each second of the clock", nodeOf: bySecond },
  { name: "in any second", nodeOf: (rate: number) => sliding(rate, "free") },
  {
    name: "in any second, refused ones counted",
    nodeOf: (rate: number) => sliding(rate, "counted"),
  },
  { name: "from a bucket", nodeOf: bucket },
])("a node that takes so many calls $name", ({ nodeOf }) => {
  it.each([
    { allowed: 5, wanted: 20 },
    { allowed: 5, wanted: 2000 },
    { allowed: 50, wanted: 200 },
    { allowed: 500, wanted: 2000 },
  ])(
    "$allowed of $wanted: is used, and seldom refuses, after some seconds",
    ({ allowed, wanted }) => {
      const { run } = rig();
      const node = nodeOf(allowed);
      run({ seconds: 15, wanted, node });
      const { taken, refused } = run({ seconds: 60, wanted, node });
      expect(refused).toBeLessThan(0.05 * (taken + refused));
      expect(taken).toBeGreaterThan(0.8 * allowed * 60);
    },
  );

  it("is found out as well when too much is configured", () => {
    const { run } = rig(200);
    const node = nodeOf(50);
    run({ seconds: 15, wanted: 500, node });
    const { taken, refused } = run({ seconds: 60, wanted: 500, node });
    expect(refused).toBeLessThan(0.05 * (taken + refused));
    expect(taken).toBeGreaterThan(0.8 * 50 * 60);
  });
});

describe("a node that takes more than it did", () => {
  const takesAll: ScriptedNode = () => true;

  it("gets all that is wanted again", () => {
    const { run } = rig();
    run({ seconds: 30, wanted: 500, node: bySecond(50) });
    run({ seconds: 90, wanted: 500, node: takesAll });
    expect(run({ seconds: 10, wanted: 500, node: takesAll }).taken).toBe(5000);
  });

  it("gets what is configured again, and no more", () => {
    const { budget, run } = rig(100);
    run({ seconds: 30, wanted: 500, node: bySecond(20) });
    expect(budget.state().perSecond).toBeLessThan(30);
    run({ seconds: 90, wanted: 500, node: takesAll });
    expect(budget.state().perSecond).toBe(100);
    const { taken } = run({ seconds: 10, wanted: 500, node: takesAll });
    expect(taken).toBeGreaterThanOrEqual(999);
    expect(taken).toBeLessThanOrEqual(1001);
  });

  it("does not get more for answering less than it is known to take", () => {
    const { budget, run } = rig();
    run({ seconds: 30, wanted: 500, node: bySecond(50) });
    run({ seconds: 2, wanted: 10, node: takesAll }); // the calls of the last second still count
    const { perSecond } = budget.state();
    run({ seconds: 60, wanted: 10, node: takesAll });
    expect(budget.state().perSecond).toBe(perSecond);
  });
});
