// Methods that are known by name only: they go to the upstreams as they came.
import { z } from "zod";
import type { KnownMethod, Reads } from "../namespaces/known-method.ts";
import type { Family, Method } from "./method.ts";
import {
  anyContract,
  type ContractsOf,
  calledWithoutOverrides,
  contractAt,
  contractsOfLogs,
  tracedCall,
  tracedTransaction,
} from "./read-contracts.ts";

export function forwardedMethod({ name, family, kind, cost, reads }: KnownMethod): Method {
  const contractsOf = contractsReadBy[reads];
  return {
    name,
    family,
    kind,
    summary: "Passed on to the upstreams as it is.",
    cost,
    parameters: "any",
    result: z.unknown(),
    freshness: "unknown",
    badParamsStatus: 200,
    ...(contractsOf ? { contractsOf } : {}),
    answer: (_, context) => context.ask(name, context.paramsJson),
  };
}

/** A method that an operator names and nobody knows: it may change something, and read any contract. */
export const unknownMethod = (name: string, family: Family): Method =>
  forwardedMethod({ name, family, kind: "write", cost: costOf(name), reads: "anything" });

/** As those that are known: what replays transactions is dear. */
const costOf = (name: string): number => (/^(trace|debug)_/.test(name) ? 25 : 3);

const contractsReadBy: Readonly<Record<Reads, ContractsOf | undefined>> = {
  nothing: undefined,
  anything: anyContract,
  account: contractAt(0),
  called: calledWithoutOverrides,
  logs: contractsOfLogs,
  "traced call": tracedCall,
  "traced transaction": tracedTransaction,
};
