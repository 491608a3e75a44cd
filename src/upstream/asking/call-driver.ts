// Drives one call to its end. `next` decides, without acting, whether to ask an upstream, wait or settle; the driver
// acts: it owns the call's timer and attempts, and reports to the network and to the call's ledger.

import { errors, RpcError } from "../../jsonrpc/rpc-error.ts";
import { Cancellation, type Signal } from "../../lib/cancellation.ts";
import type { Clock } from "../../lib/clock.ts";
import type { CallPosition } from "../capabilities/capabilities.ts";
import { LOST_RACE } from "../node-requests.ts";
import type { Reply } from "../reply.ts";
import type { Upstream } from "../upstream.ts";
import type { AskOptions } from "../upstream-options.ts";
import { type AgreementRule, Broadcast, ofDifferentVendors, Quorum } from "./at-once.ts";
import type { FinalReply } from "./call-options.ts";
import {
  type AskingEvent,
  type Attempt,
  type Decision,
  disagreementTexts,
  NEVER,
  type NetworkView,
  type Settlement,
  settlementOf,
  type UpstreamQuestion,
  type Wait,
} from "./decision.ts";
import type { NetworkCalls, Shortage, Waiting } from "./network-calls.ts";
import { OneAnswer } from "./one-answer.ts";

export type CallDriverParts = {
  readonly clock: Pick<Clock, "now" | "after">;
  /** The state that the calls of one network share. */
  readonly network: NetworkView &
    Pick<NetworkCalls, "takeOrder" | "headNumber" | "hedges" | "enter" | "leave"> &
    Pick<NetworkCalls, "askedAgain" | "dissented" | "redact" | "occupied" | "learn"> & {
      readonly times: Pick<NetworkCalls["times"], "answered">;
    };
};

/** The callbacks for the end of a call: the driver calls one of both, once. */
export type DriverEnds = {
  answered(reply: FinalReply): void;
  failed(error: unknown): void;
};

const BEGUN: AskingEvent = { kind: "begun" };
const TIMER: AskingEvent = { kind: "timer" };
const ABORTED: AskingEvent = { kind: "aborted" };
const NOT_ASKED: Reply = { kind: "failed", reason: "the node could not be asked" };

export class CallDriver implements Waiting {
  readonly #state: AskingState;
  /** Aborts the attempts. */
  readonly #ending = new Cancellation();
  #underWay = 0;
  #isSettled = false;
  #timerAtMs = NEVER;
  #cancelTimer = nothing;
  /** The shortage that the call waits out now, where the number of such calls is bounded. */
  #shortOf: Shortage | undefined;
  /** The upstreams that found no logs. */
  #foundNoLogs: readonly Upstream[] = NOBODY;
  #signal: Signal | undefined;
  #ends: DriverEnds | undefined;
  readonly #parts: CallDriverParts;

  /** @param state The state of a call that has not begun. */
  constructor(state: AskingState, parts: CallDriverParts) {
    this.#state = state;
    this.#parts = parts;
  }

