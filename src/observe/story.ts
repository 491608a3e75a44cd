// The story of one call: when it arrived, the steps it passed, its attempts at upstreams, and how it ended. A call
// has a story only if one is wanted; the story's size is bounded.
import type { Clock } from "../lib/clock.ts";
import type { RemoteContext, TraceContext } from "./trace-context.ts";

export type StoryStep = "authorized" | "charged" | "merged";

/** Where a caller finds the explanation: in a header of the response, or in a member of the envelope. */
export type ExplainedIn = "header" | "member";

export type StoryOptions = {
  readonly network: string;
  /** The name of the key. */
  readonly key: string;
  readonly requestId: string;
  /** undefined: the caller gets no explanation. */
  readonly explainedIn?: ExplainedIn | undefined;
  /** The call's span; undefined when the call is not traced. */
  readonly trace?: TraceContext | undefined;
  /** Whether the trace context is sent to upstreams. */
  readonly isTold?: boolean;
  /** The span of the caller in which it opened its WebSocket. */
  readonly opener?: RemoteContext | undefined;
};

/** How a call ended. */
export type StoryEnd = {
  /** A declared method's name, or `other`. */
  readonly method: string;
  /** The id as the caller wrote it, in JSON. */
  readonly id: string;
  readonly outcome: "ok" | "refused" | "unavailable" | "failed";
  /** The code of the error in the answer. */
  readonly code?: number | undefined;
  readonly source: "store" | "upstream" | "local" | "merged";
  readonly proof?: "none" | "partial" | "full" | undefined;
  readonly block?: { readonly number: number; readonly hash: string } | undefined;
  /** The age of the newest block, in milliseconds, if it is unusual. */
  readonly staleMs?: number | undefined;
  readonly computeUnits?: number;
  /** The length of the answer, in bytes. */
  readonly bytes: number;
  /** The number of members, for a batch. */
  readonly members?: number;
};

/** The trace fields of a log line about a traced call, with OpenTelemetry's names. */
export type LoggedTrace = { readonly trace_id?: string; readonly span_id?: string };

/** The outcome of an attempt, taken from its reply. */
export type AttemptOutcome = {
  readonly kind: string;
  /** The code of a refusal. */
  readonly code?: number | undefined;
  /** The reason of a failure, in the gateway's words. */
  readonly reason?: string | undefined;
};

/** The part of a beginning attempt that its story needs. */
export type BegunAttempt = {
  readonly upstream: { readonly name: string };
  readonly why: string | undefined;
};

/** Further attempts of a call are counted, but not described. */
const MOST_ATTEMPTS = 32;

export class AttemptStory {
  readonly method: string;
  readonly upstream: string;
  /** Why this upstream was asked after another one: `failed`, `cross-check` or `slow`. */
  readonly why: string | undefined;
  /** Milliseconds of the clock's `now`. */
  readonly begunAt: number;
  endedAt: number | undefined;
  outcome: AttemptOutcome | undefined;
  /** The attempt's span. */
  readonly trace: TraceContext | undefined;
  /** The headers that are sent to the upstream. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly #clock: Pick<Clock, "now">;

  constructor(
    { upstream, why }: BegunAttempt,
    asked: {
      readonly method: string;
      readonly trace: TraceContext | undefined;
      readonly isTold: boolean;
    },
    clock: Pick<Clock, "now">,
  ) {
    this.method = asked.method;
    this.upstream = upstream.name;
    this.why = why;
    this.begunAt = clock.now();
    this.trace = asked.trace;
    this.headers = asked.isTold ? asked.trace?.headers() : undefined;
    this.#clock = clock;
  }

  ended(outcome: AttemptOutcome): void {
    this.endedAt = this.#clock.now();
    // Only these fields: the reply itself would hold the bytes of the answer in memory.
    const { kind, code, reason } = outcome;
    this.outcome = { kind, code, reason };
  }
}

export class Story {
  readonly options: StoryOptions;
  /** Milliseconds of the clock's `now`, and milliseconds since 1970. */
  readonly begunAt: number;
  readonly begunAtWallMs: number;
  readonly steps: { readonly step: StoryStep; readonly at: number }[] = [];
  readonly attempts: AttemptStory[] = [];
  /** The number of attempts that are not described. */
  attemptsLeftOut = 0;
  endedAt: number | undefined;
  end: StoryEnd | undefined;
  readonly #clock: Pick<Clock, "now" | "wallTime">;

