// TimeTally reports times as prom-client's own histogram does.
import fc from "fast-check";
import { AggregatorRegistry, Histogram, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { Metrics, TimeTally } from "./metrics.ts";

const BUCKETS = [0.001, 0.01, 0.1, 1];
const declared = { name: "x_seconds", help: "Times.", buckets: BUCKETS };
const seconds = fc.oneof(
  fc.constantFrom(0, ...BUCKETS, 1.5),
  fc.double({ min: 0, max: 3, noNaN: true }),
);

/** The reports of both histograms about the same times, as text and as the combined values of two processes. */
async function told(
  times: readonly [network: string, seconds: number][],
  labelNames: ["network"] | [],
) {
  const [own, theirs] = [new Registry(), new Registry()];
  const tally = new TimeTally({ ...declared, labelNames: [...labelNames] }, own);
  const histogram = new Histogram({
    ...declared,
    labelNames: [...labelNames],
    registers: [theirs],
  });
  for (const [network, time] of times) {
    const isLabelled = labelNames.length > 0;
    tally.times(...(isLabelled ? [network] : [])).add(time);
    histogram.observe(isLabelled ? { network } : {}, time);
  }
  return Promise.all(
    [own, theirs].map(async (registry) => {
      const values = await registry.getMetricsAsJSON();
      const together = AggregatorRegistry.aggregate([values, values] as object[][] as never);
      return [await registry.metrics(), await together.metrics()];
    }),
  );
}

describe("times", () => {
  it("of each label are told as prom-client tells them", async () => {
    const times = fc.array(fc.tuple(fc.constantFrom("a", "b"), seconds), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(times, async (some) => {
        const [own, theirs] = await told(some, ["network"]);
        expect(own).toEqual(theirs);
      }),
    );
  });

  it("without labels are told before the first, too", async () => {
    for (const times of [
      [],
      [["", 0.02]],
      [
        ["", 0.02],
        ["", 9],
      ],
    ] as [string, number][][]) {
      const [own, theirs] = await told(times, []);
      expect(own).toEqual(theirs);
    }
  });
});

const call = {
  network: "n",
  method: "m",
  outcome: "ok",
  computeUnits: 2,
  seconds: 0.002,
} as const;

it("calls are counted by network, method and outcome", async () => {
  const metrics = new Metrics();
  for (const outcome of ["ok", "ok", "refused"] as const) metrics.callEnded({ ...call, outcome });
  metrics.callEnded({ ...call, method: "other" });
  const lines = (await metrics.exposition()).split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      'headgate_calls_total{network="n",method="m",outcome="ok"} 2',
      'headgate_calls_total{network="n",method="m",outcome="refused"} 1',
      'headgate_calls_total{network="n",method="other",outcome="ok"} 1',
      'headgate_compute_units_total{network="n"} 8',
      'headgate_call_seconds_bucket{le="0.0025",network="n"} 4',
      'headgate_call_seconds_count{network="n"} 4',
    ]),
  );
});

it("a renamed metric has its former name, too", async () => {
  const metrics = new Metrics();
  metrics.headMoved("eth", { number: 9, removed: 3, bytes: 1, blocks: 1 });
  const text = await metrics.exposition();
  for (const name of ["headgate_reorged_blocks_total", "headgate_reorganised_blocks_total"]) {
    expect(text).toContain(`# TYPE ${name} counter\n${name}{network="eth"} 3\n`);
    expect(text.split(`# HELP ${name} `)).toHaveLength(2);
  }
});

it("calls of a network that is configured again are set against what its nodes are asked", async () => {
  const metrics = new Metrics();
  const answer = { network: "n", upstream: "u", kind: "result", purpose: "call" } as const;
  const both = (): void => {
    metrics.callEnded(call);
    metrics.upstreamAnswered({ ...answer, seconds: 0.001, bytes: 10 });
  };
  both();
  metrics.networkGone("n");
  both();
  metrics.upstreamAnswered({ ...answer, seconds: 0.001, bytes: 10 });
  const lines = (await metrics.exposition()).split("\n");
  expect(lines).toContain('headgate_upstream_calls_per_call{network="n"} 2');
  expect(lines).toContain('headgate_calls_total{network="n",method="m",outcome="ok"} 2');
});
