// What a reply says of its upstream's health, budget and methods, and how long its budget makes a call wait.
import type { Signal } from "../lib/cancellation.ts";
import type { RateBudget } from "./budget/rate-budget.ts";
import type { MissingMethods } from "./capabilities/capabilities.ts";
import type { AttemptEnding } from "./health/health.ts";
import type { Reply } from "./reply.ts";
import type { Urgency } from "./upstream-options.ts";

/** Why an attempt is aborted when another upstream replied first. */
export const OUTRUN = new Error("another node answered first");

type Ending = {
  readonly signal: Signal;
  /** It is asked for what it may not be made for. */
  readonly isNoFault: boolean;
};

/** How long a call of this cost has to wait, in milliseconds: 0 when it may go. */
export function budgetWaitMs(
  budget: Pick<RateBudget, "waitMs" | "mayBeTried" | "mayBePressed">,
  cost: number,
  { purpose, isInsistent = false }: Urgency,
): number {
  const mustGo = purpose === "check";
  // What follows the chain goes before callers, as far as the node's own words allow.
  const mayPress =
    (isInsistent && budget.mayBeTried(cost)) || (purpose === "follow" && budget.mayBePressed(cost));
  return mustGo || mayPress ? 0 : budget.waitMs(cost);
}

/** What a call's end says of the node's health. */
export function endingOf(reply: Reply, { signal, isNoFault }: Ending): AttemptEnding {
  if (reply.kind === "aborted" && signal.reason === OUTRUN) return "outrun";
  if (reply.kind !== "failed" && reply.kind !== "timeout") return reply.kind;
  if (isNoFault) return "aborted";
  return reply.kind === "failed" && reply.isReported ? "failed inside" : reply.kind;
}

/** Whether it may be another node by now, or none. */
export const isSuspicious = (reply: Reply): boolean =>
  reply.kind === "timeout" || (reply.kind === "failed" && !reply.isReported);

/** What it has and how much it takes, as far as a reply tells. @param call.way See `AskOptions`. */
export function learnFrom(
  reply: Reply,
  call: { readonly way: string; readonly sentAtMs: number },
  node: {
    readonly missing: Pick<MissingMethods, "found" | "remember">;
    readonly budget: Pick<RateBudget, "answered" | "limited">;
  },
): void {
  if (reply.kind === "result") node.missing.found(call.way);
  if (reply.kind === "result" || reply.kind === "refused") node.budget.answered(call.sentAtMs);
  if (reply.kind === "busy") node.budget.limited(reply.retryAfterMs, call.sentAtMs);
  if (reply.kind === "missing" && !reply.isUnsure) node.missing.remember(call.way);
}
