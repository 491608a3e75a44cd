// Plans a call for which one upstream's answer is enough. The plan asks another upstream when an attempt fails (a
// retry), when it is slow (a hedge), and when its answer needs a second opinion (a cross-check).
import { OPEN_BRACKET } from "../../jsonrpc/ascii.ts";
import { isNull } from "../../jsonrpc/raw-json.ts";
import { errors, type RpcError } from "../../jsonrpc/rpc-error.ts";
import { wordsOf } from "../error-dialects/learned-words.ts";
import type { RefusedReply, Reply } from "../reply.ts";
import type { Upstream } from "../upstream.ts";
import type { FinalReply, Lesson } from "./call-options.ts";
import {
  type AskingEvent,
  type Attempt,
  type AttemptReason,
  type Decision,
  FOR_REPLIES,
  NEVER,
  type NetworkView,
  noAnswerError,
  type ReplyEvent,
  type Settlement,
  type UpstreamQuestion,
} from "./decision.ts";
import { CandidateList } from "./node-order.ts";

/** The pause between two looks for upstreams that are back, once the call has asked all and none answers, in ms. */
const LOOK_OUT_MS = 100;
/** A call exceeds a learned limit for a hedge only while it has no more than this number of open attempts. */
const MOST_AT_ONCE = 3;
/** How long a call leaves an upstream alone that says in words that it is busy, in milliseconds. */
const WORDS_REST_MS = 1_000;
/** A call that would wait longer than this for a learned rate limit exceeds the limit instead, in milliseconds. */
const EXCEEDS_AFTER_MS = 250;
/** How long the driver still waits for attempts that lost, in milliseconds: this measures their upstreams. */
const LISTEN_MS = 1_000;
/** Failures before an upstream got the request: any call may then go to another upstream. */
const NEVER_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT|UND_ERR_CONNECT_TIMEOUT|waiting to reconnect)$/;

/** The list without attempts; nobody writes to it. */
const NONE: Attempt[] = [];

export class OneAnswer {
  readonly #candidates: CandidateList;
  /** Begins as a literal of one element, since the first `push` into an empty array makes room for 17. */
  #underWay: Attempt[] = NONE;
  readonly #failures: Reply["kind"][] = [];
  #attempts = 0;
  /** The shortest of the waits for a turn that were too long, in milliseconds. */
  #occupiedMs = NEVER;
  /** The newest attempt: the plan hedges the call when no reply to the attempt has come at `#hedgeAtMs`. */
  #watched: Attempt | undefined;
  #hedgeAtMs = NEVER;
  #check: CrossCheck | undefined;
  /** A refusal in unknown words, about which one more upstream is asked. */
  #doubted: Pick<Lesson, "upstream" | "refusal"> | undefined;
  readonly #budgetWait = new BudgetWait();
  #settled: Settlement | undefined;
  /** How long calls of the method usually take at most, in milliseconds. */
  readonly #usualMs: number;
  readonly #question: UpstreamQuestion;
  readonly #view: NetworkView;

