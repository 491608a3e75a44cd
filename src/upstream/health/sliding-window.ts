// What happened lately: counts and times of the present quarter minute and of the one before it at most.
import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import type { Clock } from "../../lib/clock.ts";

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

type Half = { times: RecordableHistogram | undefined; answers: number; failures: number };

const HALF_MS = 15_000;
const LONGEST_US = 120_000_000;
/** Quantiles cost more than the counting: they may be so old, in milliseconds. */
const SUMMARY_MS = 50;

export class SlidingWindow {
  #present: Half = emptyHalf();
  #before: Half = emptyHalf();
  /** When the present half began. */
  #since: number;
  #summary: Summary | undefined;
  #summaryMadeAt = 0;
  readonly #clock: Pick<Clock, "now">;

  constructor(parts: { clock: Pick<Clock, "now"> }) {
    this.#clock = parts.clock;
    this.#since = parts.clock.now();
  }

  answered(ms: number): void {
    this.took(ms);
    this.#present.answers += 1;
  }

  /** It would have taken longer than that, but nobody waited. */
  took(ms: number): void {
    this.#turn();
    const half = this.#present;
    half.times ??= createHistogram({ lowest: 1, highest: LONGEST_US, figures: 2 });
    half.times.record(Math.min(LONGEST_US, Math.max(1, Math.round(ms * 1000))));
  }

  failed(): void {
    this.#turn();
    this.#present.failures += 1;
    this.#summary = undefined;
  }

  /** Nothing of what happened counts any more. */
  forget(): void {
    this.#present = emptyHalf();
    this.#before = emptyHalf();
    this.#summary = undefined;
  }

  summary(): Summary {
    const now = this.#clock.now();
    if (!this.#summary || now - this.#summaryMadeAt >= SUMMARY_MS) {
      this.#turn();
      this.#summary = summaryOf(this.#present, this.#before);
      this.#summaryMadeAt = now;
    }
    return this.#summary;
  }

  #turn(): void {
    const halves = Math.floor((this.#clock.now() - this.#since) / HALF_MS);
    if (halves < 1) return;
    this.#before = halves === 1 ? this.#present : emptyHalf();
    this.#present = emptyHalf();
    this.#since += halves * HALF_MS; // in step: what is seldom looked at would be remembered longer
    this.#summary = undefined;
  }
}

const emptyHalf = (): Half => ({ times: undefined, answers: 0, failures: 0 });

function summaryOf(present: Half, before: Half): Summary {
  const answers = present.answers + before.answers;
  const failures = present.failures + before.failures;
  // The times of the half that tells more.
  const { times } = present.answers >= before.answers ? present : before;
  return {
    answers,
    failures,
    errorRate: failures === 0 ? 0 : failures / (answers + failures),
    meanMs: times && times.mean / 1000,
    medianMs: times && times.percentile(50) / 1000,
    p95Ms: times && times.percentile(95) / 1000,
  };
}

/** Names beyond that share one measure: callers may invent some. */
const MOST_METHODS = 100;
/** So many answers tell what is usual. */
const LEAST_ANSWERS = 20;

/** How long each method takes on a network, whichever upstream answers: what is slow for one is known by that. */
export class MethodTimes {
  readonly #windowByMethod = new Map<string, SlidingWindow>();
  readonly #others: SlidingWindow;
  readonly #clock: Pick<Clock, "now">;

  constructor(parts: { clock: Pick<Clock, "now"> }) {
    this.#clock = parts.clock;
    this.#others = new SlidingWindow(parts);
  }

  answered(method: string, ms: number): void {
    this.#windowOf(method).answered(ms);
  }

  /** undefined while too few were answered to tell. */
  p95Ms(method: string): number | undefined {
    // A name that nobody ever answered gets no window of its own.
    const { answers, p95Ms } = (this.#windowByMethod.get(method) ?? this.#others).summary();
    return answers >= LEAST_ANSWERS ? p95Ms : undefined;
  }

  #windowOf(method: string): SlidingWindow {
    const known = this.#windowByMethod.get(method);
    if (known) return known;
    if (this.#windowByMethod.size >= MOST_METHODS) return this.#others;
    const window = new SlidingWindow({ clock: this.#clock });
    this.#windowByMethod.set(method, window);
    return window;
  }
}
