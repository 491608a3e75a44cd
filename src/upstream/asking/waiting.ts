// How long a call waits: for budget, and for a better answer than one that is not believed of one upstream alone.
import type { FinalReply } from "./call-options.ts";
import { type Attempt, NEVER } from "./decision.ts";

/** For budget, in all, in milliseconds. */
const MOST_MS = 1_000;
/** An upstream that refuses each time is not asked without end. */
const MOST_WAITS = 20;

/** Until some upstream has budget. */
export class BudgetWait {
  /** By the clock's `now`; Infinity while the call does not wait. */
  untilMs = NEVER;
  #sinceMs: number | undefined;
  #waits = 0;

  /**
   * @param mostMs Less than usual, in all waits together.
   * @returns false, and the call does not wait, when that is too long.
   */
  begin(ms: number, now: number, mostMs = MOST_MS): boolean {
    this.#sinceMs ??= now;
    const latestMs = this.#sinceMs + Math.min(mostMs, MOST_MS);
    if (now + ms > latestMs || this.#waits >= MOST_WAITS) return false;
    this.#waits += 1;
    this.untilMs = now + ms;
    return true;
  }

  /** @returns Whether a wait ended by now. */
  end(now: number): boolean {
    if (this.untilMs > now) return false;
    this.untilMs = NEVER;
    return true;
  }
}

/**
 * A better answer is waited for so many times longer than usual. The upstreams that were asked before are
 * waited for up to `mostMs` while they answer anything at all.
 */
const TIMEOUT = { times: 4, leastMs: 100, mostMs: 2_000 };
/** Of what must be somewhere, a silent upstream is waited for longer. */
const LACK_TIMEOUT_MS = 1_000;

/** @param usualMs How long such calls take at most, as a rule. */
export const crossCheckMs = (usualMs: number): number =>
  Math.max(TIMEOUT.leastMs, TIMEOUT.times * usualMs);

/** Whether others know better. */
export class CrossCheck {
  /** The first such answer: it counts when there is no better one. */
  readonly reply: FinalReply;
  /** When it is looked next whether anybody is worth waiting for, by the clock's `now`. */
  atMs: number;
  readonly #order: number;
  readonly #sinceMs: number;
  readonly #everyMs: number;

  /** @param order Of the attempt that gave it. */
  constructor(reply: FinalReply, order: number, time: { usualMs: number; now: number }) {
    const timeoutMs = crossCheckMs(time.usualMs);
    this.reply = reply;
    this.#order = order;
    this.#sinceMs = time.now;
    this.#everyMs = this.isPerhapsAll
      ? Math.min(timeoutMs, TIMEOUT.mostMs)
      : Math.max(timeoutMs, LACK_TIMEOUT_MS);
    this.atMs = time.now + this.#everyMs;
  }

  /** What one upstream lacks another one must have; what it does not know may not be there at all. */
  get isPerhapsAll(): boolean {
    return this.reply.kind === "result";
  }

  /** @returns Whether it ends now; if not, and it was time to look, the next look is set. */
  end(underWay: readonly Attempt[], now: number): boolean {
    if (this.atMs > now) return false;
    this.atMs = now + this.#everyMs;
    const isLong = this.isPerhapsAll && now - this.#sinceMs >= TIMEOUT.mostMs;
    // What waits for budget has a timeout of its own.
    if (!this.isPerhapsAll && underWay.length === 0) return false;
    return isLong || !underWay.some((attempt) => this.#isAwaited(attempt));
  }

  #isAwaited({ order, call, upstream }: Attempt): boolean {
    return (!this.isPerhapsAll || order < this.#order) && !(call && upstream.health.isSilent(call));
  }
}