  constructor(question: UpstreamQuestion, upstreams: readonly Upstream[], view: NetworkView) {
    const { method, options } = question;
    this.#candidates = new CandidateList(upstreams, { method, variant: options.variant?.name });
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

  /** The open attempt that has just become slower than usual. */
  overdue(now: number): Attempt | undefined {
    const watched = this.#watched;
    return watched && this.#hedgeAtMs <= now && this.#underWay.includes(watched)
      ? watched
      : undefined;
  }

  /** Asks the next upstream. When there is none and no attempt is open, the call waits for budget or ends. */
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
    if (!traits.isHedgeable || options.reader || this.#doubted) return attempt;
    const mayHelp = this.#candidates.hasNext || this.#view.hasOthers();
    this.#watched = attempt;
    this.#hedgeAtMs = mayHelp ? now + this.#usualMs : NEVER;
    return attempt;
  }

  #askBeyondLearnedLimit(upstream: Upstream, now: number): Attempt {
    const attempt = attemptAt(this.#candidates.takeLimited(upstream), this.#attempts);
    return this.#ask({ ...attempt, exceedsLearnedLimit: true }, now);
  }

  #read({ attempt, reply }: ReplyEvent, now: number): Decision {
    if (this.#underWay.length === 1 && this.#underWay[0] === attempt) this.#underWay = NONE;
    else this.#underWay.splice(this.#underWay.indexOf(attempt), 1);
    if (this.#doubted) return this.#readSecond(this.#doubted, { attempt, reply }, now);
    switch (reply.kind) {
      case "result":
      case "refused":
        return this.#weigh(reply, attempt, now);
      case "aborted":
        return this.#settle(errors.upstreamTimeout());
      case "busy":
        this.#candidates.giveBack(
          attempt.upstream,
          reply.byWords ? now + WORDS_REST_MS : undefined,
        );
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
    const isTooEarly = this.#isTooEarly(reply, attempt);
    const isBelieved = !isTooEarly && this.#isBelieved(reply);
    if (isBelieved && this.#isUnknown(reply))
      return this.#check?.isBelieved
        ? this.#settle(this.#check.reply)
        : this.#doubt(reply, attempt, now);
    if (isBelieved && !this.#isHasty(attempt)) return this.#settle(reply);
    if (!this.#check || (!this.#check.isBelieved && (isBelieved || this.#isMore(reply)))) {
      const time = { usualMs: this.#usualMs, now, sinceMs: this.#check?.sinceMs ?? now };
      this.#check = new CrossCheck(reply, { order: attempt.order, isBelieved }, time);
      if (!isBelieved && this.#check.isPerhapsAll && !isTooEarly)
        this.#candidates.dropOpen(this.#question.traits.workKind);
    }
    return isBelieved ? this.#wait() : this.#askNext("cross-check", now);
  }

  /** Whether a node that lags says that there is nothing: it cannot deny what other nodes may have. */
  #isTooEarly(reply: FinalReply, { upstream }: Attempt): boolean {
    if (reply.kind !== "result" || !this.#question.traits.isRepeatable) return false;
    return saysNothing(reply.json) && this.#view.isBehind(upstream);
  }

  /** Whether a result says something where the one that is cross-checked says that there is nothing. */
  #isMore(reply: FinalReply): boolean {
    const first = this.#check?.reply;
    return (
      first?.kind === "result" &&
      reply.kind === "result" &&
      saysNothing(first.json) &&
      !saysNothing(reply.json)
    );
  }

  /** A call that may not be repeated ends with the words of its first upstream, whoever chose them. */
  #isBelieved(reply: FinalReply): boolean {
    if (!isCrossChecked(this.#question, reply)) return true;
    return isDoubted(reply) && !this.#question.traits.isRepeatable;
  }

  /** Whether no table has the words of a refusal, nor were they learned to be an answer. */
  #isUnknown(reply: FinalReply): reply is RefusedReply {
    if (reply.kind !== "refused" || reply.doubt !== "unknown") return false;
    const { method, traits } = this.#question;
    return traits.isRepeatable && !this.#view.knowsAnswer(method, reply);
  }

  /** Asks one more upstream about a refusal in unknown words, unless one is being asked; where none can be, believes it. */
  #doubt(refusal: RefusedReply, { upstream, order }: Attempt, now: number): Decision {
    const { options, traits } = this.#question;
    this.#candidates.dropOpen(traits.workKind);
    const mayAsk = this.#underWay.length === 0 && options.ledger?.left !== 0;
    const second = mayAsk ? this.#candidates.take(now) : undefined;
    if (!second && this.#underWay.length === 0) return this.#settle(refusal);
    this.#doubted = { upstream, refusal };
    this.#hedgeAtMs = NEVER;
    const time = { usualMs: this.#usualMs, now, sinceMs: now };
    this.#check = new CrossCheck(refusal, { order, isBelieved: false }, time);
    return second ? this.#ask(attemptAt(second, this.#attempts, "cross-check"), now) : this.#wait();
  }

  /** Reads what another upstream says about a call that one refused in unknown words. */
  #readSecond(
    doubted: Pick<Lesson, "upstream" | "refusal">,
    { attempt, reply }: Pick<ReplyEvent, "attempt" | "reply">,
    now: number,
  ): Decision {
    if (reply.kind === "aborted") return this.#settle(errors.upstreamTimeout());
    if (reply.kind === "result" && isCrossChecked(this.#question, reply)) {
      // A result that is uncertain itself, such as null, is a better beginning than the refusal.
      this.#doubted = undefined;
      this.#check = undefined;
      return this.#weigh(reply, attempt, now);
    }
    if (reply.kind === "result") return this.#teach(reply, { ...doubted, kind: "unable" });
    if (reply.kind === "refused") {
      if (isSameRefusal(doubted.refusal, reply))
        return this.#teach(doubted.refusal, { ...doubted, kind: "answer" });
      if (!isCrossChecked(this.#question, reply) && !this.#isUnknown(reply))
        return this.#settle(reply);
    }
    return this.#underWay.length > 0 ? this.#wait() : this.#settle(doubted.refusal);
  }

  #teach(outcome: FinalReply, lesson: Lesson): Settlement {
    this.#settled = { ...this.#settle(outcome), lesson };
    return this.#settled;
  }

  /** Whether only slow upstreams brought the call to this lagging one: the call waits a little for the better ones. */
  #isHasty({ order, upstream }: Attempt): boolean {
    if (!this.#underWay.some((other) => other.order < order)) return false;
    // A node that lacks the block refuses; a transaction may go to any node.
    const { traits, options } = this.#question;
    if (options.block !== undefined || options.reaches !== undefined) return false;
    return traits.workKind !== "submission" && this.#view.isBehind(upstream);
  }

  /** Handles a timer. When several things are due at the same time, the order of the lines decides. */
  #look(now: number): Decision {
    if (this.#check?.end(this.#underWay, now)) return this.#giveUp();
    if (this.#budgetWait.end(now)) {
      this.#candidates.comeBack();
      return this.#askNext(undefined, now);
    }
    return this.#hedgeAtMs <= now ? this.#hedge(now) : this.#wait();
  }

  /** Asks another candidate: one that is left, is back, has budget by now, or has a learned limit to be exceeded. */
  #hedge(now: number): Decision {
    const candidates = this.#candidates;
    this.#hedgeAtMs = NEVER;
    if (this.#underWay.length === 0) return this.#wait(); // the call waits for budget
    if (candidates.advance(now)) return this.#askBeside(now);
    this.#addNewcomers();
    candidates.comeBack();
    if (candidates.advance(now)) return this.#askBeside(now);
    const beyondLearnedLimit = candidates.beyondLearnedLimit(now);
    if (beyondLearnedLimit && this.#underWay.length <= MOST_AT_ONCE)
      return this.#askBeyondLearnedLimit(beyondLearnedLimit, now);
    if (this.#view.hasOthers()) this.#hedgeAtMs = now + Math.max(LOOK_OUT_MS, this.#usualMs);
    return this.#wait();
  }

  #askBeside(now: number): Decision {
    // When the watched upstream has stopped answering, the new attempt is a retry and costs no hedge budget.
    const isHedge = !this.#watched?.upstream.health.isStalled(this.#question.traits.workKind);
    const upstream = isHedge && !this.#view.mayHedge() ? undefined : this.#candidates.take(now);
    if (upstream)
      return this.#ask({ ...attemptAt(upstream, this.#attempts, "slow"), isHedge }, now);
    this.#hedgeAtMs = now + this.#usualMs;
    return this.#wait();
  }

  #addNewcomers(): void {
    if (this.#view.hasOthers()) this.#candidates.add(this.#view.usableFor(this.#question.traits));
  }

  /** Waits for the budget of one of the candidates, which all have none, or exceeds a learned limit. */
  #askLimited(now: number): Decision {
    const candidates = this.#candidates;
    this.#addNewcomers();
    if (candidates.advance(now)) return this.#askNext(undefined, now);
    const isCrossCheck = this.#check?.isPerhapsAll ?? false;
    const beyondLearnedLimit = isCrossCheck ? undefined : candidates.beyondLearnedLimit(now);
    const crossCheckTimeoutMs = isCrossCheck ? crossCheckMs(this.#usualMs) : undefined;
    const mostMs = beyondLearnedLimit ? EXCEEDS_AFTER_MS : crossCheckTimeoutMs;
    const mayWait = this.#view.mayWait("budget");
    if (mayWait && this.#budgetWait.begin(candidates.soonestMs(now), now, mostMs))
      return this.#wait();
    return beyondLearnedLimit
      ? this.#askBeyondLearnedLimit(beyondLearnedLimit, now)
      : this.#giveUp();
  }

  #wait(): Decision {
    const { untilMs: budgetAtMs } = this.#budgetWait;
    const untilMs = Math.min(this.#hedgeAtMs, budgetAtMs, this.#check?.atMs ?? NEVER);
    if (untilMs === NEVER) return FOR_REPLIES;
    return { kind: "wait", untilMs, shortOf: budgetAtMs === NEVER ? undefined : "budget" };
  }

  /** Settles the call: with the answer that was cross-checked, since no upstream has a better one, or with an error. */
  #giveUp(): Decision {
    if (this.#check) return this.#settle(this.#check.reply);
    const { missing, limited } = this.#candidates;
    const seen = [
      ...this.#failures,
      ...Array<"missing">(missing).fill("missing"),
      ...Array<"busy">(limited).fill("busy"),
    ];
    const error = noAnswerError(seen, { method: this.#question.method, waitMs: this.#occupiedMs });
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
  exceedsLearnedLimit: false,
  call: undefined,
});

/** Whether a reply needs a cross-check: the node lacks the data, or the call's rule says so. */
export const isCrossChecked = (
  { isUncertain }: Pick<UpstreamQuestion, "isUncertain">,
  reply: FinalReply,
): boolean =>
  (reply.kind === "refused" && (reply.lacks !== undefined || isDoubted(reply))) ||
  (isUncertain?.(reply) ?? false);

const saysNothing = (json: Buffer): boolean =>
  isNull(json) || (json[0] === OPEN_BRACKET && json.length === EMPTY_LIST_BYTES);
const EMPTY_LIST_BYTES = 2;

/** Whether a refusal says that its node is unable to answer, in words that prove nothing. */
export const isDoubted = (reply: FinalReply): boolean =>
  reply.kind === "refused" && reply.doubt !== undefined && reply.doubt !== "unknown";

/** Whether two upstreams refuse a call with the same code, and the same words but for numbers and hashes. */
function isSameRefusal(one: RefusedReply, other: RefusedReply): boolean {
  return (
    one.code === other.code && (wordsOf(one) ?? one.message) === (wordsOf(other) ?? other.message)
  );
}

/** Whether the upstream certainly did not do the call: then any call may go to another upstream. */
function wasNotDone(reply: Reply): boolean {
  if (reply.kind === "missing" || reply.kind === "occupied") return true;
  return reply.kind === "failed" && NEVER_SENT.test(reply.reason);
}

/** How long a call waits for budget in all, in milliseconds. */
const MOST_MS = 1_000;
/** How often a call may wait: an upstream that refuses each time must not keep the call for ever. */
const MOST_WAITS = 20;

/** The wait until some upstream has budget. */
export class BudgetWait {
  /** By the clock's `now`; Infinity while the call does not wait. */
  untilMs = NEVER;
  #sinceMs: number | undefined;
  #waits = 0;

  /**
   * @param ms The length of this wait.
   * @param mostMs A limit for all waits together that is lower than the usual one.
   * @returns false when the wait would be too long or one too many: then no wait begins.
   */
  begin(ms: number, now: number, mostMs = MOST_MS): boolean {
    this.#sinceMs ??= now;
    const latestMs = this.#sinceMs + Math.min(mostMs, MOST_MS);
    if (now + ms > latestMs || this.#waits >= MOST_WAITS) return false;
    this.#waits += 1;
    this.untilMs = now + ms;
    return true;
  }

  /** @returns Whether the wait has ended by now. */
  end(now: number): boolean {
    if (this.untilMs > now) return false;
    this.untilMs = NEVER;
    return true;
  }
}

/**
 * A cross-check first waits `times` the usual time of the method for a better answer, at least `leastMs`. While an
 * upstream that was asked before still answers other calls, the cross-check of a result goes on, up to `mostMs`.
 */
const TIMEOUT = { times: 4, leastMs: 100, mostMs: 2_000 };
/** The least wait after a refusal for lack of data: another upstream must have the data, so the wait is longer. */
const LACK_TIMEOUT_MS = 1_000;

/** @param usualMs How long calls of the method usually take at most. */
const crossCheckMs = (usualMs: number): number =>
  Math.max(TIMEOUT.leastMs, TIMEOUT.times * usualMs);

/** The wait for upstreams that may have a better answer. */
class CrossCheck {
  /** The first answer, or the first believed one: the answer counts when there is no better one. */
  readonly reply: FinalReply;
  /** Whether the reply needs no cross-check: then the wait is only for upstreams that do not lag. */
  readonly isBelieved: boolean;
  /** The time of the next look whether an open attempt is worth waiting for, by the clock's `now`. */
  atMs: number;
  /** The time of the first answer, by the clock's `now`. */
  readonly sinceMs: number;
  readonly #order: number;
  readonly #everyMs: number;

  /** @param order The order of the attempt that gave the reply. */
  constructor(
    reply: FinalReply,
    { order, isBelieved }: Pick<CrossCheck, "isBelieved"> & Pick<Attempt, "order">,
    time: Pick<CrossCheck, "sinceMs"> & { readonly usualMs: number; readonly now: number },
  ) {
    const timeoutMs = crossCheckMs(time.usualMs);
    this.reply = reply;
    this.isBelieved = isBelieved;
    this.#order = order;
    this.sinceMs = time.sinceMs;
    this.#everyMs = this.isPerhapsAll
      ? Math.min(timeoutMs, TIMEOUT.mostMs)
      : Math.max(timeoutMs, LACK_TIMEOUT_MS);
    this.atMs = time.now + this.#everyMs;
  }

  /**
   * A believed answer, and a result such as null, may be all that there is. After a refusal for lack of data, another
   * upstream must have the data.
   */
  get isPerhapsAll(): boolean {
    return this.isBelieved || this.reply.kind === "result";
  }

  /** @returns Whether the wait ends now; otherwise sets the time of the next look, where the last one is over. */
  end(underWay: readonly Attempt[], now: number): boolean {
    if (this.atMs > now) return false;
    this.atMs = now + this.#everyMs;
    const isLong = this.isPerhapsAll && now - this.sinceMs >= TIMEOUT.mostMs;
    // The wait for budget has a timeout of its own.
    if (!this.isPerhapsAll && underWay.length === 0) return false;
    return isLong || !underWay.some((attempt) => this.#isAwaited(attempt));
  }

  #isAwaited({ order, call, upstream }: Attempt): boolean {
    return (!this.isPerhapsAll || order < this.#order) && !(call && upstream.health.isSilent(call));
  }
}
