// What operators look at as it happens: once a second how the networks and their upstreams do, with the calls of
// the last ten seconds. It is made once for all who look, and while nobody looks nothing is done.
import { streamSSE } from "hono/streaming";
import { isoText } from "../lib/calendar.ts";
import type { Clock } from "../lib/clock.ts";
import {
  CountedMetrics,
  type NetworkCounts,
  perSecond,
  ratesBetween,
  type UpstreamCounts,
} from "../observe/call-rates.ts";
import { combinedIncidents, type NetworkIncidents } from "../observe/incidents.ts";
import { type AdminApp, type AdminServerParts, requestOf, shownCall } from "./admin-parts.ts";
import { type AdminRequest, covers, type Operator } from "./admission.ts";
import { Problem, problems } from "./problem.ts";
import { operationRoutes, ROLE } from "./routes.ts";
import type { LiveStatus, Status } from "./schemas.ts";

export type LiveFeedParts = Pick<
  AdminServerParts,
  "networks" | "metrics" | "calls" | "incidents"
> & {
  readonly clock: Pick<Clock, "now" | "wallTime" | "sleep">;
};

type Sample = { readonly atMs: number; readonly counts: ReadonlyMap<string, NetworkCounts> };
type Listener = (json: string | undefined) => void;

const EVERY_MS = 1_000;
/** Rates are of so long, in milliseconds. */
const RATES_OF_MS = 10_000;
/** Of the slow and failed calls that came since the last look. */
const MOST_CALLS = 20;

export class LiveFeed {
  readonly #listeners = new Set<Listener>();
  #samples: Sample[] = [];
  /** The newest of the tail that was told. */
  #lastCall: string | undefined;
  /** What was told last: who begins to look sees it at once. */
  #last: string | undefined;
  /** One after the other, as long as somebody looks. */
  #looks: AbortController | undefined;
  readonly #parts: LiveFeedParts;

  constructor(parts: LiveFeedParts) {
    this.#parts = parts;
  }

  get watching(): number {
    return this.#listeners.size;
  }

  /** @param listener Called with a LiveStatus as JSON; undefined: it could not be made. @returns Ends it. */
  watch(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#last !== undefined) listener(this.#last);
    if (!this.#looks) {
      this.#looks = new AbortController();
      void this.#look(this.#looks.signal);
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#looks?.abort();
      this.#looks = undefined;
      this.#samples = [];
      this.#last = undefined;
    };
  }

  async #look(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const told = await this.#made().catch(() => undefined);
      if (signal.aborted) return;
      this.#last = told;
      for (const listener of [...this.#listeners]) listener(told);
      await this.#parts.clock.sleep(EVERY_MS, signal).catch(() => undefined);
    }
  }

  async #made(): Promise<string> {
    const { networks, metrics, calls, incidents, clock } = this.#parts;
    const asked = [networks(), metrics.values(), calls(), incidents()] as const;
    const [all, values, tail, happened] = await Promise.all(asked);
    const incidentsByNetwork = combinedIncidents(happened);
    const counted = new CountedMetrics(values);
    const atMs = clock.now();
    const counts = new Map(all.map(({ network }) => [network, counted.countsOf(network)]));
    this.#samples = this.#samples.filter((past) => atMs - past.atMs <= RATES_OF_MS);
    const sample = { atMs, counts };
    this.#samples.push(sample);
    const [since = sample] = this.#samples;
    const status: LiveStatus = {
      at: isoText(clock.wallTime()),
      networks: all.map((each) => ({
        ...liveNetwork(each, counted, { since, now: sample }),
        ...shownIncidents(incidentsByNetwork.get(each.network)),
      })),
      calls: this.#newOf(tail).map(shownCall),
    };
    return JSON.stringify(status);
  }

  /** The newest first. */
  #newOf(tail: Awaited<ReturnType<LiveFeedParts["calls"]>>): typeof tail {
    const nameOf = ({ at, request, id }: (typeof tail)[number]): string => `${at} ${request} ${id}`;
    const told = tail.findIndex((call) => nameOf(call) === this.#lastCall);
    const [newest] = tail;
    this.#lastCall = newest && nameOf(newest);
    return tail.slice(0, told < 0 ? MOST_CALLS : Math.min(told, MOST_CALLS));
  }
}

