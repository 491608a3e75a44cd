// One network's part of a live event: the rates between two samples, and the troubles of each upstream. Pure.
import {
  type CountedMetrics,
  type NetworkCounts,
  perSecond,
  ratesBetween,
  type UpstreamCounts,
} from "../observe/call-rates.ts";
import type { LiveStatus, Status } from "./schemas.ts";

/** The counts of all networks at one time. */
export type Sample = {
  /** The time by the monotonic clock (`Clock.now`). */
  readonly atMs: number;
  readonly counts: ReadonlyMap<string, NetworkCounts>;
};

type LiveUpstream = LiveStatus["networks"][number]["upstreams"][number];
type Trouble = LiveUpstream["troubles"][number];

/** The troubles of an upstream, the worst first; empty for a healthy one. */
export function troublesOf(node: Omit<LiveUpstream, "troubles">): Trouble[] {
  const { isUsable, drained, isElsewhere, failedPerSecond, budget, caught } = node;
  const groupsWith = (state: "open" | "half-open"): string =>
    node.groups
      .filter(({ breaker }) => breaker === state)
      .map(({ group }) => group)
      .join(", ");
  const [open, tried] = [groupsWith("open"), groupsWith("half-open")];
  const { lies, proofFailures, dissents } = caught;
  const all: readonly (Trouble | false | "")[] = [
    !isUsable && { text: "unusable", tone: "bad" },
    isElsewhere && { text: "on another branch", tone: "bad" },
    open && { text: `circuit breaker open for ${open}`, tone: "bad" },
    tried && { text: `circuit breaker half-open for ${tried}`, tone: "warn" },
    failedPerSecond > 0 && { text: `failing ${rateText(failedPerSecond)}/s`, tone: "bad" },
    budget.pausedForMs > 0 && { text: `paused for ${waitText(budget.pausedForMs)}`, tone: "warn" },
    lies > 0 && { text: countText(lies, "false answer"), tone: "bad" },
    proofFailures > 0 && { text: countText(proofFailures, "failed proof"), tone: "bad" },
    dissents > 0 && { text: countText(dissents, "disagreement"), tone: "warn" },
    drained !== undefined && { text: `drained by ${drained.who}`, tone: "plain" },
  ];
  return all.filter((each) => each !== false && each !== "");
}

const countText = (count: number, what: string): string =>
  `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
const rateText = (rate: number): string => (rate >= 10 ? rate.toFixed(0) : rate.toPrecision(2));
const waitText = (ms: number): string =>
  ms < 120_000 ? `${Math.ceil(ms / 1_000)} s` : `${Math.ceil(ms / 60_000)} min`;

type ShownNetwork = Status["networks"][number];
type LiveNetwork = LiveStatus["networks"][number];

/** The points of a network's charts, with three digits each, since many points are sent at once. */
export const chartedOf = ({ network, perSecond: rates, upstreams }: ChartedNetwork) => ({
  network,
  perSecond: Object.fromEntries(
    Object.entries(rates).map(([name, rate]) => [name, rate && Number(rate.toPrecision(3))]),
  ) as ChartedNetwork["perSecond"],
  upstreams: upstreams.map(({ upstream, lagBlocks }) => ({ upstream, lagBlocks })),
});

type ChartedNetwork = Pick<LiveNetwork, "network" | "perSecond"> & {
  readonly upstreams: readonly Pick<LiveUpstream, "upstream" | "lagBlocks">[];
};

export function liveNetwork(
  { upstreams, ...network }: ShownNetwork,
  counted: CountedMetrics,
  { since, now: sample }: { readonly since: Sample; readonly now: Sample },
): Omit<LiveNetwork, "evidence" | "lastReorganisations"> {
  const { network: name } = network;
  const now = sample.counts.get(name) as NetworkCounts;
  const then = since.counts.get(name) ?? now;
  const seconds = (sample.atMs - since.atMs) / 1000;
  return {
    ...network,
    headAgeSeconds: counted.gauge("headgate_head_age_seconds", name),
    isStale: counted.gauge("headgate_head_stale", name) === 1,
    reorganisations: counted.gauge("headgate_reorgs_total", name) ?? 0,
    perSecond: ratesBetween(then, now, seconds),
    upstreams: upstreams.map((upstream) => {
      const counts = now.upstreams.get(upstream.upstream) ?? NOTHING;
      const { calls, failed, ...caught } = counts;
      const earlier = then.upstreams.get(upstream.upstream) ?? counts;
      const live = {
        ...upstream,
        callsPerSecond: perSecond(earlier.calls, calls, seconds),
        failedPerSecond: perSecond(earlier.failed, failed, seconds),
        caught,
      };
      return { ...live, troubles: troublesOf(live) };
    }),
  };
}

const NOTHING: UpstreamCounts = { calls: 0, failed: 0, lies: 0, proofFailures: 0, dissents: 0 };
