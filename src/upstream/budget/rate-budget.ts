// How much may be sent to one upstream: as configured, and as learned when it says "too often".
import type { UpstreamSettings } from "../../config/schema.ts";
import type { Clock } from "../../lib/clock.ts";
import { BestMatch } from "../../lib/pattern.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import { MonthCount, type MonthCountParts } from "./month-count.ts";

/** In calls, or in the vendor's credits where `costs` says what a call costs. */
export type RateBudgetOptions = UpstreamSettings["rate"] & {
  readonly network: string;
  readonly upstream: string;
};

export type RateBudgetState = {
  /** The configured or the learned rate, whichever is in force. */
  readonly perSecond: number | undefined;
  readonly isPaused: boolean;
  readonly pausedForMs: number;
  /** Both are undefined where months are not limited. */
  readonly monthUsed: number | undefined;
  readonly monthLeft: number | undefined;
};

/** Most vendors count by the second: a larger burst would put two seconds' calls into one. */
const BURST_SECONDS = 0.25;
/** The pause when the node tells none. It is doubled each time that nothing was answered in between. */
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
/** The longest pause that a node may name. One that names a day is asked each hour all the same. */
const LONGEST_NAMED_PAUSE_MS = 3_600_000;

/** This long after the last refusal, a learned limit, or a pause that no node named, may be wrong. */
const TRIED_AFTER_MS = 2_000;
/** How far ahead of the learned rate calls may be that go before those of callers. */
const EXCEEDED_MS = 1_000;

export class RateBudget {
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  /** Until when the node itself wants no calls: the rest of a pause is a guess. */
  #namedUntilMs = Number.NEGATIVE_INFINITY;
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  /** How many pauses there were since the last call that was answered. */
  #pauses = 0;
  readonly #sent = new SentRate();
  /** undefined where every call costs 1. */
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

