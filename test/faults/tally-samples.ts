// The sum of many answers: latencies, and flaws.
import type { Sample } from "./load.ts";

export type Tally = {
  readonly requests: number;
  /** Latencies of requests that needed a node. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The load's own delay: above a few milliseconds the machine was busy. */
  readonly lateP99Ms: number;
  readonly stateCalls: number;
  readonly wrong: number;
  readonly errors: number;
  /** The number of answers with each flaw. */
  readonly countByFlaw: ReadonlyMap<string, number>;
};

export function tallySamples(samples: readonly Sample[]): Tally {
  const flaws = samples.flatMap(({ verdict }) => (verdict.kind === "right" ? [] : [verdict]));
  const forwarded = samples.filter(({ isForwarded }) => isForwarded).map(({ ms }) => ms);
  return {
    requests: samples.length,
    p50Ms: percentile(forwarded, 0.5),
    p99Ms: percentile(forwarded, 0.99),
    maxMs: percentile(forwarded, 1),
    lateP99Ms: percentile(
      samples.map(({ lateMs }) => lateMs),
      0.99,
    ),
    stateCalls: samples.reduce((sum, { stateCalls }) => sum + stateCalls, 0),
    wrong: flaws.filter(({ kind }) => kind === "wrong").length,
    errors: flaws.filter(({ kind }) => kind === "error").length,
    countByFlaw: counted(flaws.map(({ why }) => why)),
  };
}

/** The most frequent flaws first, on one line. */
export const flawsText = ({ countByFlaw }: Pick<Tally, "countByFlaw">): string =>
  [...countByFlaw]
    .sort(([, one], [, other]) => other - one)
    .slice(0, 6)
    .map(([why, count]) => `${count} × ${why}`)
    .join("; ");

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function counted(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}
