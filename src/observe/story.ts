// The story of one call: when it came, the steps it passed, the upstreams that were asked for it and what became of
// that, and how it ended. It is filled only for those who want it, and bounded whatever the call does.
import type { Clock } from "../lib/clock.ts";
import type { RemoteContext, TraceContext } from "./trace-context.ts";

export type StoryStep = "authorized" | "charged" | "merged";

/** How a caller is told: in a header of the response, or in its member of a batch or a socket's message. */
export type ExplainedIn = "header" | "member";

export type StoryOptions = {
  readonly network: string;
  /** The name of the key. */
  readonly key: string;
  readonly requestId: string;
  /** undefined: its caller is not told. */
  readonly explainedIn?: ExplainedIn | undefined;
  /** The trace that it is part of; undefined where nothing is traced. */
  readonly trace?: TraceContext | undefined;
  /** Whether upstreams are told of the trace. */
  readonly isTold?: boolean;
  /** Where its caller's socket was opened, in a trace of the caller's. */
  readonly opener?: RemoteContext | undefined;
};

/** What is told of a call that has ended. */
export type StoryEnd = {
  /** A declared method's name, or `other`. */
  readonly method: string;
  /** The id, as JSON text of the caller. */
  readonly id: string;
  readonly outcome: "ok" | "refused" | "unavailable" | "failed";
  /** Of the error in the answer. */
  readonly code?: number | undefined;
  readonly source: "store" | "upstream" | "local" | "merged";
  readonly proof?: "none" | "partial" | "full" | undefined;
  readonly block?: { readonly number: number; readonly hash: string } | undefined;
  /** How old the newest block is, where that is unusual, in milliseconds. */
  readonly staleMs?: number | undefined;
  readonly computeUnits?: number;
  /** Of the answer. */
  readonly bytes: number;
  /** Of a batch. */
  readonly members?: number;
};

/** What log lines of a traced call have, as OpenTelemetry names it. */
export type LoggedTrace = { readonly trace_id?: string; readonly span_id?: string };

/** What a reply says of an attempt. */
export type AttemptOutcome = {
  readonly kind: string;
  /** Of a refusal. */
  readonly code?: number | undefined;
  /** Of a failure, in words of the gateway. */
  readonly reason?: string | undefined;
};

/** The attempt as it is begun. */
export type BegunAttempt = {
  readonly upstream: { readonly name: string };
  readonly why: string | undefined;
};

/** More attempts of one call are counted, not told. */
const MOST_ATTEMPTS = 32;

export class AttemptStory {
  readonly method: string;
  readonly upstream: string;
  /** `failed`, `cross-check` or `slow`: why a further one was asked. */
  readonly why: string | undefined;
  /** By the clock's `now`. */
  readonly begunAt: number;
  endedAt: number | undefined;
  outcome: AttemptOutcome | undefined;
  /** Its own place in the trace. */
  readonly trace: TraceContext | undefined;
  /** What the upstream is sent beside the request. */
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
    // Not the reply: it holds the answer's bytes.
    const { kind, code, reason } = outcome;
    this.outcome = { kind, code, reason };
  }
}

export class Story {
  readonly options: StoryOptions;
  /** By the clock's `now`, and in milliseconds since 1970. */
  readonly begunAt: number;
  readonly begunAtWallMs: number;
  readonly steps: { readonly step: StoryStep; readonly at: number }[] = [];
  readonly attempts: AttemptStory[] = [];
  /** Attempts that are not told. */
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

  /** @returns undefined when it asked so often that no more is told. */
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
    // Not the stored block, which tells its number by a getter and holds its parts.
    this.end = block ? { ...end, block: { number: block.number, hash: block.hash } } : end;
  }

  get logged(): LoggedTrace {
    const { trace } = this.options;
    return trace ? { trace_id: trace.traceId, span_id: trace.spanId } : {};
  }

  /** From its beginning to its end, in milliseconds. */
  get ms(): number {
    return (this.endedAt ?? this.#clock.now()) - this.begunAt;
  }
}

/** A story as people read it. Times are in milliseconds from the call's beginning. */
export type ToldStory = StoryEnd & {
  readonly ms: number;
  readonly steps: readonly { readonly step: StoryStep; readonly atMs: number }[];
  readonly asked: readonly (Partial<AttemptOutcome> & {
    readonly upstream: string;
    readonly method: string;
    readonly why: string | undefined;
    readonly atMs: number;
    /** undefined: it had not ended when the call had. */
    readonly ms: number | undefined;
  })[];
  /** Further ones that were asked. */
  readonly leftOut: number;
};

/** Of a call that has ended. */
export function toldStory({
  begunAt,
  end,
  ms,
  steps,
  attempts,
  attemptsLeftOut,
}: Story): ToldStory {
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

/** The story as JSON in ASCII, and not longer than that: of many attempts the first ones. */
export function explanationOf(story: Story, mostCharacters: number): string {
  const told = toldStory(story);
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
