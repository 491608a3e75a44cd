// Sends the status of the networks and their upstreams to operators once a second, with the rates of the last 10 seconds.
// All watchers share one computation. Every ten seconds the feed notes the points of the charts, also while nobody
// watches, so that charts begin with the last half an hour.
import { streamSSE } from "hono/streaming";
import { isoText } from "../lib/calendar.ts";
import type { Clock } from "../lib/clock.ts";
import { CountedMetrics } from "../observe/call-rates.ts";
import { combinedIncidents } from "../observe/incidents.ts";
import { type AdminApp, type AdminAppParts, requestOf, shownCall } from "./admin-parts.ts";
import { type AdminRequest, covers, type Operator } from "./admission.ts";
import { chartedOf, liveNetwork, type Sample } from "./live-network.ts";
import { Problem, problems } from "./problem.ts";
import { operationRoutes, ROLE } from "./routes.ts";
import type { LiveStatus } from "./schemas.ts";

export type LiveFeedParts = Pick<AdminAppParts, "networks" | "metrics" | "calls" | "incidents"> & {
  readonly clock: Pick<Clock, "now" | "wallTime" | "sleep">;
};

type Listener = (json: string | undefined) => void;

const EVERY_MS = 1_000;
/** In milliseconds: the span over which rates are measured, and the distance of two points in a chart. */
const RATES_OF_MS = 10_000;
/** In milliseconds: the tolerance for late timers. */
const LATE_MS = 1_000;
/** How many slow and failed calls one event has at most. */
const MOST_CALLS = 20;

export class LiveFeed {
  /** The listeners, each with the name of its operator. */
  readonly #listeners = new Map<Listener, string>();
  #samples: Sample[] = [];
  readonly #past = new PastCharts();
  /** The newest call that was in an event. */
  #lastCall: string | undefined;
  /** The last event, which a new listener gets at once. */
  #last: string | undefined;
  /** Ends the loop that makes an event once a second; undefined while there are no listeners. */
  #looks: AbortController | undefined;
  readonly #parts: LiveFeedParts;

  constructor(parts: LiveFeedParts) {
    this.#parts = parts;
  }

  get watching(): number {
    return this.#listeners.size;
  }

  watchingOf(name: string): number {
    return [...this.#listeners.values()].filter((each) => each === name).length;
  }

  /**
   * @param name The operator's name.
   * @param listener Called with each LiveStatus as JSON; undefined: the status could not be made.
   * @returns A function that ends the calls.
   */
  watch(name: string, listener: Listener): () => void {
    this.#listeners.set(listener, name);
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
      this.#last = undefined;
    };
  }

  /** Notes the points of the charts, also while nobody watches, until the signal aborts. */
  async remember(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // A failure leaves a gap in the charts.
      if (!this.#looks) await this.#networksNow().catch(() => undefined);
      await this.#parts.clock.sleep(RATES_OF_MS, signal).catch(() => undefined);
    }
  }

  /** The LiveHistory as JSON; undefined before the first note. */
  get history(): string | undefined {
    return this.#past.toldAt(this.#parts.clock.now());
  }

  async #look(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const told = await this.#made().catch(() => undefined);
      if (signal.aborted) return;
      this.#last = told;
      for (const listener of [...this.#listeners.keys()]) listener(told);
      await this.#parts.clock.sleep(EVERY_MS, signal).catch(() => undefined);
    }
  }

  async #made(): Promise<string> {
    const { calls, incidents, clock } = this.#parts;
    const asked = [this.#networksNow(), calls(), incidents()] as const;
    const [networks, slowCalls, happened] = await Promise.all(asked);
    const incidentsByNetwork = combinedIncidents(happened);
    const status: LiveStatus = {
      at: isoText(clock.wallTime()),
      networks: networks.map((each) => {
        const { evidence = [], reorganisations = [] } = incidentsByNetwork.get(each.network) ?? {};
        return { ...each, evidence, lastReorganisations: reorganisations };
      }),
      calls: this.#newOf(slowCalls).map(shownCall),
    };
    return JSON.stringify(status);
  }