/** Streams that are open at once. */
const MOST_WATCHING = 50;

/** @param options.admit Asked before each event: who loses its token, or ends its session, is told nothing more. */
export function addLiveAnswer(
  app: AdminApp,
  options: { readonly admit: (request: AdminRequest) => Operator | Problem },
  parts: LiveFeedParts,
): void {
  const feed = new LiveFeed(parts);
  app.openapi(operationRoutes.events, (context) => {
    // Nobody would take a stream behind it, nor end one.
    if (context.req.method === "HEAD")
      return context.body(null, 200, { "Content-Type": "text/event-stream" });
    if (feed.watching >= MOST_WATCHING) throw problems.tooManyWatching(MOST_WATCHING);
    const request = requestOf(context);
    const maySee = (): boolean => {
      const operator = options.admit(request);
      return !(operator instanceof Problem) && covers(operator.role, operationRoutes.events[ROLE]);
    };
    // It ended while something was written to it: that is no fault.
    const ignore = async (): Promise<void> => undefined;
    return streamSSE(
      context,
      async (stream) => {
        const events = newestOf(feed, context.req.raw.signal);
        stream.onAbort(events.end);
        for await (const json of events.each()) {
          if (stream.aborted || !maySee()) break;
          await stream.writeSSE(
            json === undefined ? { event: "unknown", data: "{}" } : { event: "status", data: json },
          );
        }
        events.end();
      },
      ignore,
    );
  });
}

/** One event after the other as they are taken: what comes meanwhile takes the place of what came before. */
function newestOf(feed: Pick<LiveFeed, "watch">, signal: AbortSignal) {
  let newest: { readonly json: string | undefined } | undefined;
  let hasEnded = signal.aborted;
  let wake: () => void = () => undefined;
  const unwatch = feed.watch((json) => {
    newest = { json };
    wake();
  });
  const end = (): void => {
    hasEnded = true;
    unwatch();
    wake();
  };
  signal.addEventListener("abort", end);
  async function* each(): AsyncGenerator<string | undefined> {
    while (!hasEnded) {
      const told = newest;
      newest = undefined;
      if (told) yield told.json;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }
  return { each, end };
}

type ShownNetwork = Status["networks"][number];

function liveNetwork(
  { upstreams, ...network }: ShownNetwork,
  counted: CountedMetrics,
  { since, now: sample }: { readonly since: Sample; readonly now: Sample },
): Omit<LiveStatus["networks"][number], keyof ReturnType<typeof shownIncidents>> {
  const { network: name } = network;
  const now = sample.counts.get(name) as NetworkCounts;
  const then = since.counts.get(name) ?? now;
  const seconds = (sample.atMs - since.atMs) / 1000;
  return {
    ...network,
    headAgeSeconds: counted.gauge("headgate_head_age_seconds", name),
    isStale: counted.gauge("headgate_head_stale", name) === 1,
    reorganisations: counted.gauge("headgate_reorganisations_total", name) ?? 0,
    perSecond: ratesBetween(then, now, seconds),
    upstreams: upstreams.map((upstream) => {
      const counts = now.upstreams.get(upstream.upstream) ?? NOTHING;
      const { calls, failed, ...caught } = counts;
      const earlier = then.upstreams.get(upstream.upstream) ?? counts;
      return {
        ...upstream,
        callsPerSecond: perSecond(earlier.calls, calls, seconds),
        failedPerSecond: perSecond(earlier.failed, failed, seconds),
        caught,
      };
    }),
  };
}

/** Lists that are read only are copied for the answer. */
const shownIncidents = ({ evidence, reorganisations }: Partial<NetworkIncidents> = {}) => ({
  evidence: [...(evidence ?? [])],
  lastReorganisations: (reorganisations ?? []).map(({ removed, added, ...rest }) => ({
    ...rest,
    removed: [...removed],
    added: [...added],
  })),
});

const NOTHING: UpstreamCounts = { calls: 0, failed: 0, lies: 0, proofFailures: 0, dissents: 0 };
