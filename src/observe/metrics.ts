// The gateway's metrics for Prometheus. Label values come from the configuration and the catalogue, never from
// callers, so their number is bounded.

import {
  Counter as CounterOfPrometheus,
  collectDefaultMetrics,
  Gauge,
  type Metric,
  Registry,
} from "prom-client";
import {
  type MemoryBudget,
  type MemoryRefusal,
  type MemoryRefusalCause,
  memoryKinds,
} from "../lib/memory-budget.ts";
import type { Evidence, Incidents, Reorganisation } from "./incidents.ts";
import { UpstreamGauges, type UpstreamSnapshot } from "./upstream-gauges.ts";

export type CallRecord = {
  network: string;
  /** A declared method's name, or `other`. */
  method: string;
  outcome: "ok" | "refused" | "unavailable" | "failed";
  computeUnits: number;
  seconds: number;
};

export type UpstreamRecord = {
  network: string;
  upstream: string;
  kind: string;
  purpose: "call" | "follow" | "check" | "probe";
  seconds: number;
  bytes: number;
};

type AnsweredBy = Omit<UpstreamRecord, "seconds" | "bytes">;

type EndedBy = Pick<CallRecord, "network" | "method" | "outcome">;
type EndedSeries = EndedBy & { readonly all: CallCounts; readonly count: Count };

type AnsweredSeries = AnsweredBy & {
  readonly calls: Count;
  readonly bytes: Count;
  readonly times: Times;
};

/** The kind of an unexpected error: an unhandled rejection, or an uncaught exception. */
export type UnexpectedKind = "rejection" | "exception";

/** Why the admin API refused a request. */
export type AdminRefusal = "token" | "role" | "origin" | "handshake" | "tries" | "reads";

const SECONDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

