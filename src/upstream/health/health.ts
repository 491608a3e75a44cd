// The health of one upstream, by kind of work: its calls in flight, and recent outcomes. A circuit breaker stops
// calls to an upstream that fails repeatedly: first it allows no calls, then one at a time, then all again.
import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import type { Clock } from "../../lib/clock.ts";
import type { WorkKind } from "../../namespaces/known-method.ts";
import type { Reply } from "../reply.ts";

/** The health for one kind of work. */
export type KindHealth = Summary & {
  readonly breaker: Breaker["kind"];
  /** The upstream has few recent answers, or recovers from failures: it gets only a small share of the calls. */
  readonly isUntried: boolean;
};

/** A call that the node has not answered yet. */
export type OpenCall = { readonly workKind: WorkKind; readonly sentAt: number };

/** The outcome of a call, as evidence about the node. */
export type AttemptEnding =
  | Reply["kind"]
  /** The node reported a failure, perhaps of this call alone. */
  | "reported failure"
  /** Another node's answer came long before the node's. */
  | "superseded";

type WindowOfKind = {
  readonly window: SlidingWindow;
  breaker: Breaker;
  /** When the breaker last opened: calls that were sent earlier say nothing about the node's present health. */
  openedAt: number;
  /** When the last reply arrived. */
  heardAt: number;
  /** Calls that take longer than usual, since the node's last reply to a call of this kind. */
  readonly late: Set<OpenCall>;
};

/** Answers. With fewer of them, the node's speed is uncertain. */
const TRIED_AFTER = 10;
/** The number of simultaneous late calls that shows that the node has stopped, rather than chance. */
const STALLED_AFTER = 3;

export class Health {
  #inFlight = 0;
  /** When the last reply to a call of any kind arrived. */
  #heardAt = Number.NEGATIVE_INFINITY;
  /** Late calls of any kind, since the node's last reply to any call. */
  readonly #late = new Set<OpenCall>();
  readonly #kinds = new Map<WorkKind, WindowOfKind>();
  readonly #clock: Pick<Clock, "now">;
  readonly #onSuspected: () => void;

  /** @param onSuspected Is called when a breaker opens, or a call fails after which the node sent no reply. */
  constructor(parts: { clock: Pick<Clock, "now"> }, onSuspected: () => void = () => undefined) {
    this.#clock = parts.clock;
    this.#onSuspected = onSuspected;
  }

  /** The number of calls that the node has not answered. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Must be called when a call is sent. */
  open(workKind: WorkKind, sentAt = this.#clock.now()): OpenCall {
    const of = this.#of(workKind);
    this.#inFlight += 1;
    of.breaker = afterSending(breakerAt(of.breaker, sentAt));
    return { workKind, sentAt };
  }

  /** Must be called when a call ends. @param now Milliseconds of the clock. */
  close(call: OpenCall, ending: AttemptEnding, now = this.#clock.now()): void {
    const of = this.#of(call.workKind);
    this.#inFlight -= 1;
    const wasSilent = this.isSilent(call);
    of.late.delete(call);
    this.#late.delete(call);
    const isAnswer = ending === "result" || ending === "refused";
    // `missing` is an honest refusal, and `busy` concerns the budget.
    const hasReplied = ending === "missing" || ending === "busy" || ending === "reported failure";
    if (isAnswer || hasReplied) this.#hear(of, now);
    if (call.sentAt <= of.openedAt) return;
    if (isAnswer) of.window.answered(now - call.sentAt, now);
    if (ending === "superseded" || ending === "timeout") of.window.took(now - call.sentAt, now);
    const isFailure = ending === "failed" || ending === "timeout" || ending === "reported failure";
    if (isFailure || (ending === "superseded" && wasSilent)) this.#failed(of, call);
    else if (isAnswer) this.#succeeded(of);
    else of.breaker = afterNothing(of.breaker);
  }

