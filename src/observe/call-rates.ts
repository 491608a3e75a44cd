// Computes calls a second and their durations from the counts at two moments. Pure.

type Labels = Readonly<Record<string, string | number>>;
type Value = { readonly value: number; readonly labels: Labels; readonly metricName?: string };
type Metric = { readonly name: string; readonly values: readonly Value[] };

/** The counts of one network at one moment. */
export type NetworkCounts = {
  readonly calls: Readonly<Record<"ok" | "refused" | "unavailable" | "failed", number>>;
  readonly saved: Readonly<Record<"store" | "merging" | "here", number>>;
  /** The number of calls that took at most this many seconds, shortest bound first; the last bound is Infinity. */
  readonly tookAtMost: readonly (readonly [seconds: number, calls: number])[];
  readonly upstreams: ReadonlyMap<string, UpstreamCounts>;
};

export type UpstreamCounts = {
  /** Calls to the node on behalf of callers. */
  readonly calls: number;
  /** The number of those calls that ended with neither a result nor a refusal. */
  readonly failed: number;
  /** Since the process began: false answers, blocks that failed their proof, and dissents from other vendors. */
  readonly lies: number;
  readonly proofFailures: number;
  readonly dissents: number;
};

/** @param metrics The metrics of a registry, as JSON. */
export class CountedMetrics {
  readonly #byName: ReadonlyMap<string, readonly Value[]>;
  /** Caches each metric's values by network, as most metrics are read for each network. */
  readonly #byNetwork = new Map<string, ReadonlyMap<unknown, readonly Value[]>>();

  constructor(metrics: readonly object[]) {
    const all = metrics as readonly Metric[];
    this.#byName = new Map(all.map(({ name, values }) => [name, values]));
  }

  /** The value of a network's gauge; undefined if it is not measured. */
  gauge(name: string, network: string): number | undefined {
    return this.#of(name, network)[0]?.value;
  }

  countsOf(network: string): NetworkCounts {
    const calls = this.#of("headgate_calls_total", network);
    const saved = this.#of("headgate_calls_saved_total", network);
    return {
      calls: {
        ok: sum(calls, { outcome: "ok" }),
        refused: sum(calls, { outcome: "refused" }),
        unavailable: sum(calls, { outcome: "unavailable" }),
        failed: sum(calls, { outcome: "failed" }),
      },
      saved: {
        store: sum(saved, { how: "store" }),
        merging: sum(saved, { how: "merging" }),
        here: sum(saved, { how: "here" }),
      },
      tookAtMost: this.#of("headgate_call_seconds", network)
        .filter(({ metricName }) => metricName?.endsWith("_bucket"))
        .map(({ labels, value }) => [boundOf(labels["le"]), value] as const)
        .sort(([one], [other]) => one - other),
      upstreams: this.#upstreamsOf(network),
    };
  }

  #upstreamsOf(network: string): ReadonlyMap<string, UpstreamCounts> {
    const asked = this.#of("headgate_upstream_calls_total", network);
    const lies = this.#of("headgate_upstream_lies_total", network);
    const unproven = this.#of("headgate_proof_failures_total", network);
    const dissents = this.#of("headgate_upstream_dissents_total", network);
    const names = new Set(
      [asked, lies, unproven, dissents].flat().map(({ labels }) => String(labels["upstream"])),
    );
    return new Map(
      [...names].map((upstream) => {
        const calls = sum(asked, { upstream, purpose: "call" });
        const answered =
          sum(asked, { upstream, purpose: "call", outcome: "result" }) +
          sum(asked, { upstream, purpose: "call", outcome: "refused" });
        const caught = {
          lies: sum(lies, { upstream }),
          proofFailures: sum(unproven, { upstream }),
          dissents: sum(dissents, { upstream }),
        };
        return [upstream, { calls, failed: calls - answered, ...caught }];
      }),
    );
  }

  #of(name: string, network: string): readonly Value[] {
    const known = this.#byNetwork.get(name);
    const grouped =
      known ?? Map.groupBy(this.#byName.get(name) ?? [], ({ labels }) => labels["network"]);
    if (!known) this.#byNetwork.set(name, grouped);
    return grouped.get(network) ?? [];
  }
}

/**
 * Calls a second, by how they were answered; calls counted as `store`, `merged` and `here` needed no upstream.
 *
 * @param seconds The time between the two moments.
 */
export function ratesBetween(before: NetworkCounts, after: NetworkCounts, seconds: number) {
  const rate = (read: (counts: NetworkCounts) => number): number =>
    perSecond(read(before), read(after), seconds);
  const took = after.tookAtMost.map(([bound, calls], at) => {
    const those = before.tookAtMost[at]?.[1] ?? 0;
    return [bound, Math.max(0, calls - those)] as const;
  });
  return {
    calls: rate(({ calls }) => calls.ok + calls.refused + calls.failed + calls.unavailable),
    store: rate(({ saved }) => saved.store),
    merged: rate(({ saved }) => saved.merging),
    here: rate(({ saved }) => saved.here),
    failed: rate(({ calls }) => calls.failed + calls.unavailable),
    refused: rate(({ calls }) => calls.refused),
    medianMs: quantileMs(took, 0.5),
    p99Ms: quantileMs(took, 0.99),
  };
}

/** A counter that fell has restarted, because its network was removed and configured again: its rate counts as 0. */
export const perSecond = (before: number, after: number, seconds: number): number =>
  seconds > 0 ? Math.max(0, after - before) / seconds : 0;

/** Assumes that the calls of a bucket are evenly spread; calls beyond the last finite bound count as that bound. */
function quantileMs(
  took: readonly (readonly [seconds: number, calls: number])[],
  share: number,
): number | undefined {
  const all = took.at(-1)?.[1] ?? 0;
  if (all === 0) return undefined;
  const wanted = all * share;
  const at = took.findIndex(([, upTo]) => upTo >= wanted);
  const [bound, calls] = took[at] ?? [0, 0];
  const [below, callsBelow] = took[at - 1] ?? [0, 0];
  if (bound === Number.POSITIVE_INFINITY) return below * 1000;
  const part = (wanted - callsBelow) / (calls - callsBelow);
  return (below + (bound - below) * part) * 1000;
}

const boundOf = (le: string | number | undefined): number =>
  le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le);

const sum = (values: readonly Value[], wanted: Labels): number =>
  values
    .filter(({ labels }) => Object.entries(wanted).every(([name, value]) => labels[name] === value))
    .reduce((total, { value }) => total + value, 0);
