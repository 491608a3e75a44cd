// How many calls of a kind go to an upstream as one request: as configured, or as it turns out to take them well.
import type { Clock } from "../../lib/clock.ts";
import type { MethodTraits, WorkKind } from "../../namespaces/known-method.ts";

export type BatchSizesOptions = {
  /** The most calls in one request; undefined: it is learned. */
  readonly configured: number | undefined;
};

export type BatchSizesParts = {
  readonly clock: Pick<Clock, "now">;
  /** Told the most that the upstream takes, when that is less than before; 1: it takes no batches. */
  readonly onLimited?: ((size: number) => void) | undefined;
};

/** Of what is learned. */
const MOST = 100;
/** Of other kinds one answer may be large, or long in coming, beside the others. */
const QUICK: ReadonlySet<WorkKind> = new Set(["chain", "blocks", "state", "execution"]);
/** So long a limit that was told is kept where nobody configured one: nodes are upgraded, and proxies leave. */
const LIMITED_MS = 600_000;
/** A batch that is late is given up for single calls, but no more than one in so many. */
const LATE_EVERY = 10;
const MOST_LATE_SAVED = 3;

export class BatchSizes {
  #limit: number;
  #limitedAtMs = Number.NEGATIVE_INFINITY;
  #lateSaved = MOST_LATE_SAVED;
  readonly #kinds = new Map<WorkKind, LearnedSize>();
  readonly #isLearned: boolean;
  readonly #most: number;
  readonly #parts: BatchSizesParts;

  constructor({ configured }: BatchSizesOptions, parts: BatchSizesParts) {
    this.#isLearned = configured === undefined;
    this.#most = configured ?? MOST;
    this.#limit = this.#most;
    this.#parts = parts;
  }

