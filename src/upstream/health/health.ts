// How one upstream does, by kind of work: its calls, and what became of them lately. And a circuit breaker, which stops
// calls to an upstream that failed again and again: for a while no calls, then one at a time, then as before.
import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import type { Clock } from "../../lib/clock.ts";
import type { WorkKind } from "../../namespaces/known-method.ts";
import type { Reply } from "../reply.ts";

/** The health for one kind of work. */
export type KindHealth = Summary & {
  readonly breaker: Breaker["kind"];
  /** The upstream was asked seldom lately, or is back after failures: it gets a small share of the calls. */
  readonly isUntried: boolean;
};

/** A call that the node has not answered. */
export type OpenCall = { readonly workKind: WorkKind; readonly sentAt: number };

/** What became of a call, as far as it tells something about the node. */
export type AttemptEnding =
  | Reply["kind"]
  /** It failed in this call alone, and said so. */
  | "failed inside"
  /** Another node answered long before. */
  | "outrun";

type WindowOfKind = {
  readonly window: SlidingWindow;
  breaker: Breaker;
  /** When the breaker opened last: calls that were sent before tell nothing about the node now. */
  openedAt: number;
  /** When the last answer came. */
  heardAt: number;
  /** Calls that take longer than usual, while nothing at all is answered. */
  readonly late: Set<OpenCall>;
};

/** How many answers are needed to tell how fast a node is. */
const TRIED_AFTER = 10;
/** This many late calls at the same time are no accident: the node has stopped. */
const STALLED_AFTER = 3;

export class Health {
  #inFlight = 0;
  /** When the last answer to any call came. */
  #heardAt = Number.NEGATIVE_INFINITY;
  /** Late calls of any kind, while nothing at all is answered. */
  readonly #late = new Set<OpenCall>();
  readonly #kinds = new Map<WorkKind, WindowOfKind>();
  readonly #clock: Pick<Clock, "now">;
  readonly #onSuspected: () => void;

  /** @param onSuspected Is called when a breaker opens, or the node stops answering. */
  constructor(parts: { clock: Pick<Clock, "now"> }, onSuspected: () => void = () => undefined) {
    this.#clock = parts.clock;
    this.#onSuspected = onSuspected;
  }

  /** How many calls it has not answered. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** To be called when a call is sent. */
  open(workKind: WorkKind, sentAt = this.#clock.now()): OpenCall {
    const of = this.#of(workKind);
    this.#inFlight += 1;
    of.breaker = afterSending(breakerAt(of.breaker, sentAt));
    return { workKind, sentAt };
  }

  /** @param now By the clock. */
  close(call: OpenCall, ending: AttemptEnding, now = this.#clock.now()): void {
    const of = this.#of(call.workKind);
    this.#inFlight -= 1;
    const wasSilent = this.isSilent(call);
    of.late.delete(call);
    this.#late.delete(call);
    const isAnswer = ending === "result" || ending === "refused";
    // `missing` is an honest refusal, and `busy` concerns the budget.
    const hasReplied = ending === "missing" || ending === "busy" || ending === "failed inside";
    if (isAnswer || hasReplied) this.#hear(of, now);
    if (call.sentAt <= of.openedAt) return;
    if (isAnswer) of.window.answered(now - call.sentAt, now);
    if (ending === "outrun" || ending === "timeout") of.window.took(now - call.sentAt, now);
    const isFailure = ending === "failed" || ending === "timeout" || ending === "failed inside";
    if (isFailure || (ending === "outrun" && wasSilent)) this.#failed(of, call);
    else if (isAnswer) this.#succeeded(of);
    else of.breaker = afterNothing(of.breaker);
  }

