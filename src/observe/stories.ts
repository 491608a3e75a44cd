// Which calls have a story, and who gets it: callers that may ask for it, the tail of slow and failed calls that
// operators look at, and what sends traces.

import { isoText } from "../lib/calendar.ts";
import type { Clock } from "../lib/clock.ts";
import {
  type ExplainedIn,
  explanationOf,
  Story,
  type StoryEnd,
  type ToldStory,
  toldStory,
} from "./story.ts";
import {
  type RemoteContext,
  readTraceContext,
  TraceContext,
  type TraceHeaders,
  TraceIds,
} from "./trace-context.ts";

export type StoriesOptions = {
  /** The slow and failed calls that were answered last. */
  readonly tail: {
    /** So many of them; 0: none. */
    readonly calls: number;
    readonly slowMs: number;
  };
  /** undefined: nothing is traced. */
  readonly tracing: SamplingOptions | undefined;
};

export type SamplingOptions = {
  /** Of the calls that come without a trace, 0 to 1. */
  readonly share: number;
  /** Whether a caller that comes with a trace decides for its calls. */
  readonly followsCallers: boolean;
  /** Calls that failed, and that took as long, are traced in any case. */
  readonly failed: boolean;
  readonly slowMs: number;
  /** Whether upstreams are sent where they stand in the trace. */
  readonly tellsUpstreams: boolean;
};

export type StoriesParts = {
  readonly clock: Pick<Clock, "now" | "wallTime">;
  /** From 0 to 1, without 1. */
  readonly chance: () => number;
  /** Takes what is to be traced. */
  readonly onTraced?: (story: Story) => void;
};

/** Whose call it is. */
type StoryCaller = {
  readonly grant: { readonly name: string; readonly scope: { readonly mayExplain: boolean } };
  readonly network: { readonly facts: { readonly name: string } };
  readonly requestId: string;
  /** Of the request that the call came with, or its socket began with. */
  readonly headers?: TraceHeaders | undefined;
  /** Its socket; undefined over HTTP. */
  readonly channel?: unknown;
};

/** A slow or failed call, as operators are told of it. */
export type TailedCall = ToldStory & {
  /** When it came. */
  readonly at: string;
  readonly network: string;
  /** The name of the key. */
  readonly key: string;
  readonly request: string;
  readonly trace: string | undefined;
};

export class Stories {
  /** Every call has one. */
  isOn = false;
  #options: StoriesOptions;
  /** A ring: where it is full, the next one stands where the oldest stood. */
  #tail: TailedCall[] = [];
  #oldest = 0;
  readonly #ids = new TraceIds();
  readonly #parts: StoriesParts;

  constructor(options: StoriesOptions, parts: StoriesParts) {
    this.#options = options;
    this.#parts = parts;
    this.reconfigure(options);
  }

  reconfigure(options: StoriesOptions): void {
    const { tail, tracing } = options;
    const kept = tail.calls === 0 ? [] : this.tail.slice(0, tail.calls).reverse();
    this.#options = options;
    this.#tail = kept;
    this.#oldest = 0;
    this.isOn = tail.calls > 0 || tracing !== undefined;
  }

  /**
   * @param within The batch's, for a member.
   * @returns undefined where nobody wants it.
   */
  begin(caller: StoryCaller, isMember: boolean, within: Story | undefined): Story | undefined {
    const explainedIn = explainedInOf(caller, isMember);
    if (!this.isOn && !explainedIn) return undefined;
    const trace = within?.options.trace ? within.options.trace.within() : this.#traceFor(caller);
    return this.#begun(caller, { explainedIn, trace });
  }

  /** Of a batch: its members' are within it. @returns undefined where nothing is traced. */
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

  /** As JSON in ASCII, of a call that has ended and is explained. */
  explanation(story: Story): string {
    return explanationOf(story, LONGEST[story.options.explainedIn ?? "header"]);
  }

  /** The newest first. */
  get tail(): readonly TailedCall[] {
    return [...this.#tail.slice(this.#oldest), ...this.#tail.slice(0, this.#oldest)].reverse();
  }

  #keep(story: Story, most: number): void {
    const { network, key, requestId, trace } = story.options;
    const call = {
      at: isoText(story.begunAtWallMs),
      ...{ network, key, request: requestId, trace: trace?.traceId },
      ...toldStory(story),
    };
    if (this.#tail.length < most) this.#tail.push(call);
    else {
      this.#tail[this.#oldest] = call;
      this.#oldest = (this.#oldest + 1) % most;
    }
  }

  #traceFor({ headers = {}, channel }: StoryCaller): TraceContext | undefined {
    const { tracing } = this.#options;
    if (!tracing) return undefined;
    // A socket may be open for days: its messages are no part of what opened it.
    const parent = channel === undefined ? readTraceContext(headers) : undefined;
    const isSampled = this.#isSampled(parent, tracing);
    return new TraceContext({ parent, isSampled }, this.#ids);
  }

  #isSampled(parent: RemoteContext | undefined, options: SamplingOptions): boolean {
    return parent && options.followsCallers
      ? parent.isSampled
      : this.#parts.chance() < options.share;
  }
}

/** In characters. Proxies take headers of 4 to 8 KiB in all. */
const LONGEST: Readonly<Record<ExplainedIn, number>> = { header: 2_000, member: 16_000 };

/** A header is one call's: members of a batch, and messages of a socket, are told in their answers. */
function explainedInOf(
  { grant, headers, channel }: StoryCaller,
  isMember: boolean,
): ExplainedIn | undefined {
  if (!grant.scope.mayExplain || headers?.["x-headgate-explain"] !== "1") return undefined;
  return isMember || channel !== undefined ? "member" : "header";
}
