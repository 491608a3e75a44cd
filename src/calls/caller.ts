// Who calls, and the network that is called.
import type { Grant } from "../access/keys/grant.ts";
import type { Chain } from "../chain/chain.ts";
import type { Head } from "../chain/head.ts";
import type { Catalogue } from "../methods/catalogue.ts";
import type { CallContext, NetworkFacts } from "../methods/method.ts";
import type { Coalescing } from "../upstream/asking/coalescing.ts";
import type { Pool } from "../upstream/pool.ts";
import type { RequestScope } from "./request-scope.ts";

/** The slice of a network that calls need. */
export type CallableNetwork = {
  readonly facts: NetworkFacts;
  readonly catalogue: Catalogue;
  readonly pool: Pick<Pool, "call" | "agreementOn" | "isMissing">;
  readonly coalescing: Pick<Coalescing, "call">;
  readonly head: Pick<Head, "loneView" | "batchView">;
  /** undefined where nothing is followed. */
  readonly chain: Pick<Chain, "view"> | undefined;
  /** undefined where nothing is followed. */
  readonly filters: CallContext["filters"];
  readonly ranges: CallContext["ranges"];
  /** The OpenRPC document with the methods that the key may call. */
  describe(grant: Grant): string;
};

/** Who calls, where, and for how long. The same for all members of a batch. */
export type Caller = {
  readonly network: CallableNetwork;
  readonly grant: Grant;
  readonly requestId: string;
  readonly scope: RequestScope;
  /** Where it calls from; looked for only when its calls wait for others. */
  readonly client: () => string | undefined;
};

/** The network's facts, with the key's own log range where it is the smaller one, and its own calls of nodes. */
export function factsFor({ grant, network: { facts } }: Caller): NetworkFacts {
  const { logs, upstreamCalls } = facts.limits;
  const { logBlocks, upstreamCalls: own = upstreamCalls } = grant.scope;
  const isNarrower =
    logBlocks !== undefined && logBlocks < (logs.blocks ?? Number.POSITIVE_INFINITY);
  if (!isNarrower && own === upstreamCalls) return facts;
  const range = isNarrower ? ({ ...logs, blocks: logBlocks, rule: "logs" } as const) : logs;
  return { ...facts, limits: { ...facts.limits, upstreamCalls: own, logs: range } };
}