  /**
   * Fails with an RpcError: that of `noAnswerError`; 502 when too few members of a quorum agree; 503 when too few can be
   * asked; 504 when the signal aborts.
   */
  begin(signal: Signal, ends: DriverEnds): void {
    this.#ends = ends;
    if (signal.aborted) {
      this.#step(ABORTED);
      return;
    }
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort, { once: true });
    try {
      this.resume();
    } catch (error) {
      this.#end(); // the code that decides has a bug: the call must not wait for its deadline
      ends.failed(error);
    }
  }

  /** Looks at the upstreams: at the beginning, and when one is usable again. */
  resume(): void {
    const { network } = this.#parts;
    this.#step({ kind: "started", upstreams: network.takeOrder(this.#state.question) });
  }

  readonly #onAbort = (): void => {
    this.#ending.abort(this.#signal?.reason);
    this.#step(ABORTED);
  };

  #onTimer(): void {
    const now = this.#parts.clock.now();
    this.#timerAtMs = NEVER; // the timer may fire early: then the call waits for the same time again
    const { plan } = this.#state;
    const late = plan instanceof OneAnswer ? plan.overdue(now) : undefined;
    if (late?.call) late.upstream.health.late(late.call);
    this.#step(TIMER, now);
  }

  #step(event: AskingEvent, now = this.#parts.clock.now()): void {
    this.#leave();
    let decision = next(this.#state, event, now);
    while (decision.kind === "ask" && !this.#isSettled) {
      this.#try(decision, now);
      decision = next(this.#state, BEGUN, now);
    }
    if (decision.kind === "wait") this.#wait(decision, now);
    if (decision.kind === "settle") this.#settle(decision);
  }

  #wait({ untilMs, shortOf }: Wait, now: number): void {
    const { clock, network } = this.#parts;
    if (shortOf) network.enter(shortOf, this);
    this.#shortOf = shortOf;
    if (untilMs === this.#timerAtMs) return;
    this.#cancelTimer();
    this.#timerAtMs = untilMs;
    this.#cancelTimer =
      untilMs === NEVER ? nothing : clock.after(untilMs - now, () => this.#onTimer());
  }

  #leave(): void {
    if (this.#shortOf) this.#parts.network.leave(this.#shortOf, this);
    this.#shortOf = undefined;
  }

  #try(attempt: Attempt, sentAtMs: number): void {
    const { network } = this.#parts;
    const { method, paramsJson, options } = this.#state.question;
    if (attempt.why) network.askedAgain(attempt.why);
    if (attempt.isHedge) network.hedges.spend();
    const story = options.ledger?.attempted(attempt, method);
    this.#underWay += 1;
    const heard = (reply: Reply): void => {
      story?.ended(reply);
      this.#ended(reply, attempt, sentAtMs);
    };
    // A rejection counts as a failure, like an answer that cannot be read.
    const failed = (): void => heard(NOT_ASKED);
    attempt.upstream
      .ask(method, paramsJson, this.#ending, this.#askOptions(attempt, story?.headers))
      .then(heard, failed);
  }

  #ended(reply: Reply, attempt: Attempt, sentAtMs: number): void {
    this.#underWay -= 1;
    try {
      this.#hear(reply, attempt, sentAtMs);
    } catch (error) {
      this.#end(); // the code that reads answers has a bug: the call must not wait for its deadline
      this.#ends?.failed(error);
    }
  }

  #hear(reply: Reply, attempt: Attempt, sentAtMs: number): void {
    const now = this.#parts.clock.now();
    if (this.#isSettled) {
      if (this.#underWay === 0) this.#cancelTimer();
      this.#step({ kind: "reply", attempt, reply }, now);
      return;
    }
    const { method } = this.#state.question;
    if (reply.kind === "result") this.#parts.network.times.answered(method, now - sentAtMs);
    this.#step({ kind: "reply", attempt, reply: this.#noted(reply, attempt.upstream) }, now);
  }

  #askOptions(attempt: Attempt, headers: AskOptions["headers"]): AskOptions {
    const { traits, options } = this.#state.question;
    const { variant, reader, isFalse, onFalse, asker } = options;
    return {
      traits,
      reader: reader?.(),
      variant: variant?.name,
      isFalse,
      onFalse,
      position: this.#position(),
      exceedsLearnedLimit: attempt.exceedsLearnedLimit,
      asker,
      attempt,
      headers,
    };
  }

  /** The block that the call is about; undefined while it, or the head, is not known. */
  #position(): CallPosition | undefined {
    const { block } = this.#state.question.options;
    const head = block === undefined ? undefined : this.#parts.network.headNumber();
    return block === undefined || head === undefined ? undefined : { block, head };
  }

  /** Reports a result or refusal to `onReply`. When it says that the upstream lacks the variant, returns `missing`. */
  #noted(reply: Reply, upstream: Upstream): Reply {
    if (reply.kind !== "result" && reply.kind !== "refused") return reply;
    const { traits, options } = this.#state.question;
    const { variant, onReply } = options;
    if (variant?.isMissing(reply)) {
      upstream.rememberMissing(variant.name);
      return { kind: "missing" };
    }
    const position = traits.workKind === "logs" ? this.#position() : undefined;
    onReply?.(reply, upstream.name, position && upstream.capabilities.logsAt(position));
    if (position && reply.kind === "result") this.#learnNoLogs(reply.json, upstream, position);
    return reply;
  }

  /** A node that found no logs where another one found some has dropped them, or never had them. */
  #learnNoLogs(json: Buffer, upstream: Upstream, position: CallPosition): void {
    if (json.length <= NO_LOGS_BYTES) this.#foundNoLogs = [...this.#foundNoLogs, upstream];
    else for (const other of this.#foundNoLogs) other.capabilities.learnNoLogs(json, position);
  }

  /** Reports dissenters, also after the call has settled; ends the call only once. */
  #settle({ outcome, othersMs, dissenters, isOccupied, lesson }: Settlement): void {
    const { clock, network } = this.#parts;
    const { method } = this.#state.question;
    for (const { name, reply } of dissenters) {
      const others = dissenters.filter((other) => other.name !== name);
      const texts = disagreementTexts(reply, { outcome, others }, network.redact);
      network.dissented(name, method, texts);
    }
    if (this.#isSettled) return;
    if (isOccupied) network.occupied();
    if (lesson) network.learn(lesson, this.#state.question);
    this.#end();
    if (this.#underWay > 0 && othersMs < NEVER && !this.#ending.aborted)
      this.#cancelTimer = clock.after(othersMs, () => this.#ending.abort(LOST_RACE));
    if (outcome instanceof RpcError) this.#ends?.failed(outcome);
    else this.#ends?.answered(outcome);
  }

  #end(): void {
    this.#isSettled = true;
    this.#cancelTimer();
    this.#signal?.removeEventListener("abort", this.#onAbort);
  }
}