/** The counters' help texts, by name (without `headgate_`) and labels. */
const COUNTERS = {
  "writers_replaced_total{why}":
    "Threads that write the stores and were started again, because they had ended by themselves or hung.",
  "unexpected_errors_total{kind}":
    "Unexpected errors, of this and of earlier processes; each is logged with its stack.",
  "callbacks_failed_total{event}":
    "Connections of callers and operators that were ended since a callback of the server threw an exception; each is a fault of the gateway.",
  "admin_refused_total{why}":
    "Refused requests to the admin API, by reason: a wrong token or none, a role without the right, another origin, a handshake without the right certificate, too many tries or long reads at once.",
  "calls_total{network,method,outcome}": "Calls answered.",
  "compute_units_total{network}": "Compute units that calls cost.",
  "key_guesses_total{refused}":
    "Unknown keys that callers sent, by how they were refused: at once, delayed, or turned away.",
  "tokens_refused_total{why}": "Refused tokens of the identity provider, by reason.",
  "calls_bounded_total{network,why}":
    "Calls refused to protect nodes, by reason: the call would ask nodes too often (work), or too many calls wait for nodes (waiting).",
  requests_turned_away_total:
    "Requests turned away unread, because too many requests of the caller had been refused.",
  "connections_ended_total{why}":
    "Connections of callers that were ended to make room, or not admitted, by reason.",
  "tls_handshakes_total{outcome}":
    "TLS handshakes with callers, by outcome: done, failed, slow, or turned away before they began.",
  "http2_ended_total{why}":
    "HTTP/2 sessions and streams that were ended, by reason: idle, too slow, or against the protocol.",
  "calls_saved_total{network,how}":
    "Calls for which no node was asked: answered from the store, with the answer to an equal call (merging), or by the gateway itself (here).",
  "http_requests_total{status}": "HTTP responses to callers.",
  "answers_cut_total{why}":
    "Answers that were cut off with their connection: the caller took them too slowly (slow), or their source was gone (broken).",
  "memory_refusals_total{what,why}":
    "Requests, calls, batches and nodes' answers that were refused because too many bytes waited in memory, for the caller's key (key) or for all (all).",
  websocket_messages_total: "Messages of callers over WebSocket; each is a call or a batch.",
  "websockets_closed_total{why}": "WebSockets of callers that the gateway closed, by reason.",
  http_request_bytes_total: "Bytes of request bodies.",
  http_response_bytes_total: "Bytes of answers.",
  "upstream_calls_total{network,upstream,outcome,purpose}": "Calls made to a node.",
  "upstream_response_bytes_total{network,upstream}": "Bytes received from a node.",
  "upstream_extra_attempts_total{network,why}":
    "Attempts at a further node for the same call, by reason: failed, cross-check or slow.",
  "upstream_dissents_total{network,upstream}":
    "Answers of a node that differed from the answer on which other vendors agreed.",
  "upstream_lies_total{network,upstream}":
    "Answers of a node that cannot be true, such as a wrong hash of a transaction.",
  "relayed_subscriptions_moved_total{network}":
    "Times that a subscription which a node makes moved on, since its node was lost.",
  "relayed_notifications_dropped_total{network}":
    "Notifications of nodes that were not pushed, since the caller had them already or had later ones.",
  "reorgs_total{network}":
    "Reorgs of the followed chain: times that some of its blocks were replaced.",
  "reorged_blocks_total{network}": "Blocks of the followed chain that reorgs replaced.",
  "blocks_proven_total{network,proof}":
    "Blocks taken into the store, by the extent of their proof.",
  "block_parts_unproven_total{network,part}":
    "Parts of blocks that could not be proven, because their encoding is not known.",
  "block_parts_odd_total{network,upstream,part}":
    "Parts of blocks that did not fit the rules, where nothing proven contradicts them: they are served without their proof.",
  "proof_failures_total{network,upstream,part}":
    "Blocks from a node that do not match their hash, by the part that does not.",
  "other_chains_refused_total{network,upstream}":
    "Attempts to follow an upstream whose chain does not contain the oldest stored block, while another upstream's does.",
  "blocks_too_large_total{network,upstream}":
    "Blocks that were not taken into the store, because they are larger than limits.block.",
  "filter_walks_of_nodes_total{network}":
    "Searches for the changes of filters and subscriptions in the nodes' chain, while the network passes calls through.",
  "filter_walks_failed_total{network,manner}":
    "Searches for the changes of filters that failed: a poll gets an error, a subscription is tried again until it is too far behind.",
  "traces_total{outcome}":
    "Traced calls, by outcome: the trace was sent to the collector, failed to arrive, or was dropped because too many waited.",
  "stores_set_aside_total{network}": "Damaged stores that were set aside and are built anew.",
  event_loop_blocked_seconds_total:
    "The time in which the event loop of the process stood still for a second or longer.",
} as const;

/** In seconds. */
const HISTOGRAMS = {
  "call_seconds{network}": "The time from a call's start to its answer.",
  http_request_seconds: "The time of an HTTP request.",
  "upstream_call_seconds{network,upstream}": "The time in which a node answered.",
} as const;

/** Over several processes, Prometheus sees the sum. */
const GAUGES = {
  "head_block{network}": "The followed chain's newest block.",
  "window_blocks{network}": "The number of newest blocks in the store.",
  "window_fill_blocks_per_second{network}":
    "The blocks a second by which the window is being filled.",
  "window_fill_seconds_left{network}": "The time until the window is full at this rate.",
  "store_bytes{network}": "The bytes of the store on disk.",
  "filters{network,kind}": "The filters of callers.",
} as const;

/** Over several processes, Prometheus sees the highest value. */
const MOST = {
  "head_age_seconds{network}": "The age of the followed chain's newest block.",
  "network_passing_through{network}":
    "1 while the chain cannot be followed and calls go to the nodes, for another reason than the disk.",
  "network_behind_blocks{network}":
    "The blocks by which the followed chain is behind a node whose head is a window or more ahead; 0 while there is none.",
  "head_stale{network}":
    "1 while the newest block of the followed chain is old, or no node confirms it; else 0.",
  networks_unidentified:
    "Configured networks that are not served, because their chain is not known yet.",
  state_texts_held:
    "Changes of the state that are only in memory until they can be written: revoked keys, drained nodes.",
} as const;