  /** Must be called when a call takes longer than is usual for such calls. */
  late(call: OpenCall): void {
    if (this.isSilent(call)) this.#of(call.workKind).late.add(call);
    if (this.#heardAt < call.sentAt) this.#late.add(call);
  }

  /** Whether the node has sent no reply of this kind of work since the call was sent. */
  isSilent({ workKind, sentAt }: OpenCall): boolean {
    return (this.#kinds.get(workKind)?.heardAt ?? Number.NEGATIVE_INFINITY) < sentAt;
  }

  /** Whether the node seems to have just stopped answering. */
  isStalled(workKind: WorkKind): boolean {
    return Math.max(this.#kinds.get(workKind)?.late.size ?? 0, this.#late.size) >= STALLED_AFTER;
  }

  ofKind(name: WorkKind): KindHealth {
    const of = this.#of(name);
    const breaker = breakerAt(of.breaker, this.#clock.now());
    const summary = of.window.summary();
    // While one call tries the node, the breaker is open to other calls.
    const isTrying = breaker.kind === "half-open" && breaker.isTrying;
    return {
      ...summary,
      breaker: isTrying || this.isStalled(name) ? "open" : breaker.kind,
      isUntried: summary.answers < TRIED_AFTER || breaker.kind === "half-open",
    };
  }

  /** The kinds of work for which the node was asked. */
  get workKinds(): readonly WorkKind[] {
    return [...this.#kinds.keys()];
  }

  #hear(of: WindowOfKind, now: number): void {
    this.#heardAt = Math.max(this.#heardAt, now);
    of.heardAt = Math.max(of.heardAt, now);
    // `clear` allocates, even for an empty set.
    if (of.late.size > 0) of.late.clear();
    if (this.#late.size > 0) this.#late.clear();
  }

  #succeeded(of: WindowOfKind): void {
    const wasClosed = of.breaker.kind === "closed";
    of.breaker = afterSuccess(of.breaker);
    if (!wasClosed && of.breaker.kind === "closed") of.window.forget(); // the node may have been replaced
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
  /** The pause is over: a single call at a time tries the node. */
  | {
      readonly kind: "half-open";
      readonly pauseMs: number;
      readonly successes: number;
      readonly isTrying: boolean;
    };

export const CLOSED: Breaker = { kind: "closed", failuresInARow: 0 };

const OPENS_AFTER = 5;
/** The breaker also opens when this share of the recent calls failed, no matter which calls succeeded in between. */
const OPENS_AT = { errorRate: 0.5, failures: 10 };
const FIRST_PAUSE_MS = 1_000;
/** Short, so that the gateway notices within seconds that a node has recovered. */
const LONGEST_PAUSE_MS = 5_000;
const CLOSES_AFTER = 3;

/** The breaker at a time. @param nowMs Milliseconds of the clock of `until`. */
export function breakerAt(breaker: Breaker, nowMs: number): Breaker {
  if (breaker.kind !== "open" || nowMs < breaker.until) return breaker;
  return { kind: "half-open", pauseMs: breaker.pauseMs, successes: 0, isTrying: false };
}

/** The breaker after a call is sent to the node. */
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

/** @param recent The sliding window's numbers, including this failure. */
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

/** The breaker after a call that ended without evidence about the node. */
export const afterNothing = (breaker: Breaker): Breaker =>
  breaker.kind === "half-open" ? { ...breaker, isTrying: false } : breaker;

/** Times in milliseconds; undefined without answers. */
export type Summary = {
  readonly answers: number;
  readonly failures: number;
  /** From 0 to 1; 0 without calls. */
  readonly errorRate: number;
  readonly meanMs: number | undefined;
  readonly medianMs: number | undefined;
  readonly p95Ms: number | undefined;
};

type Half = {
  times: RecordableHistogram | undefined;
  /** Summed up here, as the histogram's own mean iterates over the whole histogram. */
  totalUs: number;
  answers: number;
  failures: number;
};

const HALF_MS = 15_000;
const LONGEST_US = 120_000_000;
/** Milliseconds. Quantiles cost more than counting, so a summary may be this old. */
const SUMMARY_MS = 50;

/** Recent outcomes and times: those of the current 15 seconds, and of the 15 seconds before. */
export class SlidingWindow {
  #present: Half = emptyHalf();
  #before: Half = emptyHalf();
  /** When the current half began. */
  #since: number;
  #summary: Summary | undefined;
  #summaryMadeAt = 0;
  readonly #clock: Pick<Clock, "now">;

  constructor(parts: { clock: Pick<Clock, "now"> }) {
    this.#clock = parts.clock;
    this.#since = parts.clock.now();
  }

  /** @param now Milliseconds of the clock. */
  answered(ms: number, now = this.#clock.now()): void {
    this.took(ms, now);
    this.#present.answers += 1;
  }

  /** Records the time of a call that was given up, which would have taken longer. */
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

  /** Forgets all outcomes. */
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
    this.#since += halves * HALF_MS; // a multiple: otherwise a rarely read window would remember for longer
    this.#summary = undefined;
  }
}

const emptyHalf = (): Half => ({ times: undefined, totalUs: 0, answers: 0, failures: 0 });

function summaryOf(present: Half, before: Half): Summary {
  const answers = present.answers + before.answers;
  const failures = present.failures + before.failures;
  // Times come from the half with more answers.
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
