// Drives one call to its end: asks upstreams, waits and settles as `next` decides. It owns the call's timer and
// attempts, and tells the others what is done.
import { RpcError } from "../../jsonrpc/rpc-error.ts";
import type { Clock } from "../../lib/clock.ts";
import { OUTRUN } from "../ask-decisions.ts";
import type { Reply } from "../reply.ts";
import type { Upstream } from "../upstream.ts";
import type { AskOptions } from "../upstream-options.ts";
import type { FinalReply } from "./call-options.ts";
import {
  type AskingEvent,
  type Attempt,
  NEVER,
  type NetworkView,
  type Settlement,
  type Wait,
} from "./decision.ts";
import type { NetworkCalls, Shortage, Waiting } from "./network-calls.ts";
import { type AskingState, next, overdue } from "./next.ts";

/** What the calls of one network share. */
export type AskingNetwork = NetworkView &
  Pick<NetworkCalls, "takeOrder" | "headNumber" | "hedges" | "enter" | "leave"> &
  Pick<NetworkCalls, "askedAgain" | "dissented" | "occupied"> & {
    readonly times: Pick<NetworkCalls["times"], "answered">;
  };

export type CallDriverParts = {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly network: AskingNetwork;
};

const BEGUN: AskingEvent = { kind: "begun" };
const TIMER: AskingEvent = { kind: "timer" };
const ABORTED: AskingEvent = { kind: "aborted" };
const NOT_ASKED: Reply = { kind: "failed", reason: "it could not be asked" };

export class CallDriver implements Waiting {
  readonly #state: AskingState;
  /** Ends the attempts. */
  readonly #ending = new AbortController();
  #underWay = 0;
  #isSettled = false;
  #timerAtMs = NEVER;
  #cancelTimer = nothing;
  /** What it waits for as one of many. */
  #shortOf: Shortage | undefined;
  #signal: AbortSignal | undefined;
  #resolve: (reply: FinalReply) => void = nothing;
  #reject: (error: unknown) => void = nothing;
  readonly #parts: CallDriverParts;

  /** @param state Of a call that is not begun. */
  constructor(state: AskingState, parts: CallDriverParts) {
    this.#state = state;
    this.#parts = parts;
  }

  /**
   * @throws RpcError: what `whyNobody` says; 502 when too few of a quorum agree, 503 when too few can be
   * asked; 504 with the signal.
   */
  outcome(signal: AbortSignal): Promise<FinalReply> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      if (signal.aborted) {
        this.#step(ABORTED);
        return;
      }
      this.#signal = signal;
      signal.addEventListener("abort", this.#onAbort, { once: true });
      this.resume();
    });
  }

  /** The upstreams are looked at: at first, and when one can be asked again. */
  resume(): void {
    const { network } = this.#parts;
    this.#step({ kind: "started", upstreams: network.takeOrder(this.#state.question) });
  }

  readonly #onAbort = (): void => {
    this.#ending.abort(this.#signal?.reason);
    this.#step(ABORTED);
  };

  readonly #onTimer = (): void => {
    const now = this.#parts.clock.now();
    this.#timerAtMs = NEVER; // it may be early: then the same time is waited for again
    const { upstream, call } = overdue(this.#state, now) ?? {};
    if (call) upstream?.health.late(call);
    this.#step(TIMER, now);
  };

  #step(event: AskingEvent, now = this.#parts.clock.now()): void {
    this.#leave();
    let decision = next(this.#state, event, now);
    while (decision.kind === "ask" && !this.#isSettled) {
      void this.#begin(decision);
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
    this.#cancelTimer = untilMs === NEVER ? nothing : clock.after(untilMs - now, this.#onTimer);
  }

  #leave(): void {
    if (this.#shortOf) this.#parts.network.leave(this.#shortOf, this);
    this.#shortOf = undefined;
  }

  async #begin(attempt: Attempt): Promise<void> {
    const { clock, network } = this.#parts;
    const { method, paramsJson, options } = this.#state.question;
    if (attempt.why) network.askedAgain(attempt.why);
    if (attempt.isHedge) network.hedges.spend();
    options.ledger?.attempted();
    this.#underWay += 1;
    const sentAtMs = clock.now();
    let reply = NOT_ASKED;
    try {
      const { signal } = this.#ending;
      reply = await attempt.upstream.ask(method, paramsJson, signal, this.#askOptions(attempt));
    } catch {
      // It failed, as an answer that cannot be read does.
    }
    this.#underWay -= 1;
    try {
      this.#hear(reply, attempt, clock.now() - sentAtMs);
    } catch (error) {
      this.#end(); // a mistake in what judges answers: the call does not wait for its deadline over it
      this.#reject(error);
    }
  }

  #hear(reply: Reply, attempt: Attempt, ms: number): void {
    if (this.#isSettled) {
      if (this.#underWay === 0) this.#cancelTimer();
      this.#step({ kind: "reply", attempt, reply });
      return;
    }
    const { method } = this.#state.question;
    if (reply.kind === "result") this.#parts.network.times.answered(method, ms);
    this.#step({ kind: "reply", attempt, reply: this.#noted(reply, attempt.upstream) });
  }

  #askOptions(attempt: Attempt): AskOptions {
    const { traits, options } = this.#state.question;
    const { block, variant, reader, isFalse, onFalse, asker } = options;
    const head = block === undefined ? undefined : this.#parts.network.headNumber();
    return {
      traits,
      reader: reader?.(),
      way: variant?.name,
      isFalse,
      onFalse,
      place: block === undefined || head === undefined ? undefined : { block, head },
      isInsistent: attempt.isInsistent,
      asker,
      onOpen: (call) => {
        attempt.call = call;
      },
    };
  }

  /** An answer tells of its upstream, too, and who asked may learn from all of them. */
  #noted(reply: Reply, upstream: Upstream): Reply {
    if (reply.kind !== "result" && reply.kind !== "refused") return reply;
    const { variant, onReply } = this.#state.question.options;
    if (variant?.isMissing(reply)) {
      upstream.rememberMissing(variant.name);
      return { kind: "missing" };
    }
    onReply?.(reply, upstream.name);
    return reply;
  }

  /** A call that is settled already can only be told of dissent. */
  #settle({ outcome, othersMs, dissenters, isOccupied }: Settlement): void {
    const { clock, network } = this.#parts;
    for (const name of dissenters) network.dissented(name, this.#state.question.method);
    if (this.#isSettled) return;
    if (isOccupied) network.occupied();
    this.#end();
    if (this.#underWay > 0 && othersMs < NEVER && !this.#ending.signal.aborted)
      this.#cancelTimer = clock.after(othersMs, () => this.#ending.abort(OUTRUN));
    if (outcome instanceof RpcError) this.#reject(outcome);
    else this.#resolve(outcome);
  }

  #end(): void {
    this.#isSettled = true;
    this.#cancelTimer();
    this.#signal?.removeEventListener("abort", this.#onAbort);
  }
}

const nothing = (): void => undefined;