/** Over several processes, Prometheus sees the lowest value. */
const LEAST = {
  "store_writable{network}":
    "1 while the store can be written and the chain is followed, 0 while the disk refuses writes.",
  state_writable:
    "1 while the state on this machine's disk can be written, 0 while the disk refuses writes.",
  "tls_certificate_expires_timestamp_seconds{port}":
    "The time at which the certificate for callers, or for the admin port, expires.",
  "upstream_usable{network,upstream}": "1 while the node can be asked, 0 while it is kept out.",
  state_reachable: "1 while the shared state can be reached, 0 while it cannot.",
} as const;

/** The names of 0.1.0 of metrics that were renamed. The version after the next one leaves the old names out. */
const FORMER_NAMES: Readonly<Record<string, string>> = {
  headgate_reorgs_total: "headgate_reorganisations_total",
  headgate_reorged_blocks_total: "headgate_reorganised_blocks_total",
  headgate_upstream_extra_attempts_total: "headgate_upstream_asked_again_total",
  headgate_event_loop_blocked_seconds_total: "headgate_stood_still_seconds_total",
};

/** An exposition in which each renamed metric also has its former name, for dashboards and alerts of that version. */
export function withFormerNames(exposition: string): string {
  const metrics = exposition.split(/^(?=# HELP )/m);
  const renamed = metrics.flatMap((metric) => {
    const [, name = ""] = /^# HELP (\S+)/.exec(metric) ?? [];
    const former = FORMER_NAMES[name];
    return former === undefined ? [] : [`${metric.replaceAll(name, former).trimEnd()}\n\n`];
  });
  return renamed.join("") + exposition;
}

/** A metric as the registry describes it. */
export type DeclaredMetric = {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labelNames: readonly string[];
};

type Counter = keyof typeof COUNTERS;
type Declared = { readonly name: string; readonly help: string; readonly labelNames: string[] };

/** The counts of one network that each call raises, held because a look-up by labels would cost more than the rest. */
type CallCounts = {
  calls: number;
  upstreamCalls: number;
  readonly computeUnits: Count;
  readonly seconds: Times;
};

/** Makes a metric for each line of a table. */
const madeOf = <Key extends string, Metric>(
  table: Readonly<Record<Key, string>>,
  make: (declared: Declared) => Metric,
): Record<Key, Metric> =>
  Object.fromEntries(
    Object.entries<string>(table).map(([key, help]) => [key, make({ ...declaredIn(key), help })]),
  ) as Record<Key, Metric>;

/** The declaration of a counter or gauge, for other registries that have it too. */
export const declarationOf = (key: Counter | keyof typeof LEAST): Declared => ({
  ...declaredIn(key),
  help: { ...COUNTERS, ...LEAST }[key],
});

function declaredIn(key: string): Omit<Declared, "help"> {
  const [name = "", labels = ""] = key.replace("}", "").split("{");
  return { name: `headgate_${name}`, labelNames: labels.split(",").filter(Boolean) };
}

/** The evidence against a node, without the node and its kind. */
type CaughtAt = Pick<Evidence, "about" | "said" | "found">;

export class Metrics {
  readonly #registry = new Registry();
  readonly #counters = madeOf(COUNTERS, (declared) => new Tally(declared, this.#registry));
  readonly #histograms = madeOf(
    HISTOGRAMS,
    (declared) => new TimeTally({ ...declared, buckets: SECONDS }, this.#registry),
  );
  readonly #gauges = madeOf(GAUGES, (declared) => this.#gauge(declared));
  readonly #most = madeOf(MOST, (declared) => this.#gauge({ ...declared, aggregator: "max" }));
  readonly #least = madeOf(LEAST, (declared) => this.#gauge({ ...declared, aggregator: "min" }));
  #requestsInFlight = 0;
  readonly #requests = {
    seconds: this.#histograms.http_request_seconds.times(),
    bytesIn: this.#counters.http_request_bytes_total.count(),
    bytesOut: this.#counters.http_response_bytes_total.count(),
  };
  readonly #upstreamGauges = new UpstreamGauges({ registry: this.#registry });
  readonly #callsOf = new Map<string, CallCounts>();

  readonly #incidents: Incidents | undefined;

  /** @param incidents Keeps the evidence against nodes, and the reorgs. */
  constructor(incidents?: Incidents) {
    this.#incidents = incidents;
    // Over several processes, combined-metrics.ts computes this ratio.
    this.#watch(
      "upstream_calls_per_call{network}",
      "Calls made to nodes, those that follow the chain included, for each call answered.",
      () =>
        [...this.#callsOf]
          .filter(([, { calls }]) => calls > 0)
          .map(([network, { calls, upstreamCalls }]) => [network, upstreamCalls / calls]),
      "omit",
    );
    collectDefaultMetrics({ register: this.#registry });
    this.#watch("http_requests_in_flight", "HTTP requests being answered now.", () => [
      ["", this.#requestsInFlight],
    ]);
  }

  /** @param memory Is read whenever metrics are read. */
  watchMemory(
    memory: Pick<MemoryBudget, "waitingAs" | "waitingFor" | "keysOverShare" | "bytes">,
  ): void {
    this.#watch("memory_waiting_bytes{kind}", "Bytes that wait in memory, by kind.", () =>
      memoryKinds.map((kind) => [kind, memory.waitingAs(kind)]),
    );
    this.#watch(
      "memory_waiting_for_bytes{whom}",
      "The same bytes, by owner: keys, callers without a key (strangers), or the gateway.",
      () => Object.entries(memory.waitingFor),
    );
    const help =
      "Keys whose waiting bytes exceed their share, which is all that counts against other keys.";
    this.#watch("memory_keys_over_share", help, () => [["", memory.keysOverShare]]);
    this.#watch("memory_limit_bytes", "The most bytes that may wait in memory in all.", () => [
      ["", memory.bytes],
    ]);
  }

  /** @param why `slow`: the caller did not take the answer; `broken`: the answer's source no longer existed. */
  readonly answerCut = this.#counting<[why: "slow" | "broken"]>("answers_cut_total{why}");

  readonly memoryRefused = this.#counting<[what: MemoryRefusal, why: MemoryRefusalCause]>(
    "memory_refusals_total{what,why}",
  );

  stoodStill(seconds: number): void {
    this.#counters.event_loop_blocked_seconds_total.add(seconds);
  }

  requestStarted(): void {
    this.#requestsInFlight += 1;
  }

  requestEnded(record: {
    status: number;
    seconds: number;
    bytesIn: number;
    bytesOut: number;
  }): void {
    this.#requestsInFlight -= 1;
    const counts = this.#requests;
    this.#counters["http_requests_total{status}"].add(1, String(record.status));
    counts.seconds.add(record.seconds);
    counts.bytesIn.value += record.bytesIn;
    counts.bytesOut.value += record.bytesOut;
  }

  #lastEnded: EndedSeries | undefined;

  callEnded({ network, method, outcome, computeUnits, seconds }: CallRecord): void {
    const last = this.#lastEnded;
    const isAlike = last?.network === network && last.method === method && last.outcome === outcome;
    const series = isAlike ? last : this.#endedAs({ network, method, outcome });
    this.#lastEnded = series;
    series.count.value += 1;
    series.all.calls += 1;
    series.all.computeUnits.value += computeUnits;
    series.all.seconds.add(seconds);
  }

  /** The series that the end of a call raises. The members of a batch mostly raise the same series. */
  #endedAs({ network, method, outcome }: EndedBy): EndedSeries {
    const calls = this.#counters["calls_total{network,method,outcome}"];
    const count = calls.count(network, method, outcome);
    return { network, method, outcome, count, all: this.#countsOf(network) };
  }

  /** @param why `work`: the call would ask nodes too often; `waiting`: too many calls wait for nodes. */
  readonly callBounded = this.#counting<[network: string, why: "work" | "waiting"]>(
    "calls_bounded_total{network,why}",
  );

  traced(outcome: "sent" | "failed" | "dropped", calls: number): void {
    this.#counters["traces_total{outcome}"].add(calls, outcome);
  }

  readonly keyGuessed = this.#counting<[refused: "at once" | "delayed" | "turned away"]>(
    "key_guesses_total{refused}",
  );

  readonly callbackFailed = this.#counting<[event: string]>("callbacks_failed_total{event}");

  readonly adminRefused = this.#counting<[why: AdminRefusal]>("admin_refused_total{why}");

  readonly tokenRefused = this.#counting<[why: string]>("tokens_refused_total{why}");

  readonly tlsHandshake = this.#counting<[outcome: string]>("tls_handshakes_total{outcome}");

  readonly http2Ended = this.#counting<[why: string]>("http2_ended_total{why}");

  certificateExpires(port: "callers" | "admin", atMs: number): void {
    this.#least["tls_certificate_expires_timestamp_seconds{port}"].set({ port }, atMs / 1000);
  }

  networksUnidentified(count: number): void {
    this.#most.networks_unidentified.set(count);
  }

  readonly requestTurnedAway = this.#counting<[]>("requests_turned_away_total");

  /** @param why `made room`, `too many of this address` or `full`. */
  readonly connectionEnded = this.#counting<[why: string]>("connections_ended_total{why}");

  /** @param read Returns the number of connections; called whenever metrics are read. */
  connectionsCounted(read: () => Readonly<Record<"stranger" | "known", number>>): void {
    const help =
      "Open connections of callers: known if a valid key was seen on them, else stranger.";
    this.#watch("connections{of}", help, () => Object.entries(read()));
  }

  webSocketMessage(bytesIn: number): void {
    this.#counters.websocket_messages_total.add(1);
    this.#requests.bytesIn.value += bytesIn;
  }

  /** @param why Such as `idle`, `silent`, `restarting` or `revoked`. */
  readonly webSocketClosed = this.#counting<[why: string]>("websockets_closed_total{why}");

  /** @param read Returns the number of WebSockets and event streams; called whenever metrics are read. */
  webSocketsCounted(read: () => number): void {
    const help = "Open WebSockets and event streams of callers.";
    this.#watch("websockets", help, () => [["", read()]]);
  }

  /** @param how `store`, `merging` (with an equal call in flight), or `here` (the gateway computed the answer). */
  readonly callSaved = this.#counting<[network: string, how: string]>(
    "calls_saved_total{network,how}",
  );

  #lastAnswered: AnsweredSeries | undefined;

  upstreamAnswered(record: UpstreamRecord): void {
    const last = this.#lastAnswered;
    const isAlike =
      last?.upstream === record.upstream &&
      last.network === record.network &&
      last.kind === record.kind &&
      last.purpose === record.purpose;
    const series = isAlike ? last : this.#answeredOf(record);
    this.#lastAnswered = series;
    this.#countsOf(record.network).upstreamCalls += 1;
    series.calls.value += 1;
    series.bytes.value += record.bytes;
    series.times.add(record.seconds);
  }

  /** The series that an upstream's reply raises. The members of a batch mostly raise the same series. */
  #answeredOf({ network, upstream, kind, purpose }: AnsweredBy): AnsweredSeries {
    const counters = this.#counters;
    const calls = counters["upstream_calls_total{network,upstream,outcome,purpose}"];
    const bytes = counters["upstream_response_bytes_total{network,upstream}"];
    const times = this.#histograms["upstream_call_seconds{network,upstream}"];
    return {
      ...{ network, upstream, kind, purpose },
      calls: calls.count(network, upstream, kind, purpose),
      bytes: bytes.count(network, upstream),
      times: times.times(network, upstream),
    };
  }

  /** @param why Why another upstream was asked for the same call. */
  readonly upstreamAskedAgain = this.#counting<
    [network: string, why: "failed" | "cross-check" | "slow"]
  >("upstream_extra_attempts_total{network,why}");

  readonly relayMoved = this.#counting<[network: string]>(
    "relayed_subscriptions_moved_total{network}",
  );

  readonly relayRepeated = this.#counting<[network: string]>(
    "relayed_notifications_dropped_total{network}",
  );

  /** Counts an answer of the node that differs from the answer that other vendors agreed on. */
  upstreamDissented(network: string, upstream: string, evidence?: CaughtAt): void {
    this.#counters["upstream_dissents_total{network,upstream}"].add(1, network, upstream);
    this.#caught(network, { upstream, kind: "disagreement" }, evidence);
  }

  /** Counts an answer of the node that cannot be true. */
  upstreamLied(network: string, upstream: string, evidence?: CaughtAt): void {
    this.#counters["upstream_lies_total{network,upstream}"].add(1, network, upstream);
    this.#caught(network, { upstream, kind: "false answer" }, evidence);
  }

  #caught(
    network: string,
    who: Pick<Evidence, "upstream" | "kind">,
    evidence: CaughtAt | undefined,
  ): void {
    if (evidence) this.#incidents?.caught(network, { ...who, ...evidence });
  }

  /** @param read Returns the state of the network's nodes; called whenever metrics are read. */
  watchUpstreams(network: string, read: () => readonly UpstreamSnapshot[]): void {
    this.#upstreamGauges.watch(network, read);
  }

  upstreamUsable(network: string, upstream: string, usable: boolean): void {
    this.#least["upstream_usable{network,upstream}"].set({ network, upstream }, usable ? 1 : 0);
  }

  readonly stateReachable = (isReachable: boolean): void => {
    this.#least.state_reachable.set(isReachable ? 1 : 0);
  };

  readonly unexpected = (kind: UnexpectedKind, times = 1): void => {
    if (times > 0) this.#counters["unexpected_errors_total{kind}"].add(times, kind);
  };

  readonly stateWritable = (isWritable: boolean): void => {
    this.#least.state_writable.set(isWritable ? 1 : 0);
  };

  stateTextsHeld(count: number): void {
    this.#most.state_texts_held.set(count);
  }

  readonly writerReplaced = this.#counting<[why: "hung" | "ended"]>("writers_replaced_total{why}");

  readonly storeSetAside = this.#counting<[network: string]>("stores_set_aside_total{network}");

  storeWritable(network: string, isWritable: boolean): void {
    this.#least["store_writable{network}"].set({ network }, isWritable ? 1 : 0);
  }

  followed(network: string, now: { isPassingThrough: boolean; behindBlocks: number }): void {
    const passing = this.#most["network_passing_through{network}"];
    passing.set({ network }, now.isPassingThrough ? 1 : 0);
    this.#most["network_behind_blocks{network}"].set({ network }, now.behindBlocks);
  }

  /** Removes the gauges of a network that is no longer configured; its counters stay. */
  networkGone(network: string): void {
    for (const gauges of [this.#gauges, this.#most, this.#least])
      for (const gauge of Object.values(gauges)) forget(gauge, network);
    this.#upstreamGauges.forget(network);
    this.#callsOf.delete(network);
    this.#lastEnded = undefined; // its series counts into the dropped counts
    this.#incidents?.forget(network);
  }

  /** Removes the gauge of an upstream that is no longer configured. */
  upstreamGone(network: string, upstream: string): void {
    this.#least["upstream_usable{network,upstream}"].remove({ network, upstream });
  }

  headMoved(
    network: string,
    update: { number: number; removed: number; bytes: number; blocks: number },
    reorganisation?: Reorganisation,
  ): void {
    this.#gauges["head_block{network}"].set({ network }, update.number);
    this.#gauges["window_blocks{network}"].set({ network }, update.blocks);
    this.#gauges["store_bytes{network}"].set({ network }, update.bytes);
    if (update.removed === 0) return;
    if (reorganisation) this.#incidents?.reorganised(network, reorganisation);
    this.#counters["reorgs_total{network}"].add(1, network);
    this.#counters["reorged_blocks_total{network}"].add(update.removed, network);
  }

  headSeen(network: string, seen: { ageMs: number; isStale: boolean }): void {
    this.#most["head_age_seconds{network}"].set({ network }, Math.max(0, seen.ageMs / 1000));
    this.#most["head_stale{network}"].set({ network }, seen.isStale ? 1 : 0);
  }

  blockProven(network: string, proof: string, unproven: readonly string[]): void {
    this.#counters["blocks_proven_total{network,proof}"].add(1, network, proof);
    const parts = this.#counters["block_parts_unproven_total{network,part}"];
    for (const part of unproven) parts.add(1, network, part);
  }

  proofFailed(network: string, upstream: string, part: string, evidence?: CaughtAt): void {
    const failures = this.#counters["proof_failures_total{network,upstream,part}"];
    failures.add(1, network, upstream, part);
    this.#caught(network, { upstream, kind: "failed proof" }, evidence);
  }

  readonly blockPartOdd = this.#counting<[network: string, upstream: string, part: string]>(
    "block_parts_odd_total{network,upstream,part}",
  );

  readonly otherChainRefused = this.#counting<[network: string, upstream: string]>(
    "other_chains_refused_total{network,upstream}",
  );

  readonly blockTooLarge = this.#counting<[network: string, upstream: string]>(
    "blocks_too_large_total{network,upstream}",
  );

  windowFilled(
    network: string,
    fill: { blocks: number; blocksPerSecond: number; secondsLeft: number },
  ): void {
    this.#gauges["window_blocks{network}"].set({ network }, fill.blocks);
    this.#gauges["window_fill_blocks_per_second{network}"].set({ network }, fill.blocksPerSecond);
    this.#gauges["window_fill_seconds_left{network}"].set({ network }, fill.secondsLeft);
  }

  readonly filterWalkedNodes = this.#counting<[network: string]>(
    "filter_walks_of_nodes_total{network}",
  );
  readonly filterUnserved = this.#counting<[network: string, manner: string]>(
    "filter_walks_failed_total{network,manner}",
  );

  filtersCounted(network: string, kinds: Readonly<Record<string, number>>): void {
    for (const [kind, count] of Object.entries(kinds))
      this.#gauges["filters{network,kind}"].set({ network, kind }, count);
  }

  /** The metrics in Prometheus' text format. */
  async exposition(): Promise<string> {
    return withFormerNames(await this.#registry.metrics());
  }

  /** The metrics as values, to be combined with those of other processes. */
  values(): Promise<readonly object[]> {
    return this.#registry.getMetricsAsJSON();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The declarations of all metrics, including those without a value yet. */
  get declared(): readonly DeclaredMetric[] {
    return this.#registry.getMetricsAsArray() as unknown as readonly DeclaredMetric[];
  }

  /** A function that adds one to the counter, for the values of its labels in their order. */
  #counting<Values extends readonly string[]>(key: Counter): (...values: Values) => void {
    const counter = this.#counters[key];
    return (...values) => counter.add(1, ...values);
  }

  #countsOf(network: string): CallCounts {
    const known = this.#callsOf.get(network);
    if (known) return known;
    const counts = {
      ...{ calls: 0, upstreamCalls: 0 },
      computeUnits: this.#counters["compute_units_total{network}"].count(network),
      seconds: this.#histograms["call_seconds{network}"].times(network),
    };
    this.#callsOf.set(network, counts);
    return counts;
  }

  /** Makes a gauge whose values, by its label if it has one, are read whenever metrics are read. */
  #watch(
    key: string,
    help: string,
    read: () => readonly (readonly [labelValue: string, value: number])[],
    aggregator: "sum" | "omit" = "sum",
  ): void {
    const { name, labelNames } = declaredIn(key);
    const [label] = labelNames;
    new Gauge({
      ...{ name, help, aggregator, labelNames, registers: [this.#registry] },
      collect() {
        for (const [labelValue, value] of read())
          this.set(label === undefined ? {} : { [label]: labelValue }, value);
      },
    });
  }

  #gauge(declared: Declared & { readonly aggregator?: "max" | "min" }): Gauge {
    return new Gauge({ ...declared, registers: [this.#registry] });
  }
}

/** Removes the gauge's values for the network. */
function forget(gauge: Gauge, network: string): void {
  void gauge.get().then(({ values }) => {
    for (const { labels } of values) if (labels["network"] === network) gauge.remove(labels);
  });
}

/** The count for one combination of label values; code that raises it often holds it. */
export type Count = { value: number };

/** Pairs the names of labels with their values, which are in the same order. */
const labelsOf = (names: readonly string[], values: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name, at) => [name, values[at] ?? ""]));

/** Entries by their label values. Nested maps: joining the values to one key would make a string for each look-up. */
class ByLabels<Kept> {
  readonly all: Kept[] = [];
  readonly #byValue = new Map<string, unknown>();

  get(values: readonly string[]): Kept | undefined {
    let at: unknown = this.#byValue;
    for (const value of values.length > 0 ? values : NO_LABELS)
      at = (at as Map<string, unknown> | undefined)?.get(value);
    return at as Kept | undefined;
  }

  add(values: readonly string[], kept: Kept): Kept {
    let at = this.#byValue;
    for (const value of values.slice(0, -1)) {
      if (!at.has(value)) at.set(value, new Map());
      at = at.get(value) as Map<string, unknown>;
    }
    at.set(values.at(-1) ?? "", kept);
    this.all.push(kept);
    return kept;
  }
}

const NO_LABELS = [""];

/** A counter that is cheap to raise: a number per combination of label values, which prom-client reads on demand. */
export class Tally {
  readonly #counts = new ByLabels<Count & { readonly labels: Record<string, string> }>();
  readonly #labelNames: readonly string[];

  constructor(declared: Declared, registry: Registry) {
    this.#labelNames = declared.labelNames;
    const counts = this.#counts;
    new CounterOfPrometheus({
      ...declared,
      registers: [registry],
      collect() {
        this.reset();
        for (const { labels, value } of counts.all) this.inc(labels, value);
      },
    });
  }

  /** @param values The values of the labels, in their order. */
  add(by: number, ...values: readonly string[]): void {
    (this.#counts.get(values) ?? this.#made(values)).value += by;
  }

  /** The count for these label values, which is created if needed, and then reported even as 0. */
  count(...values: readonly string[]): Count {
    return this.#counts.get(values) ?? this.#made(values);
  }

  #made(values: readonly string[]): Count {
    return this.#counts.add(values, { labels: labelsOf(this.#labelNames, values), value: 0 });
  }
}

/** The histogram of one combination of label values. */
class Times {
  readonly labels: Readonly<Record<string, string>>;
  /** The number of times in each bucket, and above the last bound. */
  readonly counts: number[];
  sum = 0;
  readonly #buckets: readonly number[];

  constructor(labels: Readonly<Record<string, string>>, buckets: readonly number[]) {
    this.labels = labels;
    this.counts = [...buckets, 0].map(() => 0);
    this.#buckets = buckets;
  }

  add(seconds: number): void {
    const buckets = this.#buckets;
    let bucket = 0;
    while (bucket < buckets.length && seconds > (buckets[bucket] as number)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] as number) + 1;
    this.sum += seconds;
  }
}

