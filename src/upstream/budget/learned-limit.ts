// The rate that an upstream was found to allow: lowered when it refuses, raised while it does not; and the rate that
// it is sent.

/** Of what was sent when it refused. */
const LOWERED_TO = 0.7;
/** So much of itself it rises in a second … */
const RISE = 0.05;
/** … but slowly where the last refusal was: most of the time is to be spent right below it. */
const CAREFUL_RISE = 0.01;
const CAREFUL_FROM = 0.9;
const CAREFUL_UNTIL = 1.1;
/** A limit that is not used up says nothing of what the node would take. */
const USED_FROM = 0.7;
/** More than the bursts that a limit allows. */
const PROVEN_FROM = 1.5;
const PROVEN_AFTER_MS = 2_000;
/** One answer after a silence is no reason for a long rise. */
const LONGEST_RISE_MS = 1000;
/** Vendors change plans, and neighbours leave. */
const FORGOTTEN_AFTER_MS = 600_000;

export class LearnedLimit {
  /** Below the configured one, if there is one. */
  #perSecond: number | undefined;
  /** What was sent when it was lowered last. */
  #refusedAtPerSecond = 0;
  #refusedAtMs = 0;
  #raisedAtMs = 0;
  readonly #configured: number | undefined;

  constructor(configured: number | undefined) {
    this.#configured = configured;
  }

  /** Units a second; undefined when there is no limit. */
  inForce(nowMs: number): number | undefined {
    if (nowMs - this.#refusedAtMs >= FORGOTTEN_AFTER_MS) this.#perSecond = undefined;
    return this.#perSecond ?? this.#configured;
  }

  /** There is one, and nobody configured any. */
  isLearned(nowMs: number): boolean {
    return this.#configured === undefined && this.inForce(nowMs) !== undefined;
  }

  /** The node refused while so much was sent. */
  lower(sentPerSecond: number, nowMs: number): void {
    const limit = this.inForce(nowMs) ?? Number.POSITIVE_INFINITY;
    this.#refusedAtPerSecond = Math.min(limit, Math.max(1, sentPerSecond));
    this.#perSecond = this.#refusedAtPerSecond * LOWERED_TO;
    this.#refusedAtMs = nowMs;
    this.#raisedAtMs = nowMs;
  }

  /** More than the limit was sent since nobody else could answer, and the node took it. */
  #provenPerSecond(sentPerSecond: number, limit: number, nowMs: number): number {
    const isNews =
      sentPerSecond > limit * PROVEN_FROM && nowMs - this.#refusedAtMs >= PROVEN_AFTER_MS;
    return isNews ? Math.min(sentPerSecond, limit * 2) : 0;
  }

  /** The node answers while so much is sent. */
  raise(sentPerSecond: number, nowMs: number): void {
    const limit = this.#perSecond;
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

/** How much was sent to an upstream in the last second in which anything was. */
export class SentRate {
  /** Two spans side by side: what was sent in the one that is running, and in the one before. */
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

  /** As of the last call, not of now: a refusal may take long to come, and is about then. */
  get perSecond(): number {
    if (this.#before === 0) return this.#running;
    const passed = (this.#lastAtMs - this.#beganAtMs) / SPAN_MS;
    return this.#running + this.#before * (1 - passed);
  }
}
