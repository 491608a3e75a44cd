// Combines the metrics of several processes into those of one gateway. Counters never go down: the counts of a
// process that ended stay, as last read.
import { AggregatorRegistry, Gauge, Registry } from "prom-client";
import {
  type AdminRefusal,
  type DeclaredMetric,
  declarationOf,
  Tally,
  type UnexpectedKind,
  withFormerNames,
} from "./metrics.ts";

type Value = { readonly value: number; readonly labels: Readonly<Record<string, string | number>> };
type Metric = { readonly name: string; readonly type: string; readonly values: readonly Value[] };

/** The metrics of each process, by its name. */
export type Measured = ReadonlyMap<string, readonly object[]>;

const CALLS_PER_CALL = "headgate_upstream_calls_per_call";
/** Metrics whose sum over processes means nothing, such as the start time of a process. */
const OF_ONE_PROCESS = /^(process_start_time_seconds|nodejs_version_info)$/;

export class CombinedMetrics {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;
  /** The counters and histograms of processes that ended. */
  #ended: readonly object[] = [];
  /** The last metrics of each process, used when it does not answer. */
  readonly #last = new Map<string, readonly object[]>();
  readonly #own = new Registry();
  readonly #replaced = new Tally(
    {
      name: "headgate_processes_replaced_total",
      help: "Processes that were started again, because they had ended by themselves, or hung and were killed.",
      labelNames: ["process", "why"],
    },
    this.#own,
  );
  /** Counted here for all processes: a process with an unexpected error ends before its metrics are read. */
  readonly #unexpected = new Tally(declarationOf("unexpected_errors_total{kind}"), this.#own);
  readonly #adminRefused = new Tally(declarationOf("admin_refused_total{why}"), this.#own);
  readonly #callbacksFailed = new Tally(declarationOf("callbacks_failed_total{event}"), this.#own);
  readonly #certificateExpires = new Gauge({
    ...declarationOf("tls_certificate_expires_timestamp_seconds{port}"),
    aggregator: "min",
    registers: [this.#own],
  });
  readonly #measure: () => Promise<Measured>;

  /** @param parts.measure Reads the metrics of the processes that answer in time. */
  constructor(parts: { readonly measure: () => Promise<Measured> }) {
    this.#measure = parts.measure;
  }

  /** The metrics in Prometheus' text format. */
  async exposition(): Promise<string> {
    const combined = await this.#combined();
    const metrics = (await combined.getMetricsAsJSON()) as unknown as Metric[];
    return withFormerNames(`${await combined.metrics()}${callsPerCall(metrics)}`);
  }

  /** The metrics as values. */
  async values(): Promise<readonly object[]> {
    return (await this.#combined()).getMetricsAsJSON();
  }

  async #combined(): Promise<Registry> {
    for (const [name, values] of await this.#measure()) this.#last.set(name, values);
    const own = await this.#own.getMetricsAsJSON();
    return combine([own, this.#ended, ...this.#last.values()]);
  }

  /** The declarations of the metrics that only a supervisor has. */
  get declared(): readonly DeclaredMetric[] {
    return this.#own.getMetricsAsArray() as unknown as readonly DeclaredMetric[];
  }

  readonly unexpected = (kind: UnexpectedKind, times = 1): void => {
    if (times > 0) this.#unexpected.add(times, kind);
  };

  callbackFailed(event: string): void {
    this.#callbacksFailed.add(1, event);
  }

  adminRefused(why: AdminRefusal): void {
    this.#adminRefused.add(1, why);
  }

  certificateExpires(port: "admin", atMs: number): void {
    this.#certificateExpires.set({ port }, atMs / 1000);
  }

  /** Keeps the counters of a process that ended, whose name its replacement may take. */
  async processEnded(name: string, why: "hung" | "ended"): Promise<void> {
    this.#replaced.add(1, name, why);
    const last = this.#last.get(name) ?? [];
    this.#last.delete(name);
    const counted = (last as Metric[]).filter(
      ({ type }) => type === "counter" || type === "histogram",
    );
    this.#ended = await combine([this.#ended, counted]).getMetricsAsJSON();
  }
}

function combine(all: readonly (readonly object[])[]): Registry {
  const known = all.map((metrics) =>
    (metrics as Metric[]).filter(({ name }) => !OF_ONE_PROCESS.test(name)),
  );
  return AggregatorRegistry.aggregate(known.filter((metrics) => metrics.length > 0));
}

/** The ratio must be computed over all processes: the writer's calls follow the chain, the servers answer callers. */
function callsPerCall(metrics: readonly Metric[]): string {
  const upstreamCalls = sums(metrics, "headgate_upstream_calls_total");
  const lines = [...sums(metrics, "headgate_calls_total")].map(
    ([network, calls]) =>
      `${CALLS_PER_CALL}{network="${network}"} ${(upstreamCalls.get(network) ?? 0) / calls}\n`,
  );
  const help = "Calls made to nodes, those that follow the chain included, for each call answered.";
  return `\n# HELP ${CALLS_PER_CALL} ${help}\n# TYPE ${CALLS_PER_CALL} gauge\n${lines.join("")}`;
}

function sums(metrics: readonly Metric[], name: string): Map<string, number> {
  const byNetwork = new Map<string, number>();
  for (const { labels, value } of metrics.find((metric) => metric.name === name)?.values ?? []) {
    const network = String(labels["network"]);
    byNetwork.set(network, (byNetwork.get(network) ?? 0) + value);
  }
  return byNetwork;
}
