// The life of one call, from a readable message to an answer: the steps it passes, in order.
import type { Logger } from "pino";
import { errors, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { Outcome } from "../methods/method.ts";
import { checkAddresses, checkParams } from "../methods/validate.ts";
import type { CallRecord, Metrics } from "../observe/metrics.ts";
import type { Call } from "./call.ts";

/** A step refuses by throwing, or returns what `next` gives. It calls `next` at most once. */
type Step = (call: Call, next: () => Outcome) => Outcome;

export type LifeParts = {
  readonly clock: Pick<Clock, "now">;
  readonly metrics: Pick<Metrics, "callEnded">;
  readonly log: Logger;
};

/** What an unknown or unpriced call costs, in compute units: asking is not free. */
const UNKNOWN_METHOD_COST = 1;

/** Leads calls through their steps. The answer is raw JSON; refusals and failures are thrown. */
export function lifeOfACall(parts: LifeParts): (call: Call) => Outcome {
  const steps: readonly Step[] = [
    record(parts), // outermost, so that refusals are counted too
    authorize,
    charge(parts.clock), // before validation: malformed calls are not free
    answer,
  ];
  const from = (step: number, call: Call): Outcome =>
    steps[step]?.(call, () => from(step + 1, call)) ?? "null";
  return (call) => from(0, call);
}

const authorize: Step = (call, next) => {
  if (!call.caller.grant.allowsMethod(call.message.method)) throw errors.methodNotForKey();
  return next();
};

const charge =
  (clock: LifeParts["clock"]): Step =>
  (call, next) => {
    const short = call.caller.grant.charge(priceOf(call), clock.now());
    if (short) throw errors.rateLimited(short);
    return next();
  };

/** Innermost: the parameters are checked and the method answers. */
const answer: Step = (call) => {
  if (!call.method) throw errors.methodNotFound(call.message.method);
  const { family, chainId } = call.network;
  const args = checkParams(call.method, call.message.params);
  if (family === "conflux") checkAddresses(call.message.params, chainId);
  return call.method.answer(args, call);
};

const priceOf = ({ method }: Call): number => method?.cost ?? UNKNOWN_METHOD_COST;

const record =
  ({ clock, metrics, log }: LifeParts): Step =>
  (call, next) => {
    const startedAt = clock.now();
    const ended = (outcome: CallRecord["outcome"], error?: unknown): void => {
      const seconds = (clock.now() - startedAt) / 1000;
      const method = labelOf(call);
      const network = call.network.name;
      metrics.callEnded({ network, method, outcome, computeUnits: priceOf(call), seconds });
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

/** Callers may invent method names; labels are only those that the catalogue declares. */
const labelOf = ({ method, caller }: Call): string =>
  method && caller.network.catalogue.isDeclared(method.name) ? method.name : "other";

const outcomeOf = (error: unknown): CallRecord["outcome"] => {
  if (!(error instanceof RpcError) || error.status === 500) return "failed";
  return error.status > 500 ? "unavailable" : "refused";
};
