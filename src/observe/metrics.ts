// What the gateway counts, for Prometheus. Labels are bounded: names from the configuration and the
// catalogue, never anything that a caller invents.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import {
  type MemoryBudget,
  type MemoryRefusal,
  type MemoryRefusalCause,
  memoryKinds,
} from "../lib/memory-budget.ts";
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

/** What became of an error that nobody expected. */
export type UnexpectedKind = "rejection" | "exception";

export const UNEXPECTED_ERRORS = {
  name: "headgate_unexpected_errors_total",
  help: "Errors that nobody expected, of this and of earlier processes: each is logged with its stack.",
  labelNames: ["kind" as const],
};

const SECONDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

export class Metrics {
  readonly #registry = new Registry();
  readonly #calls = this.#counter("calls_total", "Calls answered.", [
    "network",
    "method",
    "outcome",
  ]);
  readonly #computeUnits = this.#counter("compute_units_total", "What the calls cost.", [
    "network",
  ]);
  readonly #keyGuesses = this.#counter(
    "key_guesses_total",
    "Unknown keys that callers sent, and whether their refusal was delayed.",
    ["refused"],
  );
  readonly #callsBounded = this.#counter(
    "calls_bounded_total",
    "Calls refused for what they would ask of nodes, and why.",
    ["network", "why"],
  );
  readonly #turnedAway = this.#counter(
    "requests_turned_away_total",
    "Requests of callers that had too many refused, turned away before they were read.",
    [],
  );
  readonly #connectionsEnded = this.#counter(
    "connections_ended_total",
    "Connections of callers that were ended to make room, or not let in, and why.",
    ["why"],
  );
  readonly #callsSaved = this.#counter(
    "calls_saved_total",
    "Calls answered without a call of a node for them, and why none was needed.",
    ["network", "how"],
  );
  readonly #callSeconds = this.#histogram("call_seconds", "From a call's start to its answer.", [
    "network",
  ]);
  readonly #requests = this.#counter("http_requests_total", "HTTP responses to callers.", [
    "status",
  ]);
  readonly #requestSeconds = this.#histogram("http_request_seconds", "An HTTP request's time.", []);
  readonly #answersCut = this.#counter(
    "answers_cut_total",
    "Answers that ended with their connection: taken too slowly, or broken off.",
    ["why"],
  );
  readonly #memoryRefusals = this.#counter(
    "memory_refusals_total",
    "What was turned away while too much waited in memory, for its key or for all.",
    ["what", "why"],
  );
  readonly #bytesIn = this.#counter("http_request_bytes_total", "Bytes of request bodies.", []);
  readonly #bytesOut = this.#counter("http_response_bytes_total", "Bytes of answers.", []);
  #requestsInFlight = 0;
  readonly #upstreamCalls = this.#counter("upstream_calls_total", "Calls made to a node.", [
    "network",
    "upstream",
    "outcome",
    "purpose",
  ]);
  readonly #upstreamSeconds = this.#histogram("upstream_call_seconds", "A node's answering time.", [
    "network",
    "upstream",
  ]);
  readonly #upstreamBytes = this.#counter("upstream_response_bytes_total", "Bytes from a node.", [
    "network",
    "upstream",
  ]);
  readonly #askedAgain = this.#counter(
    "upstream_asked_again_total",
    "Times that a further node was asked for a call, and why.",
    ["network", "why"],
  );
  readonly #dissents = this.#counter(
    "upstream_dissents_total",
    "Answers that differed from what other vendors agreed on.",
    ["network", "upstream"],
  );
  readonly #lies = this.#counter(
    "upstream_lies_total",
    "Answers that cannot be true, such as another hash for a transaction than it has.",
    ["network", "upstream"],
  );
  readonly #headNumber = this.#gauge("head_block", "The followed chain's newest block.", [
    "network",
  ]);
  readonly #headAge = this.#most(
    "head_age_seconds",
    "How old the followed chain's newest block is.",
  );
  readonly #headStale = this.#most(
    "head_stale",
    "1 while the newest block of the followed chain is old, or no node confirms it; else 0.",
  );
  readonly #reorganisations = this.#counter(
    "reorganisations_total",
    "Times that blocks of the followed chain were replaced.",
    ["network"],
  );
  readonly #blocksRemoved = this.#counter(
    "reorganised_blocks_total",
    "Blocks of the followed chain that were replaced.",
    ["network"],
  );
  readonly #blocksProven = this.#counter(
    "blocks_proven_total",
    "Blocks taken into the store, by how far they were proven.",
    ["network", "proof"],
  );
  readonly #partsUnproven = this.#counter(
    "block_parts_unproven_total",
    "What could not be proven of blocks, since its encoding is not known.",
    ["network", "part"],
  );
  readonly #proofsFailed = this.#counter(
    "proof_failures_total",
    "Blocks that a node gave otherwise than their hash says.",
    ["network", "upstream", "part"],
  );
  readonly #blocksTooLarge = this.#counter(
    "blocks_too_large_total",
    "Blocks that were not taken in since they are larger than limits.block.",
    ["network", "upstream"],
  );
  readonly #windowBlocks = this.#gauge("window_blocks", "Newest blocks in the store.", ["network"]);
  readonly #fillRate = this.#gauge(
    "window_fill_blocks_per_second",
    "How fast the window is being filled.",
    ["network"],
  );
  readonly #fillSecondsLeft = this.#gauge(
    "window_fill_seconds_left",
    "How long filling the window will take at this rate.",
    ["network"],
  );
  readonly #storeBytes = this.#gauge("store_bytes", "What the store takes on disk.", ["network"]);
  readonly #unexpected = new Tally(UNEXPECTED_ERRORS, this.#registry);
  readonly #storesSetAside = this.#counter(
    "stores_set_aside_total",
    "Stores that were damaged, and are built anew.",
    ["network"],
  );
  readonly #storeWritable = new Gauge({
    name: "headgate_store_writable",
    help: "1 while the store can be written and the chain is followed, 0 while the disk does not take it.",
    labelNames: ["network"],
    aggregator: "min",
    registers: [this.#registry],
  });
  readonly #stateWritable = new Gauge({
    name: "headgate_state_writable",
    help: "1 while the state on this machine's disk can be written, 0 while the disk does not take it.",
    aggregator: "min",
    registers: [this.#registry],
  });
  readonly #filters = this.#gauge("filters", "Filters that callers have.", ["network", "kind"]);
  readonly #upstreamUsable = new Gauge({
    name: "headgate_upstream_usable",
    help: "1 while the node is asked, 0 while it is kept out.",
    labelNames: ["network", "upstream"],
    aggregator: "min",
    registers: [this.#registry],
  });

  readonly #stoodStill = this.#counter(
    "stood_still_seconds_total",
    "Time in which the process did nothing but one thing, for a second or longer.",
    [],
  );

  readonly #stateReachable = new Gauge({
    name: "headgate_state_reachable",
    help: "1 while the shared state can be reached, 0 while it is away.",
    aggregator: "min",
    registers: [this.#registry],
  });

  readonly #upstreamGauges = new UpstreamGauges({ registry: this.#registry });
  readonly #callsOf = new Map<string, { calls: number; upstreamCalls: number }>();

  constructor() {
    const callsOf = this.#callsOf;
    new Gauge({
      name: "headgate_upstream_calls_per_call",
      help: "Calls made to nodes, following the chain included, for each call answered.",
      labelNames: ["network"],
      aggregator: "omit", // of several processes it is computed anew
      registers: [this.#registry],
      collect() {
        for (const [network, { calls, upstreamCalls }] of callsOf)
          if (calls > 0) this.set({ network }, upstreamCalls / calls);
      },
    });
    collectDefaultMetrics({ register: this.#registry });
    const requestsInFlight = (): number => this.#requestsInFlight;
    new Gauge({
      name: "headgate_http_requests_in_flight",
      help: "HTTP requests being answered now.",
      registers: [this.#registry],
      collect() {
        this.set(requestsInFlight());
      },
    });
  }

  /** @param memory Read whenever somebody looks. */
  watchMemory(
    memory: Pick<MemoryBudget, "waitingAs" | "waitingFor" | "keysOverShare" | "bytes">,
  ): void {
    new Gauge({
      name: "headgate_memory_waiting_bytes",
      help: "Bytes that wait in memory, by what they are.",
      labelNames: ["kind"],
      registers: [this.#registry],
      collect() {
        for (const kind of memoryKinds) this.set({ kind }, memory.waitingAs(kind));
      },
    });
    new Gauge({
      name: "headgate_memory_waiting_for_bytes",
      help: "The same bytes, by whom they wait for.",
      labelNames: ["whom"],
      registers: [this.#registry],
      collect() {
        for (const [whom, bytes] of Object.entries(memory.waitingFor)) this.set({ whom }, bytes);
      },
    });
    new Gauge({
      name: "headgate_memory_keys_over_share",
      help: "Keys for which more waits than counts against others.",
      registers: [this.#registry],
      collect() {
        this.set(memory.keysOverShare);
      },
    });
    new Gauge({
      name: "headgate_memory_limit_bytes",
      help: "What may wait in memory in all.",
      registers: [this.#registry],
      collect() {
        this.set(memory.bytes);
      },
    });
  }

  /** @param why `slow`: its caller did not take it; `broken`: what it was made from was gone. */
  answerCut(why: "slow" | "broken"): void {
    this.#answersCut.add(why, { why });
  }

  memoryRefused(what: MemoryRefusal, why: MemoryRefusalCause): void {
    this.#memoryRefusals.add(what + why, { what, why });
  }

  stoodStill(seconds: number): void {
    this.#stoodStill.add("", {}, seconds);
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
    this.#requests.add(String(record.status), { status: record.status });
    this.#requestSeconds.observe(record.seconds);
    this.#bytesIn.add("", {}, record.bytesIn);
    this.#bytesOut.add("", {}, record.bytesOut);
  }

  callEnded({ network, method, outcome, computeUnits, seconds }: CallRecord): void {
    this.#calls.add(`${network} ${method} ${outcome}`, { network, method, outcome });
    this.#countsOf(network).calls += 1;
    this.#computeUnits.add(network, { network }, computeUnits);
    this.#callSeconds.observe({ network }, seconds);
  }

  /** @param why `work`: it would ask nodes too often; `waiting`: too many calls wait for them. */
  callBounded(network: string, why: "work" | "waiting"): void {
    this.#callsBounded.add(`${network} ${why}`, { network, why });
  }

  keyGuessed(refused: "at once" | "delayed" | "turned away"): void {
    this.#keyGuesses.add(refused, { refused });
  }

  requestTurnedAway(): void {
    this.#turnedAway.add("", {});
  }

  /** @param why `made room`, `too many of this address` or `full`. */
  connectionEnded(why: string): void {
    this.#connectionsEnded.add(why, { why });
  }

  /** @param read How many there are now, by who they are of, whenever somebody wants to know. */
  connectionsCounted(read: () => Readonly<Record<"stranger" | "known", number>>): void {
    new Gauge({
      name: "headgate_connections",
      help: "Open connections of callers: known once a valid key was seen on them.",
      labelNames: ["of"],
      registers: [this.#registry],
      collect() {
        for (const [of, count] of Object.entries(read())) this.set({ of }, count);
      },
    });
  }

  /** @param how `store`, `merging` with an equal call, or `here`: computed by the gateway. */
  callSaved(network: string, how: string): void {
    this.#callsSaved.add(`${network} ${how}`, { network, how });
  }

  upstreamAnswered(record: UpstreamRecord): void {
    const { network, upstream, kind, purpose, seconds, bytes } = record;
    const labels = { network, upstream, outcome: kind, purpose };
    this.#countsOf(network).upstreamCalls += 1;
    this.#upstreamCalls.add(`${network} ${upstream} ${kind} ${purpose}`, labels);
    this.#upstreamSeconds.observe({ network, upstream }, seconds);
    this.#upstreamBytes.add(`${network} ${upstream}`, { network, upstream }, bytes);
  }

  /** @param why What made another node be asked for the same call. */
  upstreamAskedAgain(network: string, why: "failed" | "doubted" | "slow"): void {
    this.#askedAgain.add(`${network} ${why}`, { network, why });
  }

  /** Several were asked, and this one said something else than they agreed on. */
  upstreamDissented(network: string, upstream: string): void {
    this.#dissents.add(`${network} ${upstream}`, { network, upstream });
  }

  /** It said what cannot be true. */
  upstreamLied(network: string, upstream: string): void {
    this.#lies.add(`${network} ${upstream}`, { network, upstream });
  }

  /** @param read How the nodes of the network do, whenever somebody wants to know. */
  watchUpstreams(network: string, read: () => readonly UpstreamSnapshot[]): void {
    this.#upstreamGauges.watch(network, read);
  }

  upstreamUsable(network: string, upstream: string, usable: boolean): void {
    this.#upstreamUsable.set({ network, upstream }, usable ? 1 : 0);
  }

  readonly stateReachable = (isReachable: boolean): void => {
    this.#stateReachable.set(isReachable ? 1 : 0);
  };

  readonly unexpected = (kind: UnexpectedKind, times = 1): void => {
    if (times > 0) this.#unexpected.add(kind, { kind }, times);
  };

  readonly stateWritable = (isWritable: boolean): void => {
    this.#stateWritable.set(isWritable ? 1 : 0);
  };

  storeSetAside(network: string): void {
    this.#storesSetAside.add(network, { network });
  }

  storeWritable(network: string, isWritable: boolean): void {
    this.#storeWritable.set({ network }, isWritable ? 1 : 0);
  }

  /** It is no longer configured: what was counted stays, what is measured does not. */
  networkGone(network: string): void {
    for (const gauge of [
      ...[this.#headNumber, this.#windowBlocks, this.#storeBytes, this.#filters],
      this.#storeWritable,
      ...[this.#headAge, this.#headStale],
      ...[this.#fillRate, this.#fillSecondsLeft, this.#upstreamUsable],
    ])
      forget(gauge, network);
    this.#upstreamGauges.forget(network);
    this.#callsOf.delete(network);
  }

  /** It is no longer configured. */
  upstreamGone(network: string, upstream: string): void {
    this.#upstreamUsable.remove({ network, upstream });
  }

  headMoved(
    network: string,
    move: { number: number; removed: number; bytes: number; blocks: number },
  ): void {
    this.#headNumber.set({ network }, move.number);
    this.#windowBlocks.set({ network }, move.blocks);
    this.#storeBytes.set({ network }, move.bytes);
    if (move.removed === 0) return;
    this.#reorganisations.add(network, { network });
    this.#blocksRemoved.add(network, { network }, move.removed);
  }

  headSeen(network: string, seen: { ageMs: number; isStale: boolean }): void {
    this.#headAge.set({ network }, Math.max(0, seen.ageMs / 1000));
    this.#headStale.set({ network }, seen.isStale ? 1 : 0);
  }

  blockProven(network: string, proof: string, unproven: readonly string[]): void {
    this.#blocksProven.add(`${network} ${proof}`, { network, proof });
    for (const part of unproven) this.#partsUnproven.add(`${network} ${part}`, { network, part });
  }

  proofFailed(network: string, upstream: string, part: string): void {
    this.#proofsFailed.add(`${network} ${upstream} ${part}`, { network, upstream, part });
  }

  blockTooLarge(network: string, upstream: string): void {
    this.#blocksTooLarge.add(`${network} ${upstream}`, { network, upstream });
  }

  windowFilled(
    network: string,
    fill: { blocks: number; blocksPerSecond: number; secondsLeft: number },
  ): void {
    this.#windowBlocks.set({ network }, fill.blocks);
    this.#fillRate.set({ network }, fill.blocksPerSecond);
    this.#fillSecondsLeft.set({ network }, fill.secondsLeft);
  }

  filtersCounted(network: string, kinds: Readonly<Record<string, number>>): void {
    for (const [kind, count] of Object.entries(kinds)) this.#filters.set({ network, kind }, count);
  }

  /** The Prometheus text format. */
  exposition(): Promise<string> {
    return this.#registry.metrics();
  }

  /** The same as values, for whoever adds up those of several processes. */
  values(): Promise<readonly object[]> {
    return this.#registry.getMetricsAsJSON();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  #countsOf(network: string): { calls: number; upstreamCalls: number } {
    const known = this.#callsOf.get(network);
    if (known) return known;
    const counts = { calls: 0, upstreamCalls: 0 };
    this.#callsOf.set(network, counts);
    return counts;
  }

  #counter<Label extends string>(name: string, help: string, labelNames: Label[]): Tally<Label> {
    return new Tally({ name: `headgate_${name}`, help, labelNames }, this.#registry);
  }

  #gauge(name: string, help: string, labelNames: string[]): Gauge {
    return new Gauge({
      name: `headgate_${name}`,
      help,
      labelNames,
      registers: [this.#registry],
    });
  }

  /** Of several processes, what the worst says. */
  #most(name: string, help: string): Gauge {
    const registers = [this.#registry];
    const labelNames = ["network"];
    return new Gauge({ name: `headgate_${name}`, help, labelNames, aggregator: "max", registers });
  }

  #histogram(name: string, help: string, labelNames: string[]): Histogram {
    return new Histogram({
      name: `headgate_${name}`,
      help,
      labelNames,
      buckets: SECONDS,
      registers: [this.#registry],
    });
  }
}

/** Whatever other labels there are. */
function forget(gauge: Gauge, network: string): void {
  void gauge.get().then(({ values }) => {
    for (const { labels } of values) if (labels["network"] === network) gauge.remove(labels);
  });
}

/** Counts that are cheap to raise, and reach Prometheus only when it looks. */
/** One number for each combination of label values. */
export class Tally<Label extends string> {
  readonly #values = new Map<string, { labels: Record<Label, string | number>; value: number }>();

  constructor(options: { name: string; help: string; labelNames: Label[] }, registry: Registry) {
    const values = this.#values;
    new Counter({
      ...options,
      registers: [registry],
      collect() {
        this.reset();
        for (const { labels, value } of values.values()) this.inc(labels, value);
      },
    });
  }

  /** @param key Tells the combination: one key for the same labels. */
  add(key: string, labels: Record<Label, string | number>, by = 1): void {
    const entry = this.#values.get(key);
    if (entry) entry.value += by;
    else this.#values.set(key, { labels, value: by });
  }
}
