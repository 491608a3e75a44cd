// What the gateway counts, for Prometheus. Labels are bounded: names from the configuration and the
// catalogue, never anything that a caller invents.
import { collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { Tally } from "./tally.ts";

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
  seconds: number;
  bytes: number;
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
  readonly #callSeconds = this.#histogram("call_seconds", "From a call's start to its answer.", [
    "network",
  ]);
  readonly #requests = this.#counter("http_requests_total", "HTTP responses at the door.", [
    "status",
  ]);
  readonly #requestSeconds = this.#histogram("http_request_seconds", "An HTTP request's time.", []);
  readonly #bytesIn = this.#counter("http_request_bytes_total", "Bytes of request bodies.", []);
  readonly #bytesOut = this.#counter("http_response_bytes_total", "Bytes of answers.", []);
  #requestsInFlight = 0;
  readonly #upstreamCalls = this.#counter("upstream_calls_total", "Calls made to a node.", [
    "network",
    "upstream",
    "outcome",
  ]);
  readonly #upstreamSeconds = this.#histogram("upstream_call_seconds", "A node's answering time.", [
    "network",
    "upstream",
  ]);
  readonly #upstreamBytes = this.#counter("upstream_response_bytes_total", "Bytes from a node.", [
    "network",
    "upstream",
  ]);
  readonly #upstreamUsable = new Gauge({
    name: "headgate_upstream_usable",
    help: "1 while the node is asked, 0 while it is kept out.",
    labelNames: ["network", "upstream"],
    registers: [this.#registry],
  });

  constructor() {
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
    this.#computeUnits.add(network, { network }, computeUnits);
    this.#callSeconds.observe({ network }, seconds);
  }

  upstreamAnswered({ network, upstream, kind, seconds, bytes }: UpstreamRecord): void {
    this.#upstreamCalls.add(`${network} ${upstream} ${kind}`, { network, upstream, outcome: kind });
    this.#upstreamSeconds.observe({ network, upstream }, seconds);
    this.#upstreamBytes.add(`${network} ${upstream}`, { network, upstream }, bytes);
  }

  upstreamUsable(network: string, upstream: string, usable: boolean): void {
    this.#upstreamUsable.set({ network, upstream }, usable ? 1 : 0);
  }

  /** The Prometheus text format. */
  exposition(): Promise<string> {
    return this.#registry.metrics();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  #counter<Label extends string>(name: string, help: string, labelNames: Label[]): Tally<Label> {
    return new Tally({ name: `headgate_${name}`, help, labelNames }, this.#registry);
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
