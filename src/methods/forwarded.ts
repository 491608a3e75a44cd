// Methods that are allowed by name only: they go to the upstreams as they came.
import { z } from "zod";
import { contractsReadBy, isWriting } from "./guard-forwarded.ts";
import type { Family, Method } from "./method.ts";

/** A method for a name that an allow list lets through and nobody has declared. */
export function forwardedMethod(name: string, family: Family): Method {
  const contractsOf = contractsReadBy(name);
  return {
    name,
    family,
    summary: "Passed on to the upstreams as it is.",
    cost: costOf(name),
    parameters: "any",
    result: z.unknown(),
    freshness: "unknown",
    badParamsStatus: 200,
    isWrite: isWriting(name),
    ...(contractsOf ? { contractsOf } : {}),
    answer: (_, context) => context.ask(name, context.paramsJson),
  };
}

/** Decisions: limits by compute unit. What replays transactions costs as much as `trace_*`. */
function costOf(name: string): number {
  if (name.startsWith("net_")) return 1;
  if (name.startsWith("trace_") || name.startsWith("debug_")) return 25;
  return /Balance$|Filter$|FilterChanges$/.test(name) ? 2 : 3;
}
