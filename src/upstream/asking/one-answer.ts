// Plans a call for which one upstream's answer is enough. Another one is asked when an attempt fails (a retry), when it
// is slow (a hedge), and when its answer is not believed (a cross-check).
import { errors, type RpcError } from "../../jsonrpc/rpc-error.ts";
import type { Reply } from "../reply.ts";
import type { Upstream } from "../upstream.ts";
import type { FinalReply } from "./call-options.ts";
import {
  type AskingEvent,
  type Attempt,
  type AttemptReason,
  type Decision,
  FOR_REPLIES,
  NEVER,
  type NetworkView,
  type ReplyEvent,
  type Settlement,
  type UpstreamQuestion,
  whyNobody,
} from "./decision.ts";
import { CandidateList } from "./node-order.ts";

/** When all upstreams were asked and none answers, it looks this often whether another one is back, in milliseconds. */
const LOOK_OUT_MS = 100;
/** How many upstreams may work for one call at the same time when a learned limit is broken for it. */
const MOST_AT_ONCE = 3;
/** When a call would wait longer than this for a limit that was only learned, it breaks the limit, in milliseconds. */
const INSISTS_AFTER_MS = 250;
/** Attempts that lose are still awaited for this time: their upstreams are measured by that. */
const LISTEN_MS = 1_000;
/** A request that an upstream never got may be sent to another one, whatever it is. */
const NEVER_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT|UND_ERR_CONNECT_TIMEOUT|waiting to reconnect)$/;

/** Never written to. */
const NONE: Attempt[] = [];

export class OneAnswer {
  readonly #candidates: CandidateList;
  /** A list of one is a list of one: the first `push` would make room for seventeen. */
  #underWay: Attempt[] = NONE;
  readonly #failures: Reply["kind"][] = [];
  #attempts = 0;
  /** The shortest wait for a turn among those that were too long, in milliseconds. */
  #occupiedMs = NEVER;
  /** The attempt beside which another one begins if it is not answered at `#hedgeAtMs`. */
  #watched: Attempt | undefined;
  #hedgeAtMs = NEVER;
  #check: CrossCheck | undefined;
  readonly #budgetWait = new BudgetWait();
  #settled: Settlement | undefined;
  /** How long such calls usually take at most. */
  readonly #usualMs: number;
  readonly #question: UpstreamQuestion;
  readonly #view: NetworkView;

  constructor(question: UpstreamQuestion, upstreams: readonly Upstream[], view: NetworkView) {
    const { method, options } = question;
    this.#candidates = new CandidateList(upstreams, { method, way: options.variant?.name });
    this.#usualMs = view.usualMs(method);
    this.#question = question;
    this.#view = view;
  }