const nothing = (): void => undefined;

const NOBODY: readonly Upstream[] = [];
/** The bytes of `[]`, or null. */
const NO_LOGS_BYTES = 4;

export type AskingState = {
  readonly question: UpstreamQuestion;
  readonly view: NetworkView;
  /** How many vendors must agree; undefined: one answer is enough. */
  readonly rule: AgreementRule | undefined;
  /** The number of upstreams that get the call at the same time. */
  readonly copies: number;
  /** undefined until an upstream is usable. */
  plan: OneAnswer | Quorum | Broadcast | undefined;
  /** Whether the call has waited for a usable upstream. */
  hasWaited: boolean;
  /** The end of the wait for enough vendors, by the clock's `now`; left out: the call did not wait for them. */
  vendorsByMs?: number;
};

/**
 * How long a call waits while no upstream is usable: `ms` from the beginning of the outage, and at least `leastMs`,
 * since an upstream may be back with the next identity check.
 */
const OUTAGE_TIMEOUT = { ms: 3_000, leastMs: 600 };

/** Decides the next step of a call. Changes nothing but the state. */
export function next(state: AskingState, event: AskingEvent, now: number): Decision {
  if (event.kind === "started") {
    if (event.upstreams.length === 0) return waitForUpstreams(state, now);
    const wait = waitForVendors(state, event.upstreams, now);
    if (wait) return wait;
    state.plan = planOf(state, event.upstreams);
  }
  if (state.plan) return state.plan.next(event, now);
  if (event.kind === "timer" && state.vendorsByMs !== undefined && state.rule)
    return settlementOf(errors.tooFewVendors(state.rule.agree));
  const isOut = event.kind !== "aborted" || state.view.outSinceMs(now) !== undefined;
  return settlementOf(isOut ? errors.noUpstream() : errors.upstreamTimeout());
}

function planOf(
  { question, view, rule, copies }: AskingState,
  upstreams: readonly Upstream[],
): OneAnswer | Quorum | Broadcast {
  if (rule) return new Quorum(question, upstreams, rule);
  if (copies > 1) return new Broadcast(question, upstreams, copies);
  return new OneAnswer(question, upstreams, view);
}

/** Waits for further vendors at the start of the gateway, when the first may be usable some time before the others. */
function waitForVendors(
  state: AskingState,
  upstreams: readonly Upstream[],
  now: number,
): Wait | undefined {
  const { rule, view } = state;
  if (!rule || ofDifferentVendors(upstreams).length >= rule.agree || view.isSettled())
    return undefined;
  if (state.vendorsByMs === undefined && !view.mayWait("upstreams")) return undefined;
  state.vendorsByMs ??= now + OUTAGE_TIMEOUT.ms;
  return { kind: "wait", untilMs: state.vendorsByMs, shortOf: "upstreams" };
}

function waitForUpstreams(state: AskingState, now: number): Decision {
  const { view } = state;
  const sinceMs = view.outSinceMs(now);
  if (sinceMs === undefined || state.hasWaited || !view.mayWait("upstreams"))
    return settlementOf(errors.noUpstream());
  state.hasWaited = true;
  const untilMs = Math.max(now + OUTAGE_TIMEOUT.leastMs, sinceMs + OUTAGE_TIMEOUT.ms);
  return { kind: "wait", untilMs, shortOf: "upstreams" };
}
