// The next step of a call on its way to the upstreams: to ask one, to wait, or to settle. `next` changes nothing
// but the state that is passed in; the driver (`call-driver.ts`) acts.
import { errors } from "../../jsonrpc/rpc-error.ts";
import type { Upstream } from "../upstream.ts";
import type { AgreementRule } from "./agreement.ts";
import { Broadcast } from "./broadcast.ts";
import {
  type AskingEvent,
  type Attempt,
  type Decision,
  type NetworkView,
  settlementOf,
  type UpstreamQuestion,
} from "./decision.ts";
import { OneAnswer } from "./one-answer.ts";
import { Quorum } from "./quorum.ts";

export type AskingState = {
  readonly question: UpstreamQuestion;
  readonly view: NetworkView;
  /** How many must say the same; undefined: one answer is enough. */
  readonly rule: AgreementRule | undefined;
  /** To how many upstreams it is sent at once. */
  readonly copies: number;
  /** undefined until there are upstreams. */
  plan: OneAnswer | Quorum | Broadcast | undefined;
  /** It waited for an upstream that can be asked. */
  hasWaited: boolean;
};

/**
 * While no upstream can be asked, a call waits so long from the moment on at which that began; and at least a
 * little: an upstream may be back with the next look.
 */
const OUTAGE_TIMEOUT = { ms: 3_000, leastMs: 600 };

export function next(state: AskingState, event: AskingEvent, now: number): Decision {
  if (event.kind === "started") {
    if (event.upstreams.length === 0) return waitForUpstreams(state, now);
    state.plan = planOf(state, event.upstreams);
  }
  if (state.plan) return state.plan.next(event, now);
  const isOut = event.kind !== "aborted" || state.view.outSinceMs(now) !== undefined;
  return settlementOf(isOut ? errors.noUpstream() : errors.upstreamTimeout());
}

/** The attempt that takes longer than usual, just now. */
export const overdue = ({ plan }: AskingState, now: number): Attempt | undefined =>
  plan instanceof OneAnswer ? plan.overdue(now) : undefined;

function planOf(
  { question, view, rule, copies }: AskingState,
  upstreams: readonly Upstream[],
): OneAnswer | Quorum | Broadcast {
  if (rule) return new Quorum(question, upstreams, rule);
  if (copies > 1) return new Broadcast(question, upstreams, copies);
  return new OneAnswer(question, upstreams, view);
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
