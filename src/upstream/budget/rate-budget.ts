// The rate at which calls may be sent to one upstream: configured, and learned from its "too often" refusals.
import type { UpstreamSettings } from "../../config/schema.ts";
import type { Clock } from "../../lib/clock.ts";
import { BestMatch } from "../../lib/pattern.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import { MonthCount, type MonthCountParts } from "./month-count.ts";

/** In calls, or in the vendor's credits if `costs` gives the price of calls. */
export type RateBudgetOptions = UpstreamSettings["rate"] & {
  readonly network: string;
  readonly upstream: string;
};

export type RateBudgetState = {
  /** The rate in force, whether configured or learned. */
  readonly perSecond: number | undefined;
  readonly isPaused: boolean;
  readonly pausedForMs: number;
  /** Both are undefined when months are not limited. */
  readonly monthUsed: number | undefined;
  readonly monthLeft: number | undefined;
};

/** Most vendors count per second: a larger burst would put the calls of two seconds into one. */
const BURST_SECONDS = 0.25;
/** The pause when the node names none. It doubles with each refusal without an answer in between. */
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = { status: 60_000, words: 5_000 };
/** The longest accepted pause. A node that names a day is nevertheless asked each hour. */
const LONGEST_NAMED_PAUSE_MS = 3_600_000;

/** This long after the last refusal, a learned limit, or a pause that the node did not name, may be wrong. */
const TRIED_AFTER_MS = 2_000;
/** How far calls that follow the chain may exceed the learned rate, in milliseconds of that rate. */
const EXCEEDED_MS = 1_000;

export class RateBudget {
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  /** The end of the pause that the node itself named; the rest of a pause is the gateway's guess. */
  #namedUntilMs = Number.NEGATIVE_INFINITY;
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  /** The number of pauses since the last answered call. */
  #pauses = 0;
  readonly #sent = new SentRate();
  /** undefined when every call costs 1. */
  readonly #costs: BestMatch<number> | undefined;
  readonly #limit: LearnedLimit;
  readonly #bucket: CallBucket;
  readonly #month: MonthCount | undefined;
  readonly #clock: Pick<Clock, "now">;