/** A histogram that is cheap to raise: prom-client's own makes a string of the labels for each observed time. */
export class TimeTally {
  readonly type = "histogram";
  readonly aggregator = "sum";
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly #buckets: readonly number[];
  readonly #series = new ByLabels<Times>();

  /** @param declared.buckets Upper bounds in seconds, ascending. */
  constructor(declared: Declared & { readonly buckets: readonly number[] }, registry: Registry) {
    this.name = declared.name;
    this.help = declared.help;
    this.labelNames = declared.labelNames;
    this.#buckets = declared.buckets;
    if (declared.labelNames.length === 0) this.times();
    registry.registerMetric(this as unknown as Metric);
  }

  /** The times for these label values, which are created if needed, and then reported even without observations. */
  times(...values: readonly string[]): Times {
    const known = this.#series.get(values);
    if (known) return known;
    return this.#series.add(values, new Times(labelsOf(this.labelNames, values), this.#buckets));
  }

  /** The values in the form of prom-client's histograms. */
  get(): Promise<object> {
    const { name, help, type, aggregator } = this;
    const values = this.#series.all.flatMap((series) => this.#valuesOf(series));
    return Promise.resolve({ name, help, type, aggregator, values });
  }

  #valuesOf({ labels, counts, sum }: Times): object[] {
    let count = 0;
    const buckets = counts.map((those, index) => {
      count += those;
      const le = this.#buckets[index] ?? "+Inf";
      return { metricName: `${this.name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }
}
