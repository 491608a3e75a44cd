import { expect, it } from "vitest";
import { CountedMetrics, ratesBetween } from "./call-rates.ts";
import { Metrics } from "./metrics.ts";

const call = { network: "main", method: "eth_chainId", outcome: "ok", computeUnits: 1 } as const;
const countedIn = async (metrics: Metrics): Promise<CountedMetrics> =>
  new CountedMetrics(await metrics.values());

it("tells calls a second by what became of them, and how long they took", async () => {
  const metrics = new Metrics();
  metrics.callEnded({ ...call, seconds: 20 });
  metrics.callSaved("main", "store");
  const before = (await countedIn(metrics)).countsOf("main");
  for (let calls = 0; calls < 98; calls += 1) {
    metrics.callEnded({ ...call, seconds: 0.004 });
    metrics.callSaved("main", "store");
  }
  metrics.callEnded({ ...call, outcome: "failed", seconds: 0.4 });
  metrics.callEnded({ ...call, outcome: "refused", seconds: 0.4 });
  metrics.callEnded({ ...call, network: "other", seconds: 0.4 });
  const after = (await countedIn(metrics)).countsOf("main");
  const { medianMs, p99Ms, ...rates } = ratesBetween(before, after, 10);
  expect(rates).toEqual({ calls: 10, store: 9.8, merged: 0, here: 0, failed: 0.1, refused: 0.1 });
  // Interpolated within their buckets: 2.5 to 5 ms, and 250 to 500 ms.
  expect(medianMs).toBeCloseTo(2.5 + (2.5 * 50) / 98);
  expect(p99Ms).toBeCloseTo(250 + 125);
});

it("tells no times while there are no calls, and the last bound of those that took longer", async () => {
  const metrics = new Metrics();
  const none = (await countedIn(metrics)).countsOf("main");
  expect(ratesBetween(none, none, 1)).toMatchObject({ calls: 0, medianMs: undefined });
  metrics.callEnded({ ...call, seconds: 100 });
  const before = { ...none, tookAtMost: [] };
  const after = (await countedIn(metrics)).countsOf("main");
  expect(ratesBetween(before, after, 1)).toMatchObject({ calls: 1, medianMs: 30_000 });
});

it("counts what upstreams were asked for callers, and what they were caught at", async () => {
  const metrics = new Metrics();
  const asked = { network: "main", upstream: "a", purpose: "call", seconds: 1, bytes: 1 } as const;
  metrics.upstreamAnswered({ ...asked, kind: "result" });
  metrics.upstreamAnswered({ ...asked, kind: "refused" });
  metrics.upstreamAnswered({ ...asked, kind: "timeout" });
  metrics.upstreamAnswered({ ...asked, kind: "timeout", purpose: "follow" });
  metrics.upstreamLied("main", "a");
  metrics.proofFailed("main", "b", "receipts");
  metrics.upstreamDissented("main", "b");
  const { upstreams } = (await countedIn(metrics)).countsOf("main");
  expect(Object.fromEntries(upstreams)).toEqual({
    a: { calls: 3, failed: 1, lies: 1, proofFailures: 0, dissents: 0 },
    b: { calls: 0, failed: 0, lies: 0, proofFailures: 1, dissents: 1 },
  });
});

it("reads gauges of a network", async () => {
  const metrics = new Metrics();
  metrics.headSeen("main", { ageMs: 2_500, isStale: false });
  const counted = await countedIn(metrics);
  expect(counted.gauge("headgate_head_age_seconds", "main")).toBe(2.5);
  expect(counted.gauge("headgate_head_age_seconds", "other")).toBeUndefined();
});
