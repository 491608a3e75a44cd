// How many calls of one kind go to an upstream in one request: the configured number, or a learned number that the
// upstream handles well.
import type { Clock } from "../../lib/clock.ts";
import type { MethodTraits, WorkKind } from "../../namespaces/known-method.ts";

export type BatchSizesParts = {
  readonly clock: Pick<Clock, "now">;
  /** Is called with a new, lower maximum of calls in one request; 1: the upstream accepts no batches. */
  readonly onLimited?: ((size: number) => void) | undefined;
};

/** The maximum for learned sizes. */
const MOST = 100;
/** Kinds with small, quick results. A result of another kind could delay the others in its batch. */
const QUICK: ReadonlySet<WorkKind> = new Set(["chain", "blocks", "state", "execution"]);
/** How long a limit that a node reported holds if none is configured: nodes are upgraded, and proxies are removed. */
const LIMITED_MS = 600_000;
/** Single calls replace a late batch, but for no more than one batch in this many. */
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

  /** @param options.configured The most calls in one request; undefined: learned. */
  constructor({ configured }: { readonly configured: number | undefined }, parts: BatchSizesParts) {
    this.#isLearned = configured === undefined;
    this.#most = configured ?? MOST;
    this.#limit = this.#most;
    this.#parts = parts;
  }

  /** Calls of the same group may share a request; undefined: the call goes by itself. */
  groupOf({
    isBatchable,
    workKind,
  }: Pick<MethodTraits, "isBatchable" | "workKind">): WorkKind | undefined {
    if (!isBatchable) return undefined;
    if (!this.#isLearned) return "other";
    return QUICK.has(workKind) ? workKind : undefined;
  }

  /** Whether calls for which no caller waits go in batches, too. */
  get isConfigured(): boolean {
    return !this.#isLearned && this.#most > 1;
  }

  /** The most calls in one request now; 1: no batches. */
  mostOf(group: WorkKind): number {
    if (!this.#isLearned) return this.#limit;
    const now = this.#parts.clock.now();
    return Math.min(this.#limitAt(now), this.#of(group).most(now));
  }

  /** As `mostOf`, for a request that begins now: only one request at a time tries an unproven size. */
  take(group: WorkKind): number {
    if (!this.#isLearned) return this.#limit;
    const now = this.#parts.clock.now();
    return Math.min(this.#limitAt(now), this.#of(group).take(now));
  }

  /** The time in milliseconds after which single calls replace a batch; Infinity: never. */
  lateMs(group: WorkKind): number {
    return this.#isLearned ? this.#of(group).lateMs : Number.POSITIVE_INFINITY;
  }

  /**
   * Must be called when each call of a request was answered. `members` may be 1.
   * @param sentAtMs Milliseconds of the clock's `now`.
   */
  answered(group: WorkKind, members: number, sentAtMs: number): void {
    if (!this.#isLearned) return;
    if (members > 1) this.#lateSaved = Math.min(MOST_LATE_SAVED, this.#lateSaved + 1 / LATE_EVERY);
    this.#of(group).answered(members, sentAtMs, this.#parts.clock.now());
  }

  /** Must be called when the response to a request was malformed, or the upstream was busy. */
  failed(group: WorkKind, sentAtMs: number): void {
    if (this.#isLearned) this.#of(group).failed(sentAtMs, this.#parts.clock.now());
  }

  /** @returns Whether the calls of the late batch are to be sent singly, too. */
  late(group: WorkKind, sentAtMs: number): boolean {
    this.failed(group, sentAtMs);
    if (this.#lateSaved < 1) return false;
    this.#lateSaved -= 1;
    return true;
  }

  /**
   * Must be called when the upstream refuses batches of this size: half of it becomes the maximum. Simultaneous
   * refusals of the same size count once.
   */
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
/** A request that tries a size and is not answered within this time, in milliseconds, makes room for another try. */
const TRIED_MS = 1_000;
/** After a failed batch of two, no batches are sent for this time, which doubles with each such failure … */
const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 600_000;
/** … until batches reach this size. */
const PROVEN = 8;
/** The pause, in milliseconds, after calls were found to delay each other. */
const SLOW_REST_MS = 2_000;
/** A batch is late if it takes this many times longer than usual, and at least this long. */
const LATE = { times: 4, leastMs: 100 };

/** The size for one kind of work: doubles after a full batch went well, and halves after a failure. */
class LearnedSize {
  #size = FIRST;
  #changedAtMs = Number.NEGATIVE_INFINITY;
  #restsUntilMs = Number.NEGATIVE_INFINITY;
  #restMs = FIRST_REST_MS;
  /** When the request began that tries the unproven size. */
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

  /** Requests sent before the last change say nothing about the present size. */
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

/** The time that all further members may add to a request, in milliseconds, or as a share of its time if larger. */
const ADDED = { ms: 2, share: 0.25 };
/** Requests per period; the current and the previous period count. */
const REMEMBERED = 32;
const LEAST_REQUESTS = 4;

type Shortest = { requests: number; ms: number; memberMs: number };

/**
 * Measures how much each further member of a batch delays the others. The shortest times count, because other delays
 * of a request only add to them.
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

  /** The most members that delay each other no more than allowed. */
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