  /** To be called when a call takes longer than such calls do. */
  late(call: OpenCall): void {
    if (this.isSilent(call)) this.#of(call.workKind).late.add(call);
    if (this.#heardAt < call.sentAt) this.#late.add(call);
  }

  /** Whether nothing of this kind of work was answered since the call was sent. */
  isSilent({ workKind, sentAt }: OpenCall): boolean {
    return (this.#kinds.get(workKind)?.heardAt ?? Number.NEGATIVE_INFINITY) < sentAt;
  }

  /** Whether the node seems to have stopped answering just now. */
  isStalled(workKind: WorkKind): boolean {
    return Math.max(this.#kinds.get(workKind)?.late.size ?? 0, this.#late.size) >= STALLED_AFTER;
  }

  ofKind(name: WorkKind): KindHealth {
    const of = this.#of(name);
    const breaker = breakerAt(of.breaker, this.#clock.now());
    const summary = of.window.summary();
    // One call at a time tries the node: for the others the breaker is still open.
    const isTrying = breaker.kind === "half-open" && breaker.isTrying;
    return {
      ...summary,
      breaker: isTrying || this.isStalled(name) ? "open" : breaker.kind,
      isUntried: summary.answers < TRIED_AFTER || breaker.kind === "half-open",
    };
  }

  /** The kinds of work for which it was asked. */
  get workKinds(): readonly WorkKind[] {
    return [...this.#kinds.keys()];
  }

  #hear(of: WindowOfKind, now: number): void {
    this.#heardAt = Math.max(this.#heardAt, now);
    of.heardAt = Math.max(of.heardAt, now);
    // Emptying a set makes a new one.
    if (of.late.size > 0) of.late.clear();
    if (this.#late.size > 0) this.#late.clear();
  }

  #succeeded(of: WindowOfKind): void {
    const wasClosed = of.breaker.kind === "closed";
    of.breaker = afterSuccess(of.breaker);
    if (!wasClosed && of.breaker.kind === "closed") of.window.forget(); // the node may be a different one now
  }

  #failed(of: WindowOfKind, { sentAt }: OpenCall): void {
    const now = this.#clock.now();
    of.window.failed();
    const before = breakerAt(of.breaker, now);
    of.breaker = afterFailure(before, of.window.summary(), now);
    const isOpened = before.kind !== "open" && of.breaker.kind === "open";
    if (isOpened) of.openedAt = now;
    if (isOpened || this.#heardAt < sentAt) this.#onSuspected();
  }

  #of(name: WorkKind): WindowOfKind {
    const known = this.#kinds.get(name);
    if (known) return known;
    const of: WindowOfKind = {
      window: new SlidingWindow({ clock: this.#clock }),
      breaker: CLOSED,
      openedAt: Number.NEGATIVE_INFINITY,
      heardAt: Number.NEGATIVE_INFINITY,
      late: new Set(),
    };
    this.#kinds.set(name, of);
    return of;
  }
}

export type Breaker =
  | { readonly kind: "closed"; readonly failuresInARow: number }
  | { readonly kind: "open"; readonly until: number; readonly pauseMs: number }
  /** The pause is over: one call at a time tries the node. */
  | {
      readonly kind: "half-open";
      readonly pauseMs: number;
      readonly successes: number;
      readonly isTrying: boolean;
    };

export const CLOSED: Breaker = { kind: "closed", failuresInARow: 0 };

const OPENS_AFTER = 5;
/** It also opens when this share of the recent calls failed, whatever succeeded in between. */
const OPENS_AT = { errorRate: 0.5, failures: 10 };
const FIRST_PAUSE_MS = 1_000;
/** Short, so that a node that is well again is noticed within seconds. */
const LONGEST_PAUSE_MS = 5_000;
const CLOSES_AFTER = 3;

/** The breaker as of now. @param nowMs By the clock of `until`. */
export function breakerAt(breaker: Breaker, nowMs: number): Breaker {
  if (breaker.kind !== "open" || nowMs < breaker.until) return breaker;
  return { kind: "half-open", pauseMs: breaker.pauseMs, successes: 0, isTrying: false };
}

/** The breaker after a call was sent to the node. */
export const afterSending = (breaker: Breaker): Breaker =>
  breaker.kind === "half-open" ? { ...breaker, isTrying: true } : breaker;

export function afterSuccess(breaker: Breaker): Breaker {
  switch (breaker.kind) {
    case "closed":
      return breaker.failuresInARow === 0 ? breaker : CLOSED;
    case "open": // the call was sent before the breaker opened
      return breaker;
    case "half-open": {
      const successes = breaker.successes + 1;
      return successes >= CLOSES_AFTER ? CLOSED : { ...breaker, successes, isTrying: false };
    }
  }
}

/** @param recent The sliding window's numbers, with this failure. */
export function afterFailure(
  breaker: Breaker,
  recent: { errorRate: number; failures: number },
  nowMs: number,
): Breaker {
  switch (breaker.kind) {
    case "closed": {
      const failuresInARow = breaker.failuresInARow + 1;
      const isFailing =
        recent.failures >= OPENS_AT.failures && recent.errorRate >= OPENS_AT.errorRate;
      if (failuresInARow < OPENS_AFTER && !isFailing) return { kind: "closed", failuresInARow };
      return { kind: "open", until: nowMs + FIRST_PAUSE_MS, pauseMs: FIRST_PAUSE_MS };
    }
    case "open":
      return breaker;
    case "half-open": {
      const pauseMs = Math.min(LONGEST_PAUSE_MS, breaker.pauseMs * 2);
      return { kind: "open", until: nowMs + pauseMs, pauseMs };
    }
  }
}

/** The breaker after a call that ended without telling anything about the node. */
export const afterNothing = (breaker: Breaker): Breaker =>
  breaker.kind === "half-open" ? { ...breaker, isTrying: false } : breaker;

/** Times in milliseconds; undefined when nothing was answered. */
export type Summary = {
  readonly answers: number;
  readonly failures: number;
  /** 0 to 1; 0 when nothing happened. */
  readonly errorRate: number;
  readonly meanMs: number | undefined;
  readonly medianMs: number | undefined;
  readonly p95Ms: number | undefined;
};

type Half = {
  times: RecordableHistogram | undefined;
  /** The histogram's own mean walks over all of it. */
  totalUs: number;
  answers: number;
  failures: number;
};

const HALF_MS = 15_000;
const LONGEST_US = 120_000_000;
/** Quantiles cost more than counting: a summary may be this old, in milliseconds. */
const SUMMARY_MS = 50;

/** What happened lately: counts and times of the running quarter of a minute, and of at most the one before. */
export class SlidingWindow {
  #present: Half = emptyHalf();
  #before: Half = emptyHalf();
  /** When the running half began. */
  #since: number;
  #summary: Summary | undefined;
  #summaryMadeAt = 0;
  readonly #clock: Pick<Clock, "now">;

  constructor(parts: { clock: Pick<Clock, "now"> }) {
    this.#clock = parts.clock;
    this.#since = parts.clock.now();
  }

  /** @param now By the clock. */
  answered(ms: number, now = this.#clock.now()): void {
    this.took(ms, now);
    this.#present.answers += 1;
  }

  /** Counts a time that would have been longer, but nobody waited. */
  took(ms: number, now = this.#clock.now()): void {
    this.#turn(now);
    const half = this.#present;
    half.times ??= createHistogram({ lowest: 1, highest: LONGEST_US, figures: 2 });
    const us = Math.min(LONGEST_US, Math.max(1, Math.round(ms * 1000)));
    half.times.record(us);
    half.totalUs += us;
  }

  failed(): void {
    this.#turn(this.#clock.now());
    this.#present.failures += 1;
    this.#summary = undefined;
  }

  /** Forgets all that happened. */
  forget(): void {
    this.#present = emptyHalf();
    this.#before = emptyHalf();
    this.#summary = undefined;
  }

  summary(): Summary {
    const now = this.#clock.now();
    if (!this.#summary || now - this.#summaryMadeAt >= SUMMARY_MS) {
      this.#turn(now);
      this.#summary = summaryOf(this.#present, this.#before);
      this.#summaryMadeAt = now;
    }
    return this.#summary;
  }

  #turn(now: number): void {
    const halves = Math.floor((now - this.#since) / HALF_MS);
    if (halves < 1) return;
    this.#before = halves === 1 ? this.#present : emptyHalf();
    this.#present = emptyHalf();
    this.#since += halves * HALF_MS; // kept in step: else a window that is seldom read would remember longer
    this.#summary = undefined;
  }
}

const emptyHalf = (): Half => ({ times: undefined, totalUs: 0, answers: 0, failures: 0 });

function summaryOf(present: Half, before: Half): Summary {
  const answers = present.answers + before.answers;
  const failures = present.failures + before.failures;
  // The times of the half with more answers.
  const { times, totalUs } = present.answers >= before.answers ? present : before;
  return {
    answers,
    failures,
    errorRate: failures === 0 ? 0 : failures / (answers + failures),
    meanMs: times && totalUs / times.count / 1000,
    medianMs: times && times.percentile(50) / 1000,
    p95Ms: times && times.percentile(95) / 1000,
  };
}