  next(event: AskingEvent, now: number): Decision {
    if (this.#settled) return this.#settled;
    switch (event.kind) {
      case "started":
        return this.#askNext(undefined, now);
      case "begun":
        return this.#wait();
      case "reply":
        return this.#read(event, now);
      case "timer":
        return this.#look(now);
      case "aborted":
        return this.#settle(errors.upstreamTimeout());
    }
  }

  /** The attempt that has just become slower than usual. */
  overdue(now: number): Attempt | undefined {
    const watched = this.#watched;
    return watched && this.#hedgeAtMs <= now && this.#underWay.includes(watched)
      ? watched
      : undefined;
  }

  /** Asks the next upstream. When there is none and no attempt is open, the call ends. */
  #askNext(why: AttemptReason | undefined, now: number): Decision {
    const upstream = this.#candidates.take(now);
    if (upstream) return this.#ask(attemptAt(upstream, this.#attempts, why), now);
    if (this.#underWay.length > 0) return this.#wait();
    return this.#candidates.limited > 0 ? this.#askLimited(now) : this.#giveUp();
  }

  #ask(attempt: Attempt, now: number): Attempt {
    const { traits, options } = this.#question;
    this.#attempts += 1;
    if (this.#underWay.length === 0) this.#underWay = [attempt];
    else this.#underWay.push(attempt);
    if (!traits.isHedgeable || options.reader) return attempt;
    const mayHelp = this.#candidates.hasNext || this.#view.hasOthers();
    this.#watched = attempt;
    this.#hedgeAtMs = mayHelp ? now + this.#usualMs : NEVER;
    return attempt;
  }

  #askInsistently(upstream: Upstream, now: number): Attempt {
    const attempt = attemptAt(this.#candidates.takeLimited(upstream), this.#attempts);
    return this.#ask({ ...attempt, isInsistent: true }, now);
  }

  #read({ attempt, reply }: ReplyEvent, now: number): Decision {
    if (this.#underWay.length === 1 && this.#underWay[0] === attempt) this.#underWay = NONE;
    else this.#underWay.splice(this.#underWay.indexOf(attempt), 1);
    switch (reply.kind) {
      case "result":
      case "refused":
        return this.#weigh(reply, attempt, now);
      case "aborted":
        return this.#settle(errors.upstreamTimeout());
      case "busy":
        this.#candidates.giveBack(attempt.upstream);
        return this.#askNext("failed", now);
      case "occupied":
        this.#occupiedMs = Math.min(this.#occupiedMs, reply.waitMs);
        break;
      case "failed":
        if (reply.isCrowded) return this.#settle(errors.memoryIsScarce());
    }
    this.#failures.push(reply.kind);
    if (this.#question.traits.isRepeatable || wasNotDone(reply))
      return this.#askNext("failed", now);
    return this.#underWay.length > 0 ? this.#wait() : this.#giveUp();
  }

  #weigh(reply: FinalReply, attempt: Attempt, now: number): Decision {
    const isBelieved = !isCrossChecked(this.#question, reply);
    if (isBelieved && !this.#isHasty(attempt)) return this.#settle(reply);
    if (!this.#check) {
      this.#check = new CrossCheck(reply, attempt.order, { usualMs: this.#usualMs, now });
      if (!isBelieved && this.#check.isPerhapsAll)
        this.#candidates.dropOpen(this.#question.traits.workKind);
    }
    return isBelieved ? this.#wait() : this.#askNext("cross-check", now);
  }

  /** Whether a lagging upstream was asked only because better ones are slow: the call waits a little more for those. */
  #isHasty({ order, upstream }: Attempt): boolean {
    if (!this.#underWay.some((other) => other.order < order)) return false;
    // A node that lacks the block refuses; a transaction may go to any node.
    const { traits, options } = this.#question;
    if (options.block !== undefined || options.reaches !== undefined) return false;
    return traits.workKind !== "submission" && this.#view.isBehind(upstream);
  }

  /** Things that are due at the same time are done in this order. */
  #look(now: number): Decision {
    if (this.#check?.end(this.#underWay, now)) return this.#giveUp();
    if (this.#budgetWait.end(now)) {
      this.#candidates.comeBack();
      return this.#askNext(undefined, now);
    }
    return this.#hedgeAtMs <= now ? this.#hedge(now) : this.#wait();
  }

  /**
   * Looks for other upstreams: those that are back, those that have budget by now, and those whose learned limit may be
   * broken.
   */
  #hedge(now: number): Decision {
    const candidates = this.#candidates;
    this.#hedgeAtMs = NEVER;
    if (this.#underWay.length === 0) return this.#wait(); // the call waits for budget
    if (candidates.advance()) return this.#askBeside(now);
    this.#addNewcomers();
    candidates.comeBack();
    if (candidates.advance()) return this.#askBeside(now);
    const { insistent } = candidates;
    if (insistent && this.#underWay.length <= MOST_AT_ONCE)
      return this.#askInsistently(insistent, now);
    if (this.#view.hasOthers()) this.#hedgeAtMs = now + Math.max(LOOK_OUT_MS, this.#usualMs);
    return this.#wait();
  }

  #askBeside(now: number): Decision {
    // An upstream that has stopped answering has lost the call: then this is no hedge.
    const isHedge = !this.#watched?.upstream.health.isStalled(this.#question.traits.workKind);
    const upstream = isHedge && !this.#view.mayHedge() ? undefined : this.#candidates.take();
    if (upstream)
      return this.#ask({ ...attemptAt(upstream, this.#attempts, "slow"), isHedge }, now);
    this.#hedgeAtMs = now + this.#usualMs;
    return this.#wait();
  }

  #addNewcomers(): void {
    if (this.#view.hasOthers()) this.#candidates.add(this.#view.usableFor(this.#question.traits));
  }

  /** All that are left have no budget: the call waits for one, or breaks its learned limit. */
  #askLimited(now: number): Decision {
    const candidates = this.#candidates;
    this.#addNewcomers();
    if (candidates.advance()) return this.#askNext(undefined, now);
    const isCrossCheck = this.#check?.isPerhapsAll ?? false;
    const insistent = isCrossCheck ? undefined : candidates.insistent;
    const crossCheckTimeoutMs = isCrossCheck ? crossCheckMs(this.#usualMs) : undefined;
    const mostMs = insistent ? INSISTS_AFTER_MS : crossCheckTimeoutMs;
    const mayWait = this.#view.mayWait("budget");
    if (mayWait && this.#budgetWait.begin(candidates.soonestMs, now, mostMs)) return this.#wait();
    return insistent ? this.#askInsistently(insistent, now) : this.#giveUp();
  }

  #wait(): Decision {
    const { untilMs: budgetAtMs } = this.#budgetWait;
    const untilMs = Math.min(this.#hedgeAtMs, budgetAtMs, this.#check?.atMs ?? NEVER);
    if (untilMs === NEVER) return FOR_REPLIES;
    return { kind: "wait", untilMs, shortOf: budgetAtMs === NEVER ? undefined : "budget" };
  }

  /** An answer that is not believed of one upstream alone counts when no other one has a better one. */
  #giveUp(): Decision {
    if (this.#check) return this.#settle(this.#check.reply);
    const { missing, limited } = this.#candidates;
    const seen = [
      ...this.#failures,
      ...Array<"missing">(missing).fill("missing"),
      ...Array<"busy">(limited).fill("busy"),
    ];
    const error = whyNobody(seen, { method: this.#question.method, waitMs: this.#occupiedMs });
    return this.#settle(error, error.retryAfter !== undefined);
  }

  #settle(outcome: FinalReply | RpcError, isOccupied = false): Settlement {
    const dissenters: Settlement["dissenters"] = [];
    this.#settled = { kind: "settle", outcome, othersMs: LISTEN_MS, dissenters, isOccupied };
    return this.#settled;
  }
}

/** An ordinary attempt. @param order See `Attempt`. */
export const attemptAt = (upstream: Upstream, order: number, why?: AttemptReason): Attempt => ({
  kind: "ask",
  upstream,
  order,
  tries: 1,
  why,
  isHedge: false,
  isInsistent: false,
  call: undefined,
});

/** Whether a reply needs a cross-check: the node lacks what was asked for, or the call cross-checks such replies. */
export const isCrossChecked = (
  { isUncertain }: Pick<UpstreamQuestion, "isUncertain">,
  reply: FinalReply,
): boolean =>
  (reply.kind === "refused" && reply.lacks !== undefined) || (isUncertain?.(reply) ?? false);

/** Whether the call was certainly not done: then it may be sent to another upstream, whatever it is. */
function wasNotDone(reply: Reply): boolean {
  if (reply.kind === "missing" || reply.kind === "occupied") return true;
  return reply.kind === "failed" && NEVER_SENT.test(reply.reason);
}

/** How long a call waits for budget in all, in milliseconds. */
const MOST_MS = 1_000;
/** How often a call waits: an upstream that refuses each time is not asked for ever. */
const MOST_WAITS = 20;

/** The wait until some upstream has budget. */
export class BudgetWait {
  /** By the clock's `now`; Infinity while the call does not wait. */
  untilMs = NEVER;
  #sinceMs: number | undefined;
  #waits = 0;

  /**
   * @param mostMs Less than the usual limit for all waits together.
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
 * How many times longer than usual a call waits for a better answer. For upstreams that were asked before it waits up
 * to `mostMs` while they answer anything at all.
 */
const TIMEOUT = { times: 4, leastMs: 100, mostMs: 2_000 };
/** For something that must be somewhere, the call waits longer for a silent upstream. */
const LACK_TIMEOUT_MS = 1_000;

/** @param usualMs How long such calls usually take at most. */
const crossCheckMs = (usualMs: number): number =>
  Math.max(TIMEOUT.leastMs, TIMEOUT.times * usualMs);

/** The wait for upstreams that may have a better answer. */
class CrossCheck {
  /** The first such answer: it counts when there is no better one. */
  readonly reply: FinalReply;
  /** When it looks next whether any upstream is worth waiting for, by the clock's `now`. */
  atMs: number;
  readonly #order: number;
  readonly #sinceMs: number;
  readonly #everyMs: number;

  /** @param order The order of the attempt that gave it. */
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

  /** What one upstream lacks, another one must have. What it does not know may not exist at all. */
  get isPerhapsAll(): boolean {
    return this.reply.kind === "result";
  }

  /** @returns Whether the wait ends now; if not, and it was time to look, the next look is set. */
  end(underWay: readonly Attempt[], now: number): boolean {
    if (this.atMs > now) return false;
    this.atMs = now + this.#everyMs;
    const isLong = this.isPerhapsAll && now - this.#sinceMs >= TIMEOUT.mostMs;
    // The wait for budget has a timeout of its own.
    if (!this.isPerhapsAll && underWay.length === 0) return false;
    return isLong || !underWay.some((attempt) => this.#isAwaited(attempt));
  }

  #isAwaited({ order, call, upstream }: Attempt): boolean {
    return (!this.isPerhapsAll || order < this.#order) && !(call && upstream.health.isSilent(call));
  }
}
