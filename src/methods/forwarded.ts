// Methods that go to the upstreams as they came.
import { z } from "zod";
import type { KnownMethod, Reads } from "../namespaces/known-method.ts";
import type { Method } from "./method.ts";
import {
  anyContract,
  type ContractsOf,
  calledWithoutOverrides,
  contractAt,
  contractsOfLogs,
  tracedCall,
  tracedTransaction,
} from "./read-contracts.ts";

export function forwardedMethod({ reads, ...known }: KnownMethod): Method {
  const { name } = known;
  const contractsOf = contractsReadBy[reads];
  return {
    ...known,
    summary: "Passed on to the upstreams as it is.",
    parameters: "any",
    result: z.unknown(),
    freshness: "unknown",
    ...{ badParamsStatus: 200, isSpecified: false, isOwn: false, mayRevert: false },
    ...(contractsOf ? { contractsOf } : {}),
    answer: (_, context) => context.ask(name, context.paramsJson),
  };
}

const contractsReadBy: Readonly<Record<Reads, ContractsOf | undefined>> = {
  nothing: undefined,
  anything: anyContract,
  account: contractAt(0),
  called: calledWithoutOverrides,
  logs: contractsOfLogs,
  "traced call": tracedCall,
  "traced transaction": tracedTransaction,
};