  constructor(options: RateBudgetOptions, { clock, state }: MonthCountParts) {
    const { network, upstream, perSecond, burst, perMonth, costs = {} } = options;
    const hasBurst = perSecond !== undefined && burst !== undefined;
    const burstSeconds = hasBurst ? burst / perSecond : BURST_SECONDS;
    this.#clock = clock;
    this.#costs = Object.keys(costs).length > 0 ? new BestMatch(costs) : undefined;
    this.#limit = new LearnedLimit(perSecond);
    this.#bucket = new CallBucket({ perSecond, burstSeconds }, clock.now());
    if (perMonth !== undefined)
      this.#month = new MonthCount(
        { key: `budget ${network} ${upstream}`, limit: perMonth },
        { clock, state },
      );
  }

  /** Reads this month's earlier usage. */
  async start(): Promise<void> {
    await this.#month?.start();
  }

  async close(): Promise<void> {
    await this.#month?.close();
  }

  costOf(method: string): number {
    return this.#costs?.of(method) ?? 1;
  }

  /**
   * How long a call of this cost has to wait, in milliseconds: 0 if it may go now, Infinity if not in this month.
   * @param nowMs Milliseconds of the clock.
   */
  waitMs(cost: number, nowMs = this.#clock.now()): number {
    if (this.#month && cost > this.#month.left) return Number.POSITIVE_INFINITY;
    this.#bucket.limitTo(this.#limit.inForce(nowMs), nowMs); // the learned limit may have expired
    return Math.max(this.#pauseMs(nowMs), this.#bucket.waitMs(cost, nowMs));
  }

  /** Whether only a learned limit or a guessed pause holds a call back, and the last refusal is long ago. */
  mayExceedLearnedLimit(cost: number): boolean {
    const nowMs = this.#clock.now();
    const isNew = nowMs - this.#refusedAtMs < TRIED_AFTER_MS || nowMs < this.#namedUntilMs;
    return !isNew && this.#isOnlyLearned(cost, nowMs);
  }

  /**
   * Whether a call that follows the chain may exceed the limit, ahead of callers' calls: the limit is only learned, no
   * pause is running, and the debt is at most one second of the rate.
   */
  mayBeExceeded(cost: number): boolean {
    const nowMs = this.#clock.now();
    const isOpen = this.#pauseMs(nowMs) === 0 && this.#isOnlyLearned(cost, nowMs);
    return isOpen && this.#bucket.waitMs(cost, nowMs) <= EXCEEDED_MS;
  }

  /** Must be called when a call is sent. If the call did not wait, later calls pay its cost. */
  take(cost: number, nowMs = this.#clock.now()): void {
    this.#sent.sent(cost, nowMs);
    this.#bucket.take(cost, nowMs);
    this.#month?.add(cost);
  }

  /**
   * Must be called when the node refused a call as "too often". All refusals of calls that were sent before the end
   * of the pause count as one.
   * @param retryAfterMs The pause that the node named.
   * @param sentAtMs When the refused call was sent, in milliseconds of the clock's `now`.
   * @param by The evidence: a pause that the node did not name is shorter when the node's words alone ask for it.
   */
  limited(
    retryAfterMs: number | undefined,
    sentAtMs: number,
    by: keyof typeof LONGEST_PAUSE_MS = "status",
  ): void {
    const nowMs = this.#clock.now();
    const isReported = retryAfterMs !== undefined && retryAfterMs > 0;
    const namedMs = isReported ? Math.min(retryAfterMs, LONGEST_NAMED_PAUSE_MS) : undefined;
    this.#refusedAtMs = nowMs;
    this.#namedUntilMs = Math.max(this.#namedUntilMs, nowMs + (namedMs ?? 0));
    if (sentAtMs < this.#pausedUntilMs) {
      this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + (namedMs ?? 0));
      return;
    }
    // Without an answer since the last pause, the pause was too short, which says nothing about the rate.
    if (this.#pauses === 0) this.#limit.lower(this.#sent.perSecond, nowMs);
    const ownMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#pauses, LONGEST_PAUSE_MS[by]);
    this.#pausedUntilMs = nowMs + (namedMs ?? ownMs);
    this.#pauses += 1;
    this.#bucket.limitTo(this.#limit.inForce(nowMs), nowMs);
  }

  /**
   * Must be called when the node accepted a call.
   * @param sentAtMs As for `limited`: a call sent before the end of a pause says nothing.
   */
  answered(sentAtMs: number): void {
    if (sentAtMs < this.#pausedUntilMs) return;
    const nowMs = this.#clock.now();
    this.#pauses = 0;
    this.#limit.raise(this.#sent.perSecond, nowMs);
    this.#bucket.limitTo(this.#limit.inForce(nowMs), nowMs);
  }

  /** The state for metrics, and for people. */
  state(): RateBudgetState {
    const nowMs = this.#clock.now();
    const pausedForMs = this.#pauseMs(nowMs);
    return {
      perSecond: this.#limit.inForce(nowMs),
      isPaused: pausedForMs > 0,
      pausedForMs,
      monthUsed: this.#month?.used,
      monthLeft: this.#month?.left,
    };
  }

  #isOnlyLearned(cost: number, nowMs: number): boolean {
    const isUsedUp = (this.#month?.left ?? cost) < cost;
    return !isUsedUp && this.#limit.isLearned(nowMs);
  }

  #pauseMs(nowMs: number): number {
    return Math.max(0, Math.ceil(this.#pausedUntilMs - nowMs));
  }
}

/** Spaces calls by a rate and a burst. The rate may change at any time. */
class CallBucket {
  /** In debt after a call that costs more than the burst, or that did not wait. */
  readonly #bucket: TokenBucket;
  /** undefined: no limit. */
  #perSecond: number | undefined;
  /** The highest cost of a call so far, at most the burst of the initial rate. */
  #dearest = 0;
  readonly #fullBurst: number;
  /** The size of the bucket, in calls or credits. */
  #size: number;
  readonly #burstSeconds: number;

  /** @param options.burstSeconds The burst is the number of calls that the rate allows in this time. */
  constructor(
    options: { readonly perSecond: number | undefined; readonly burstSeconds: number },
    nowMs: number,
  ) {
    const { perSecond = 0, burstSeconds } = options;
    this.#perSecond = options.perSecond;
    this.#burstSeconds = burstSeconds;
    this.#fullBurst = perSecond * burstSeconds;
    this.#size = this.#fullBurst;
    this.#bucket = new TokenBucket({ size: this.#fullBurst, perSecond }, nowMs);
  }

  /** Changes the rate; the bucket's tokens or debt stay. After a time without a limit, the bucket begins empty. */
  limitTo(perSecond: number | undefined, nowMs: number): void {
    this.#fit(nowMs);
    if (perSecond === this.#perSecond) return;
    this.#perSecond = perSecond;
    // A smaller burst applies from the next call on, whose cost may be high.
    this.#resize(Math.max(this.#size, this.#burst()), nowMs);
  }

  /**
   * How long a call of this cost has to wait, in whole milliseconds. A call that costs more than the burst waits for a
   * full bucket, since it could otherwise never go.
   */
  waitMs(cost: number, nowMs: number): number {
    if (this.#perSecond === undefined) return 0;
    this.#dearest = Math.max(this.#dearest, Math.min(cost, this.#fullBurst));
    this.#fit(nowMs);
    return this.#bucket.waitMs(cost, nowMs);
  }

  take(cost: number, nowMs: number): void {
    if (this.#perSecond === undefined) return;
    this.#fit(nowMs);
    // Calls that did not wait leave a debt of one second at most: while they continue, more would never be paid.
    this.#bucket.spend(cost, nowMs, Math.max(cost, this.#perSecond));
  }

  #fit(nowMs: number): void {
    const size = this.#burst();
    if (size !== this.#size) this.#resize(size, nowMs);
  }

  #resize(size: number, nowMs: number): void {
    this.#size = size;
    this.#bucket.resize({ size, perSecond: this.#perSecond ?? 0 }, nowMs);
  }

  /** The burst falls with the rate, but calls that fitted into it still do, without a debt. */
  #burst(): number {
    return Math.max((this.#perSecond ?? 0) * this.#burstSeconds, this.#dearest);
  }
}

/** After a refusal, the limit is this share of the rate at which calls were sent. */
const LOWERED_TO = 0.7;
/** The share of itself by which the limit rises in a second … */
const RISE = 0.05;
/** … but less near the rate of the last refusal, so that the limit stays just below that rate for most of the time. */
const CAREFUL_RISE = 0.01;
const CAREFUL_FROM = 0.9;
const CAREFUL_UNTIL = 1.1;
/** If calls use less than this share of the limit, their answers say nothing about a higher rate. */
const USED_FROM = 0.7;
/** The multiple of the limit that, when sent, proves the limit too low: more than the bursts that it allows. */
const PROVEN_FROM = 1.5;
const PROVEN_AFTER_MS = 2_000;
/** A single answer after a pause must not raise the limit by the whole pause. */
const LONGEST_RISE_MS = 1000;
/** A learned limit expires after this time without refusals: vendors change plans, and neighbours leave. */
const FORGOTTEN_AFTER_MS = 600_000;

/** The rate that an upstream allows, as learned: refusals lower it, and answers raise it. */
export class LearnedLimit {
  /** Below the configured rate, if there is one. */
  #perSecond: number | undefined;
  /** The rate of calls at the last refusal. */
  #refusedAtPerSecond = 0;
  #refusedAtMs = 0;
  #raisedAtMs = 0;
  readonly #configured: number | undefined;

  constructor(configured: number | undefined) {
    this.#configured = configured;
  }

  /** Units per second; undefined without a limit. */
  inForce(nowMs: number): number | undefined {
    return this.#learned(nowMs) ?? this.#configured;
  }

  /** Whether there is a limit, and it is not configured. */
  isLearned(nowMs: number): boolean {
    return this.#configured === undefined && this.#learned(nowMs) !== undefined;
  }

  #learned(nowMs: number): number | undefined {
    return nowMs - this.#refusedAtMs < FORGOTTEN_AFTER_MS ? this.#perSecond : undefined;
  }

  /** Must be called when the node refused calls sent at this rate. */
  lower(sentPerSecond: number, nowMs: number): void {
    const limit = this.inForce(nowMs) ?? Number.POSITIVE_INFINITY;
    this.#refusedAtPerSecond = Math.min(limit, Math.max(1, sentPerSecond));
    this.#perSecond = this.#refusedAtPerSecond * LOWERED_TO;
    this.#refusedAtMs = nowMs;
    this.#raisedAtMs = nowMs;
  }

  /** The rate that the node proved to accept, when calls exceeded the limit for lack of another node; else 0. */
  #provenPerSecond(sentPerSecond: number, limit: number, nowMs: number): number {
    const isNews =
      sentPerSecond > limit * PROVEN_FROM && nowMs - this.#refusedAtMs >= PROVEN_AFTER_MS;
    return isNews ? Math.min(sentPerSecond, limit * 2) : 0;
  }

  /** Must be called when the node answers calls sent at this rate. */
  raise(sentPerSecond: number, nowMs: number): void {
    const limit = this.#learned(nowMs);
    if (limit === undefined) return;
    const seconds = Math.min(nowMs - this.#raisedAtMs, LONGEST_RISE_MS) / 1000;
    this.#raisedAtMs = nowMs;
    if (sentPerSecond < limit * USED_FROM) return;
    const part = limit / this.#refusedAtPerSecond;
    const isNear = part > CAREFUL_FROM && part < CAREFUL_UNTIL;
    const risen = limit * (1 + (isNear ? CAREFUL_RISE : RISE) * seconds);
    const raised = Math.max(risen, this.#provenPerSecond(sentPerSecond, limit, nowMs));
    const isAtConfigured = this.#configured !== undefined && raised >= this.#configured;
    this.#perSecond = isAtConfigured ? undefined : raised;
  }
}

const SPAN_MS = 1000;

/** The units sent to an upstream in the second up to the last call. */
class SentRate {
  /** The units sent in the current second, and in the second before. */
  #running = 0;
  #before = 0;
  #beganAtMs = Number.NEGATIVE_INFINITY;
  #lastAtMs = Number.NEGATIVE_INFINITY;

  sent(cost: number, nowMs: number): void {
    const spans = Math.floor((nowMs - this.#beganAtMs) / SPAN_MS);
    if (spans > 0) {
      this.#before = spans === 1 ? this.#running : 0;
      this.#running = 0;
      this.#beganAtMs = spans === 1 ? this.#beganAtMs + SPAN_MS : nowMs;
    }
    this.#running += cost;
    this.#lastAtMs = nowMs;
  }

  /** The rate at the last call, not now: a refusal may arrive late, and concerns the time of its call. */
  get perSecond(): number {
    if (this.#before === 0) return this.#running;
    const passed = (this.#lastAtMs - this.#beganAtMs) / SPAN_MS;
    return this.#running + this.#before * (1 - passed);
  }
}