  constructor(options: StoryOptions, parts: { readonly clock: Pick<Clock, "now" | "wallTime"> }) {
    this.options = options;
    this.#clock = parts.clock;
    this.begunAt = parts.clock.now();
    this.begunAtWallMs = parts.clock.wallTime();
  }

  reached(step: StoryStep): void {
    if (step === "merged" && this.steps.length > MOST_ATTEMPTS) return;
    this.steps.push({ step, at: this.#clock.now() });
  }

  /** Begins the story of an attempt. @returns undefined when enough attempts are described. */
  asked(attempt: BegunAttempt, method: string): AttemptStory | undefined {
    if (this.attempts.length >= MOST_ATTEMPTS) {
      this.attemptsLeftOut += 1;
      return undefined;
    }
    const { trace, isTold = false } = this.options;
    const asked = { method, trace: trace?.within(), isTold };
    const story = new AttemptStory(attempt, asked, this.#clock);
    this.attempts.push(story);
    return story;
  }

  ended(end: StoryEnd): void {
    this.endedAt = this.#clock.now();
    const { block } = end;
    // Only these fields: the stored block itself would hold its parts in memory.
    this.end = block ? { ...end, block: { number: block.number, hash: block.hash } } : end;
  }

  get logged(): LoggedTrace {
    const { trace } = this.options;
    return trace ? { trace_id: trace.traceId, span_id: trace.spanId } : {};
  }

  /** The duration of the call, in milliseconds. */
  get ms(): number {
    return (this.endedAt ?? this.#clock.now()) - this.begunAt;
  }
}

/** A story in the form that people read. `atMs` is in milliseconds since the call began. */
export type StorySummary = StoryEnd & {
  readonly ms: number;
  readonly steps: readonly { readonly step: StoryStep; readonly atMs: number }[];
  readonly asked: readonly (Partial<AttemptOutcome> & {
    readonly upstream: string;
    readonly method: string;
    readonly why: string | undefined;
    readonly atMs: number;
    /** The duration; undefined if the attempt was still running when the call ended. */
    readonly ms: number | undefined;
  })[];
  /** The number of attempts that are not in `asked`. */
  readonly leftOut: number;
};

/** @param story The story of a call that has ended. */
export function summaryOf({
  begunAt,
  end,
  ms,
  steps,
  attempts,
  attemptsLeftOut,
}: Story): StorySummary {
  return {
    ...(end as StoryEnd),
    ms: rounded(ms),
    steps: steps.map(({ step, at }) => ({ step, atMs: rounded(at - begunAt) })),
    asked: attempts.map(({ upstream, method, why, begunAt: at, endedAt, outcome }) => ({
      upstream,
      method,
      why,
      atMs: rounded(at - begunAt),
      ms: endedAt === undefined ? undefined : rounded(endedAt - at),
      ...outcome,
    })),
    leftOut: attemptsLeftOut,
  };
}

const rounded = (ms: number): number => Math.round(ms * 100) / 100;

/** The story as JSON in ASCII, with as many attempts as fit into `mostCharacters`. */
export function explanationOf(story: Story, mostCharacters: number): string {
  const told = summaryOf(story);
  let { asked } = told;
  for (;;) {
    const leftOut = told.leftOut + told.asked.length - asked.length;
    const text = asciiOf({ ...told, asked, leftOut });
    if (text.length <= mostCharacters || asked.length === 0) return text;
    asked = asked.slice(0, asked.length >> 1);
  }
}

const asciiOf = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