  /** Calls of the same group may go as one request; undefined: such a call goes by itself. */
  groupOf({
    isBatchable,
    workKind,
  }: Pick<MethodTraits, "isBatchable" | "workKind">): WorkKind | undefined {
    if (!isBatchable) return undefined;
    if (!this.#isLearned) return "other";
    return QUICK.has(workKind) ? workKind : undefined;
  }

  /** Whether also what nobody waits for goes together. */
  get isConfigured(): boolean {
    return !this.#isLearned && this.#most > 1;
  }

  /** The most calls in one request now; 1: each by itself. */
  mostOf(group: WorkKind): number {
    if (!this.#isLearned) return this.#limit;
    const now = this.#parts.clock.now();
    return Math.min(this.#limitAt(now), this.#of(group).most(now));
  }

  /** The same for a request that begins now: what is not proven is tried with one request at a time. */
  take(group: WorkKind): number {
    if (!this.#isLearned) return this.#limit;
    const now = this.#parts.clock.now();
    return Math.min(this.#limitAt(now), this.#of(group).take(now));
  }

  /** After so long, in milliseconds, a batch is given up for single calls; Infinity: never. */
  lateMs(group: WorkKind): number {
    return this.#isLearned ? this.#of(group).lateMs : Number.POSITIVE_INFINITY;
  }

  /** Each call has its answer. `members` may be 1: by itself. @param sentAtMs By the clock's `now`. */
  answered(group: WorkKind, members: number, sentAtMs: number): void {
    if (!this.#isLearned) return;
    if (members > 1) this.#lateSaved = Math.min(MOST_LATE_SAVED, this.#lateSaved + 1 / LATE_EVERY);
    this.#of(group).answered(members, sentAtMs, this.#parts.clock.now());
  }

  /** Something was wrong with its answer, or the upstream was asked too much. */
  failed(group: WorkKind, sentAtMs: number): void {
    if (this.#isLearned) this.#of(group).failed(sentAtMs, this.#parts.clock.now());
  }

  /** @returns Whether its calls are to be sent by themselves, too. */
  late(group: WorkKind, sentAtMs: number): boolean {
    this.failed(group, sentAtMs);
    if (this.#lateSaved < 1) return false;
    this.#lateSaved -= 1;
    return true;
  }

  /** The upstream takes no batches of so many: half of that is the most. Several refusals of one moment are one. */
  refused(members: number): void {
    this.limitTo(Math.floor(members / 2));
  }

  limitTo(size: number): void {
    const now = this.#parts.clock.now();
    if (size >= this.#limitAt(now)) return;
    this.#limit = Math.max(1, size);
    this.#limitedAtMs = now;
    this.#parts.onLimited?.(this.#limit);
  }

  #limitAt(now: number): number {
    const isKept = !this.#isLearned || now - this.#limitedAtMs < LIMITED_MS;
    return isKept ? this.#limit : this.#most;
  }

  #of(group: WorkKind): LearnedSize {
    const known = this.#kinds.get(group);
    if (known) return known;
    const size = new LearnedSize();
    this.#kinds.set(group, size);
    return size;
  }
}

const FIRST = 2;
/** A request of so many that was begun, and has no answer, is waited for so long before another is tried. */
const TRIED_MS = 1_000;
/** After a batch of two that went badly there are none for so long, each time for twice as long … */
const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 600_000;
/** … until so many went well together. */
const PROVEN = 8;
/** Where members turn out to delay each other. */
const SLOW_REST_MS = 2_000;
/** A batch takes so many times longer than usual, and at least so long, before it is late. */
const LATE = { times: 4, leastMs: 100 };

/** Of one kind of work: doubled when a full batch went well, halved when one did not. */
class LearnedSize {
  #size = FIRST;
  #changedAtMs = Number.NEGATIVE_INFINITY;
  #restsUntilMs = Number.NEGATIVE_INFINITY;
  #restMs = FIRST_REST_MS;
  /** While it is not proven: when a request was begun with it that has no answer. */
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #time = new MemberTime();

  most(now: number): number {
    return now < this.#restsUntilMs ? 1 : Math.min(this.#size, this.#time.most);
  }

  take(now: number): number {
    if (this.#size > FIRST) return this.most(now);
    if (now - this.#triedAtMs < TRIED_MS) return 1;
    const most = this.most(now);
    if (most > 1) this.#triedAtMs = now;
    return most;
  }

  get lateMs(): number {
    return Math.max(LATE.leastMs, LATE.times * this.#time.meanMs);
  }

  /** What was sent before the last change says nothing of the size as it is now. */
  answered(members: number, sentAtMs: number, now: number): void {
    if (sentAtMs >= this.#triedAtMs) this.#triedAtMs = Number.NEGATIVE_INFINITY;
    this.#time.took(members, now - sentAtMs);
    if (this.#time.most < FIRST) this.#rest(now, SLOW_REST_MS);
    if (members < this.#size || sentAtMs <= this.#changedAtMs) return;
    this.#size = Math.min(MOST, this.#size * 2);
    this.#changedAtMs = now;
    if (this.#size >= PROVEN) this.#restMs = FIRST_REST_MS;
  }

  failed(sentAtMs: number, now: number): void {
    if (sentAtMs <= this.#changedAtMs) return;
    this.#changedAtMs = now;
    if (this.#size > FIRST) this.#size = Math.max(FIRST, Math.floor(this.#size / 2));
    else {
      this.#rest(now, this.#restMs);
      this.#restMs = Math.min(LONGEST_REST_MS, this.#restMs * 2);
    }
  }

  #rest(now: number, ms: number): void {
    this.#triedAtMs = Number.NEGATIVE_INFINITY;
    this.#size = FIRST;
    this.#changedAtMs = now;
    this.#time = new MemberTime();
    this.#restsUntilMs = now + ms;
  }
}

/** What all members may add to a request's time, in milliseconds, or of that time. */
const ADDED = { ms: 2, share: 0.25 };
/** Requests: what was before the last so many, at most twice, is forgotten. */
const REMEMBERED = 32;
const LEAST_REQUESTS = 4;

type Shortest = { requests: number; ms: number; memberMs: number };

/**
 * What each further member of a batch costs the others. The shortest times count: what else a request may have waited
 * for, here or there, only adds to them.
 */
class MemberTime {
  #requests = 0;
  #meanMs = 0;
  #present = nothingSeen();
  #before = nothingSeen();

  get meanMs(): number {
    return this.#meanMs;
  }

  took(members: number, ms: number): void {
    if (this.#present.requests >= REMEMBERED) {
      this.#before = this.#present;
      this.#present = nothingSeen();
    }
    const present = this.#present;
    this.#requests += 1;
    this.#meanMs += (ms - this.#meanMs) / Math.min(this.#requests, REMEMBERED);
    const othersMs = Math.min(present.ms, this.#before.ms);
    if (members > 1 && othersMs < Number.POSITIVE_INFINITY)
      present.memberMs = Math.min(present.memberMs, Math.max(0, ms - othersMs) / (members - 1));
    present.requests += 1;
    present.ms = Math.min(present.ms, ms);
  }

  /** So many members delay each other no more than they may. */
  get most(): number {
    const memberMs = Math.min(this.#present.memberMs, this.#before.memberMs);
    if (this.#requests < LEAST_REQUESTS || memberMs === Number.POSITIVE_INFINITY) return MOST;
    const addedMs = Math.max(ADDED.ms, ADDED.share * this.#meanMs);
    return Math.min(MOST, 1 + Math.floor(addedMs / memberMs));
  }
}

const nothingSeen = (): Shortest => ({
  requests: 0,
  ms: Number.POSITIVE_INFINITY,
  memberMs: Number.POSITIVE_INFINITY,
});
