// Decides which calls have a story, and delivers it: to callers that may ask for an explanation, to the list of slow
// and failed calls, and to the trace sender.

import type { Config } from "../config/schema.ts";
import { isoText } from "../lib/calendar.ts";
import type { Clock } from "../lib/clock.ts";
import {
  type ExplainedIn,
  explanationOf,
  Story,
  type StoryEnd,
  type StorySummary,
  summaryOf,
} from "./story.ts";
import { readTraceContext, TraceContext, type TraceHeaders, TraceIds } from "./trace-context.ts";

export type StoriesOptions = {
  /** Settings of the slow and failed calls that were answered last. */
  readonly tail: Config["tail"];
  /** undefined: no call is traced. */
  readonly tracing?: SamplingOptions | undefined;
};

export type SamplingOptions = Pick<
  NonNullable<Config["tracing"]>,
  "sample" | "followsCallers" | "failed" | "slowMs" | "tellsUpstreams"
>;

export type StoriesParts = {
  readonly clock: Pick<Clock, "now" | "wallTime">;
  /** A random number from 0 (included) to 1 (excluded). */
  readonly chance: () => number;
  /** Called with each story that is to be sent as a trace. */
  readonly onTraced?: (story: Story) => void;
};

/** The part of a call's caller that a story needs. */
type StoryCaller = {
  readonly grant: { readonly name: string; readonly scope: { readonly mayExplain: boolean } };
  readonly network: { readonly facts: { readonly name: string } };
  readonly requestId: string;
  /** The headers of the HTTP request, or of the handshake of the WebSocket. */
  readonly headers?: TraceHeaders | undefined;
  /** The caller's WebSocket; undefined over HTTP. */
  readonly channel?: unknown;
};

/** A slow or failed call, in the form that operators see. */
export type SlowCall = StorySummary & {
  /** When the call arrived, in ISO 8601. */
  readonly at: string;
  readonly network: string;
  /** The name of the key. */
  readonly key: string;
  readonly request: string;
  readonly trace: string | undefined;
};

export class Stories {
  /** Whether every call has a story. */
  isOn = false;
  #options: StoriesOptions;
  /** The slow and failed calls, oldest first. */
  #slowCalls: SlowCall[] = [];
  readonly #ids = new TraceIds();
  readonly #parts: StoriesParts;

  constructor(options: StoriesOptions, parts: StoriesParts) {
    this.#options = options;
    this.#parts = parts;
    this.reconfigure(options);
  }

  reconfigure(options: StoriesOptions): void {
    const { tail, tracing } = options;
    this.#options = options;
    this.#slowCalls = tail.calls === 0 ? [] : this.#slowCalls.slice(-tail.calls);
    this.isOn = tail.calls > 0 || tracing !== undefined;
  }

  /**
   * Begins the story of a call.
   *
   * @param within The story of the batch, for a member.
   * @returns undefined when no story is wanted.
   */
  begin(caller: StoryCaller, isMember: boolean, within: Story | undefined): Story | undefined {
    const explainedIn = explainedInOf(caller, isMember);
    if (!this.isOn && !explainedIn) return undefined;
    const trace = within?.options.trace ? within.options.trace.within() : this.#traceFor(caller);
    return this.#begun(caller, { explainedIn, trace });
  }

  /** Begins the story of a batch, which contains its members' stories. @returns undefined when tracing is off. */
  beginBatch(caller: StoryCaller): Story | undefined {
    const trace = this.#traceFor(caller);
    return trace && this.#begun(caller, { explainedIn: undefined, trace });
  }

  #begun(
    { network, grant, requestId, channel, headers = {} }: StoryCaller,
    how: {
      readonly explainedIn: ExplainedIn | undefined;
      readonly trace: TraceContext | undefined;
    },
  ): Story {
    const isTold = this.#options.tracing?.tellsUpstreams ?? false;
    const opener = how.trace && channel !== undefined ? readTraceContext(headers) : undefined;
    return new Story(
      { network: network.facts.name, key: grant.name, requestId, isTold, opener, ...how },
      this.#parts,
    );
  }

  ended(story: Story, end: StoryEnd): void {
    story.ended(end);
    const { tail, tracing } = this.#options;
    const hasFailed = end.outcome === "failed" || end.outcome === "unavailable";
    const { ms } = story;
    if (tail.calls > 0 && (hasFailed || ms >= tail.slowMs)) this.#keep(story, tail.calls);
    if (!tracing || !story.options.trace) return;
    const isWanted = (hasFailed && tracing.failed) || ms >= tracing.slowMs;
    if (story.options.trace.isSampled || isWanted) this.#parts.onTraced?.(story);
  }

  /** The explanation of a call that has ended: its story, as JSON in ASCII. */
  explanation(story: Story): string {
    return explanationOf(story, LONGEST[story.options.explainedIn ?? "header"]);
  }

  /** The slow and failed calls, newest first. */
  get slowCalls(): readonly SlowCall[] {
    return this.#slowCalls.toReversed();
  }

  #keep(story: Story, most: number): void {
    const { network, key, requestId, trace } = story.options;
    this.#slowCalls.push({
      at: isoText(story.begunAtWallMs),
      ...{ network, key, request: requestId, trace: trace?.traceId },
      ...summaryOf(story),
    });
    if (this.#slowCalls.length > most) this.#slowCalls.shift();
  }

  #traceFor({ headers = {}, channel }: StoryCaller): TraceContext | undefined {
    const { tracing } = this.#options;
    if (!tracing) return undefined;
    // A WebSocket may be open for days, so its messages do not belong to the trace of its handshake.
    const parent = channel === undefined ? readTraceContext(headers) : undefined;
    const isSampled =
      parent && tracing.followsCallers ? parent.isSampled : this.#parts.chance() < tracing.sample;
    return new TraceContext({ parent, isSampled }, this.#ids);
  }
}

/** Characters. Proxies accept 4 to 8 KiB of headers in all. */
const LONGEST: Readonly<Record<ExplainedIn, number>> = { header: 2_000, member: 16_000 };

/** A header explains a single call over HTTP; a member of the envelope explains calls in batches and over WebSocket. */
function explainedInOf(
  { grant, headers, channel }: StoryCaller,
  isMember: boolean,
): ExplainedIn | undefined {
  if (!grant.scope.mayExplain || headers?.["x-headgate-explain"] !== "1") return undefined;
  return isMember || channel !== undefined ? "member" : "header";
}