  async #networksNow() {
    const { networks, metrics, clock } = this.#parts;
    const [all, values] = await Promise.all([networks(), metrics.values()]);
    const counted = new CountedMetrics(values);
    const atMs = clock.now();
    const counts = new Map(all.map(({ network }) => [network, counted.countsOf(network)]));
    this.#samples = this.#samples.filter((past) => atMs - past.atMs <= RATES_OF_MS + LATE_MS);
    const now = { atMs, counts };
    this.#samples.push(now);
    const [since = now] = this.#samples;
    const live = all.map((each) => liveNetwork(each, counted, { since, now }));
    if (since !== now) this.#past.note(atMs, () => live.map(chartedOf));
    return live;
  }

  /** The calls since the last event, newest first. */
  #newOf(calls: Awaited<ReturnType<LiveFeedParts["calls"]>>): typeof calls {
    const nameOf = ({ at, request, id }: (typeof calls)[number]): string =>
      `${at} ${request} ${id}`;
    const told = calls.findIndex((call) => nameOf(call) === this.#lastCall);
    const [newest] = calls;
    this.#lastCall = newest && nameOf(newest);
    return calls.slice(0, told < 0 ? MOST_CALLS : Math.min(told, MOST_CALLS));
  }
}

const PAST_MS = 30 * 60_000;
/** In characters: a gateway with very many networks keeps a shorter history. */
const MOST_PAST = 2 ** 20;

/** The points of all charts in the last half an hour. */
export class PastCharts {
  /** The notes, oldest first. */
  readonly #notes: { readonly atMs: number; readonly json: string }[] = [];
  #length = 0;

  /** @param charted Makes the points; called only when a note is due. */
  note(atMs: number, charted: () => unknown): void {
    const last = this.#notes.at(-1);
    if (last && atMs - last.atMs < RATES_OF_MS - LATE_MS) return;
    const json = JSON.stringify(charted());
    this.#notes.push({ atMs, json });
    this.#length += json.length;
    let [oldest] = this.#notes;
    while (oldest && (atMs - oldest.atMs > PAST_MS || this.#length > MOST_PAST)) {
      this.#notes.shift();
      this.#length -= oldest.json.length;
      [oldest] = this.#notes;
    }
  }

  toldAt(nowMs: number): string | undefined {
    if (this.#notes.length === 0) return undefined;
    const notes = this.#notes.map(({ atMs, json }) => {
      const ageSeconds = Math.round((nowMs - atMs) / 1_000);
      return `{"ageSeconds":${ageSeconds},"networks":${json}}`;
    });
    return `{"past":[${notes.join()}]}`;
  }
}

/** How many event streams may be open; one token cannot have all of them. */
const MOST_WATCHING = 60;
const MOST_OF_A_TOKEN = 50;

/** @param options.admit Called before each event: an operator whose token or session has ended gets no more events. */
export function addLiveAnswer(
  app: AdminApp,
  options: {
    readonly admit: (request: AdminRequest) => Operator | Problem;
    /** Aborts when the admin server closes; left out: no history is kept. */
    readonly ending?: AbortSignal | undefined;
  },
  parts: LiveFeedParts,
): void {
  const feed = new LiveFeed(parts);
  if (options.ending) void feed.remember(options.ending);
  app.openapi(operationRoutes.events, (context) => {
    // A stream for a HEAD request would have no reader.
    if (context.req.method === "HEAD")
      return context.body(null, 200, { "Content-Type": "text/event-stream" });
    const { name } = context.get("operator");
    if (feed.watching >= MOST_WATCHING) throw problems.tooManyWatching(MOST_WATCHING);
    if (feed.watchingOf(name) >= MOST_OF_A_TOKEN) throw problems.tooManyWatching(MOST_OF_A_TOKEN);
    const request = requestOf(context);
    const maySee = (): boolean => {
      const operator = options.admit(request);
      return !(operator instanceof Problem) && covers(operator.role, operationRoutes.events[ROLE]);
    };
    // The reader may disconnect while an event is written.
    const ignore = async (): Promise<void> => undefined;
    return streamSSE(
      context,
      async (stream) => {
        const events = newestOf(feed, { name, signal: context.req.raw.signal });
        stream.onAbort(events.end);
        const { history } = feed;
        if (history) await stream.writeSSE({ event: "history", data: history });
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

/** Gives a stream its events one by one. While the stream writes an event, only the newest later event waits. */
function newestOf(
  feed: Pick<LiveFeed, "watch">,
  { name, signal }: { readonly name: string; readonly signal: AbortSignal },
) {
  let newest: { readonly json: string | undefined } | undefined;
  let hasEnded = signal.aborted;
  let wake: () => void = () => undefined;
  const unwatch = feed.watch(name, (json) => {
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
