// The life of one call, from a readable message to an answer: the steps it passes, in order, and what is recorded
// of it as usage of its key.
import type { Logger } from "pino";
import type { Costs, Meter } from "../access/limits/meter.ts";
import { type AnswerJson, lengthOf } from "../jsonrpc/raw-json.ts";
import { errors, isTooMuchWork, type RateLimit, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget } from "../lib/memory-budget.ts";
import { checkAddresses, checkParams, type Outcome } from "../methods/method.ts";
import type { CallRecord, Metrics } from "../observe/metrics.ts";
import { type Call, forbidden } from "./call.ts";

/** A step refuses by throwing, or returns what `next` gives. It calls `next` at most once. */
type Step = (call: Call, next: () => Outcome) => Outcome;

export type LifeParts = {
  readonly clock: Pick<Clock, "now">;
  readonly metrics: Pick<Metrics, "callEnded" | "callSaved" | "callBounded">;
  readonly costs: Pick<Costs, "of">;
  readonly memory: Pick<MemoryBudget, "admitsCall" | "admitsBatch" | "isCalmFor">;
  readonly log: Logger;
};

/** Leads calls through their steps. The answer is raw JSON; refusals and failures are thrown. */
export function lifeOfACall(parts: LifeParts): (call: Call) => Outcome {
  const steps: readonly Step[] = [
    record(parts), // outermost, so that refusals are counted too
    authorize(parts),
    charge(parts), // before validation: malformed calls are not free
    answer,
  ];
  const from = (step: number, call: Call): Outcome =>
    steps[step]?.(call, () => from(step + 1, call)) ?? "null";
  return (call) => from(0, call);
}

const authorize =
  ({ clock }: LifeParts): Step =>
  (call, next) => {
    const { scope, meter } = call.caller.grant;
    const rule = scope.forbidsCall(call);
    if (!rule) return next();
    const short = meter.charge(REFUSED_UNITS, clock.now());
    // It waits for nothing.
    if (!(short instanceof Promise)) {
      refuse(short);
      call.chargedUnits = REFUSED_UNITS;
    }
    throw forbidden(rule);
  };

/** What the key forbids, and what is no call, is not free either: it had to be read. */
export const REFUSED_UNITS = 1;

/** The call counts as running from here until its answer is ready. */
const charge =
  ({ clock, costs, memory }: LifeParts): Step =>
  (call, next) => {
    const { meter } = call.caller.grant;
    const cost = costs.of(call.method);
    if (!call.isInBatch && !memory.admitsCall(cost, meter.memory)) throw errors.memoryIsScarce();
    refuse(meter.begin());
    try {
      const short = meter.charge(cost, clock.now());
      if (short instanceof Promise) return ending(meter, whenCharged(short, { call, cost, next }));
      refuse(short);
      call.chargedUnits = cost;
      const outcome = next();
      if (outcome instanceof Promise) return ending(meter, outcome);
      meter.end();
      return outcome;
    } catch (error) {
      meter.end();
      throw error;
    }
  };

const refuse = (short: RateLimit | undefined): void => {
  if (short) throw errors.rateLimited(short);
};

async function whenCharged(
  short: Promise<RateLimit | undefined>,
  { call, cost, next }: { call: Call; cost: number; next: () => Outcome },
): Promise<AnswerJson> {
  refuse(await short);
  call.chargedUnits = cost;
  return next();
}

const ending = (meter: Meter, outcome: Promise<AnswerJson>): Promise<AnswerJson> =>
  outcome.finally(() => meter.end());

/** Innermost: the parameters are checked and the method answers. */
const answer: Step = (call) => {
  if (!call.method) throw call.notFound();
  const { family, chainId } = call.network;
  const { ambiguity } = call.message;
  if (ambiguity !== undefined)
    throw errors.invalidParams(`invalid params: ${ambiguity}`, call.method.badParamsStatus);
  const args = checkParams(call.method, call.message.params);
  if (family === "conflux") checkAddresses(call.message.params, chainId);
  return call.method.answer(args, call);
};

const record =
  ({ clock, metrics, log }: LifeParts): Step =>
  (call, next) => {
    const startedAt = clock.now();
    const ended = (outcome: CallRecord["outcome"], error?: unknown): void => {
      const seconds = (clock.now() - startedAt) / 1000;
      const method = call.label;
      const network = call.network.name;
      if (error !== undefined && isTooMuchWork(error)) metrics.callBounded(network, "work");
      metrics.callEnded({ network, method, outcome, computeUnits: call.computeUnits, seconds });
      if (log.isLevelEnabled("debug")) {
        const { requestId: request, grant } = call.caller;
        const code = error instanceof RpcError ? error.code : undefined;
        log.debug({ request, network, key: grant.name, method, outcome, code, seconds }, "call");
      }
    };
    return watched(next, ended);
  };

/** Tells how `work` ended, without delaying it or making a ready answer wait. */
function watched(
  work: () => Outcome,
  ended: (outcome: CallRecord["outcome"], error?: unknown) => void,
): Outcome {
  try {
    const outcome = work();
    if (!(outcome instanceof Promise)) {
      ended("ok");
      return outcome;
    }
    return outcome.then(
      (result) => {
        ended("ok");
        return result;
      },
      (error: unknown) => {
        ended(outcomeOf(error), error);
        throw error;
      },
    );
  } catch (error) {
    ended(outcomeOf(error), error);
    throw error;
  }
}

const outcomeOf = (error: unknown): CallRecord["outcome"] => {
  if (!(error instanceof RpcError) || error.status === 500) return "failed";
  return error.status > 500 ? "unavailable" : "refused";
};

/** The server's refusals of a call: the key may not make it, or not now. What a node refuses has no such status. */
const REFUSED: readonly number[] = [403, 429];

/**
 * Counts an answered call as usage of its key.
 *
 * @param answer What the caller is sent for this call, and the error in it.
 */
export function recordUsage(
  call: Call,
  {
    pieces,
    error,
  }: { readonly pieces: readonly AnswerJson[]; readonly error?: RpcError | undefined },
  { metrics }: Pick<LifeParts, "metrics">,
): void {
  const { name: network } = call.network;
  const isRefused = error !== undefined && REFUSED.includes(error.status);
  // A caller that gets an error would have got it from a node, and asked again: nothing was saved.
  const saved = error ? undefined : call.saving;
  if (saved !== undefined) metrics.callSaved(network, saved);
  call.caller.grant.usage.record({
    network,
    method: call.label,
    computeUnits: call.computeUnits,
    bytes: lengthOf(pieces),
    requestBytes: call.message.json.length,
    outcome: isRefused ? "refused" : error ? "error" : "ok",
    saved,
    upstreamCalls: call.upstreamCalls,
  });
}