  /** Reads what was used in this month before. */
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
   * How long a call of this cost has to wait, in milliseconds: 0 when it may go now, Infinity when not in this month.
   * @param nowMs By the clock.
   */
  waitMs(cost: number, nowMs = this.#clock.now()): number {
    if (this.#month && cost > this.#month.left) return Number.POSITIVE_INFINITY;
    this.#bucket.limitTo(this.#limit.inForce(nowMs), nowMs); // the limit may have been forgotten
    return Math.max(this.#pauseMs(nowMs), this.#bucket.waitMs(cost, nowMs));
  }

  /**
   * Whether neither the limit nor the pause that makes calls wait came from the node, and the last refusal is long ago.
   */
  mayBeTried(cost: number): boolean {
    const nowMs = this.#clock.now();
    const isNew = nowMs - this.#refusedAtMs < TRIED_AFTER_MS || nowMs < this.#namedUntilMs;
    return !isNew && this.#isOnlyLearned(cost, nowMs);
  }

  /**
   * As `mayBeTried`, and no more is owed than what the rate gives in a second: for calls that go before those of
   * callers.
   */
  mayBeExceeded(cost: number): boolean {
    const nowMs = this.#clock.now();
    const isOpen = this.#pauseMs(nowMs) === 0 && this.#isOnlyLearned(cost, nowMs);
    return isOpen && this.#bucket.waitMs(cost, nowMs) <= EXCEEDED_MS;
  }

  /** To be called when a call is sent. The cost of a call that did not wait is paid by those after it. */
  take(cost: number, nowMs = this.#clock.now()): void {
    this.#sent.sent(cost, nowMs);
    this.#bucket.take(cost, nowMs);
    this.#month?.add(cost);
  }

  /**
   * To be called when the node said "too often". All calls that were sent before the end of its pause count as one
   * refusal.
   * @param retryAfterMs As the node said.
   * @param sentAtMs When the refused call was sent, by the clock's `now`.
   */
  limited(retryAfterMs: number | undefined, sentAtMs: number): void {
    const nowMs = this.#clock.now();
    const isReported = retryAfterMs !== undefined && retryAfterMs > 0;
    const namedMs = isReported ? Math.min(retryAfterMs, LONGEST_NAMED_PAUSE_MS) : undefined;
    this.#refusedAtMs = nowMs;
    this.#namedUntilMs = Math.max(this.#namedUntilMs, nowMs + (namedMs ?? 0));
    if (sentAtMs < this.#pausedUntilMs) {
      this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + (namedMs ?? 0));
      return;
    }
    // When nothing was answered since the last pause, the pause was too short, which says nothing about the rate.
    if (this.#pauses === 0) this.#limit.lower(this.#sent.perSecond, nowMs);
    const ownMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#pauses, LONGEST_PAUSE_MS);
    this.#pausedUntilMs = nowMs + (namedMs ?? ownMs);
    this.#pauses += 1;
    this.#bucket.limitTo(this.#limit.inForce(nowMs), nowMs);
  }

  /**
   * To be called when the node took a call.
   * @param sentAtMs As for `limited`: a call from before a pause tells nothing.
   */
  answered(sentAtMs: number): void {
    if (sentAtMs < this.#pausedUntilMs) return;
    const nowMs = this.#clock.now();
    this.#pauses = 0;
    this.#limit.raise(this.#sent.perSecond, nowMs);
    this.#bucket.limitTo(this.#limit.inForce(nowMs), nowMs);
  }

  /** For metrics, and for people. */
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

/** Spaces calls: a rate, and a burst. The rate may change while it runs. */
class CallBucket {
  /** It is in debt after a call that costs more than the burst, or one that did not wait. */
  readonly #bucket: TokenBucket;
  /** undefined: no limit. */
  #perSecond: number | undefined;
  /** The cost of the dearest call so far, at most the burst of the rate that it began with. */
  #dearest = 0;
  readonly #fullBurst: number;
  /** The size of the bucket, in calls. */
  #size: number;
  readonly #burstSeconds: number;

  /** @param options.burstSeconds The burst is what the rate gives in this time. */
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

  /** Changes the rate. What is left, and what is owed, stays. After no limit the bucket begins empty. */
  limitTo(perSecond: number | undefined, nowMs: number): void {
    this.#fit(nowMs);
    if (perSecond === this.#perSecond) return;
    this.#perSecond = perSecond;
    // A smaller burst counts from the next call on, which may be a dear one.
    this.#resize(Math.max(this.#size, this.#burst()), nowMs);
  }

  /**
   * How long a call of this cost has to wait, in whole milliseconds. A call that costs more than the burst waits for a
   * full bucket, since it could never go otherwise.
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
    // Calls that did not wait leave a debt of one second at most: else it would never be paid while they go on.
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

  /** Less when the rate was lowered; but calls that fitted into the burst still do, and make no debts. */
  #burst(): number {
    return Math.max((this.#perSecond ?? 0) * this.#burstSeconds, this.#dearest);
  }
}

/** After a refusal the limit is this share of the rate at which calls were sent. */
const LOWERED_TO = 0.7;
/** By which share of itself the limit rises in a second … */
const RISE = 0.05;
/** … but slowly near the last refusal: most of the time is to be spent just below it. */
const CAREFUL_RISE = 0.01;
const CAREFUL_FROM = 0.9;
const CAREFUL_UNTIL = 1.1;
/** A limit of which less than this share is used shows nothing about what the node would take. */
const USED_FROM = 0.7;
/** How many times the limit must have been sent to prove that it is too low: more than the bursts that it allows. */
const PROVEN_FROM = 1.5;
const PROVEN_AFTER_MS = 2_000;
/** One answer after a pause is no reason for a long rise. */
const LONGEST_RISE_MS = 1000;
/** A learned limit is forgotten after this time without refusals: vendors change plans, and neighbours leave. */
const FORGOTTEN_AFTER_MS = 600_000;

/** The rate that an upstream was found to allow. It is lowered when it refuses, and raised while it does not. */
export class LearnedLimit {
  /** It is below the configured rate, if there is one. */
  #perSecond: number | undefined;
  /** The rate of calls when it was lowered last. */
  #refusedAtPerSecond = 0;
  #refusedAtMs = 0;
  #raisedAtMs = 0;
  readonly #configured: number | undefined;

  constructor(configured: number | undefined) {
    this.#configured = configured;
  }

  /** Units per second; undefined when there is no limit. */
  inForce(nowMs: number): number | undefined {
    return this.#learned(nowMs) ?? this.#configured;
  }

  /** Whether there is a limit that nobody configured. */
  isLearned(nowMs: number): boolean {
    return this.#configured === undefined && this.#learned(nowMs) !== undefined;
  }

  #learned(nowMs: number): number | undefined {
    return nowMs - this.#refusedAtMs < FORGOTTEN_AFTER_MS ? this.#perSecond : undefined;
  }

  /** To be called when the node refused at this rate of calls. */
  lower(sentPerSecond: number, nowMs: number): void {
    const limit = this.inForce(nowMs) ?? Number.POSITIVE_INFINITY;
    this.#refusedAtPerSecond = Math.min(limit, Math.max(1, sentPerSecond));
    this.#perSecond = this.#refusedAtPerSecond * LOWERED_TO;
    this.#refusedAtMs = nowMs;
    this.#raisedAtMs = nowMs;
  }

  /** More than the limit was sent, since no other node could answer, and the node took it. */
  #provenPerSecond(sentPerSecond: number, limit: number, nowMs: number): number {
    const isNews =
      sentPerSecond > limit * PROVEN_FROM && nowMs - this.#refusedAtMs >= PROVEN_AFTER_MS;
    return isNews ? Math.min(sentPerSecond, limit * 2) : 0;
  }

  /** To be called when the node answers at this rate of calls. */
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

/** How much was sent to an upstream in the last second in which anything was sent. */
class SentRate {
  /** Two spans of time: what was sent in the running one, and in the one before. */
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

  /** As of the last call, not of now: a refusal may come late, and is about the time of its call. */
  get perSecond(): number {
    if (this.#before === 0) return this.#running;
    const passed = (this.#lastAtMs - this.#beganAtMs) / SPAN_MS;
    return this.#running + this.#before * (1 - passed);
  }
}
