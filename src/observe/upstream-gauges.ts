// Gauges of each node's state, and of the facts learned about it, read whenever metrics are read.
import { Gauge, type Registry } from "prom-client";

export type UpstreamSnapshot = {
  readonly upstream: string;
  /** undefined until the node has reported its head. */
  readonly head: number | undefined;
  readonly lagBlocks: number;
  readonly lagSeconds: number;
  /** Whether the node's head is on another branch than the followed chain. */
  readonly isOnOtherBranch: boolean;
  /** The operator who drained the node, and when. A drained node is asked only while no other node is usable. */
  readonly drained: { readonly who: string; readonly at: string } | undefined;
  readonly inFlight: number;
  /** The number of callers' calls that wait for their turn at the node. */
  readonly waiting: number;
  readonly groups: readonly {
    readonly group: string;
    readonly breaker: "closed" | "half-open" | "open";
    readonly errorRate: number;
    readonly medianMs: number | undefined;
    readonly p95Ms: number | undefined;
  }[];
  readonly budget: {
    readonly perSecond: number | undefined;
    readonly pausedForMs: number;
    readonly monthUsed: number | undefined;
    readonly monthLeft: number | undefined;
  };
  readonly lackedMethods: number;
  /** Some of the methods that the node lacks. */
  readonly lacked?: readonly string[];
  /** How far back the node reaches: all blocks, or this many of the newest; left out if unknown. */
  readonly reaches?: Readonly<Partial<Record<"state" | "history" | "traces", "all" | number>>>;
};

type Reader = () => readonly UpstreamSnapshot[];
type Value = {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number | undefined;
};

const BREAKER = { closed: 0, "half-open": 0.5, open: 1 };

type UpstreamGauge = {
  /** The end of the metric's name. */
  readonly name: string;
  readonly help: string;
  /** The labels beside network and upstream. */
  readonly labels?: readonly string[];
  /** How Prometheus combines the values of several processes; left out: the highest value counts. */
  readonly together?: "sum" | "average" | "min";
  readonly values: (snapshot: UpstreamSnapshot) => readonly Value[];
};

/** A gauge with a single value per node; undefined: no value. */
const one = (
  name: string,
  help: string,
  read: (snapshot: UpstreamSnapshot) => number | undefined,
  together?: UpstreamGauge["together"],
): UpstreamGauge => ({
  ...{ name, help, ...(together && { together }) },
  values: (snapshot) => [{ value: read(snapshot) }],
});

const GAUGES: readonly UpstreamGauge[] = [
  one("head_block", "The newest block that the node reported.", ({ head }) => head),
  one(
    "lag_blocks",
    "The number of blocks by which the node is behind the best one.",
    ({ lagBlocks }) => lagBlocks,
  ),
  one(
    "lag_seconds",
    "The time since a block newer than the node's newest one was seen.",
    ({ lagSeconds }) => lagSeconds,
  ),
  one("on_other_branch", "1 while the node's head is not on the followed chain.", (node) =>
    node.isOnOtherBranch ? 1 : 0,
  ),
  one("drained", "1 while the node is drained by an operator.", ({ drained }) => (drained ? 1 : 0)),
  one(
    "in_flight",
    "Calls to the node that it has not answered yet.",
    ({ inFlight }) => inFlight,
    "sum",
  ),
  one("waiting", "Calls that wait for their turn at the node.", ({ waiting }) => waiting, "sum"),
  {
    name: "error_rate",
    together: "average",
    help: "The share of recent calls that failed, by kind of work.",
    labels: ["group"],
    values: ({ groups }) =>
      groups.map(({ group, errorRate }) => ({ labels: { group }, value: errorRate })),
  },
  {
    name: "recent_seconds",
    together: "average",
    help: "The median and the 95th percentile of recent answering times, by kind of work.",
    labels: ["group", "quantile"],
    values: ({ groups }) =>
      groups.flatMap(({ group, medianMs, p95Ms }) => [
        { labels: { group, quantile: "0.5" }, value: inSeconds(medianMs) },
        { labels: { group, quantile: "0.95" }, value: inSeconds(p95Ms) },
      ]),
  },
  {
    name: "breaker_open",
    help: "The circuit breaker, by kind of work: 1 while it is open after failures, 0.5 while the node is tried again, 0 while it is closed.",
    labels: ["group"],
    values: ({ groups }) =>
      groups.map(({ group, breaker }) => ({ labels: { group }, value: BREAKER[breaker] })),
  },
  one(
    "rate_limit",
    "The calls or credits a second that may be sent to the node, configured or learned; no value without a limit.",
    ({ budget }) => budget.perSecond,
    "sum",
  ),
  one(
    "paused_seconds",
    "The time for which the node is not asked any more, because it was asked too often.",
    ({ budget }) => inSeconds(budget.pausedForMs),
  ),
  one(
    "month_used",
    "Calls or credits used in this calendar month.",
    ({ budget }) => budget.monthUsed,
  ),
  one(
    "month_left",
    "Calls or credits left in this calendar month.",
    ({ budget }) => budget.monthLeft,
    "min",
  ),
  one(
    "lacked_methods",
    "Methods, and variants of methods, that the node is known to lack.",
    ({ lackedMethods }) => lackedMethods,
  ),
];

const inSeconds = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : ms / 1000;

export class UpstreamGauges {
  readonly #readerByNetwork = new Map<string, Reader>();

  constructor(parts: { registry: Registry }) {
    const readers = this.#readerByNetwork;
    for (const { name, help, labels = [], together = "max", values } of GAUGES)
      new Gauge({
        name: `headgate_upstream_${name}`,
        help,
        labelNames: ["network", "upstream", ...labels],
        aggregator: together,
        registers: [parts.registry],
        collect() {
          this.reset();
          for (const [network, read] of readers)
            for (const snapshot of read())
              for (const { labels: own, value } of values(snapshot))
                if (value !== undefined)
                  this.set({ network, upstream: snapshot.upstream, ...own }, value);
        },
      });
  }

  watch(network: string, read: Reader): void {
    this.#readerByNetwork.set(network, read);
  }

  forget(network: string): void {
    this.#readerByNetwork.delete(network);
  }
}
