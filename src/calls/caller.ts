// The caller, the network that is called, and its chain as one call sees it, or all members of one batch.
import type { Grant } from "../access/keys/key-ring.ts";
import type { ChainView } from "../chain/chain-view.ts";
import type { Staleness } from "../chain/freshness.ts";
import type { Head } from "../chain/head.ts";
import type { ViewSource } from "../chain/view-source.ts";
import { isQuantity, toNumber } from "../evm/values.ts";
import type { Catalogue } from "../methods/catalogue.ts";
import type { CallContext, HeadView, NetworkFacts } from "../methods/method.ts";
import type { Session } from "../upstream/asking/call-options.ts";
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
  readonly chain: Pick<ViewSource, "view"> | undefined;
  /** undefined where nothing is followed. */
  readonly filters: CallContext["filters"];
  readonly ranges: CallContext["ranges"];
  /** The OpenRPC document with the methods that the key may call. */
  describe(grant: Grant): string;
};

/** The key that calls, the network, and the request with its time. The same for all members of a batch. */
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

/** What the members of a batch share: the chain as it was when the first of them looked. */
export type SharedView = {
  readonly head: HeadView;
  /** undefined, too, where the nodes may be further: then they are asked. */
  readonly chain: ChainView | undefined;
  /** The chain as it was when it was the newest, for what is asked of the past. */
  readonly past?: { readonly head: HeadView; readonly chain: ChainView };
  readonly staleness?: Staleness | undefined;
  /** One node for all that asks for a tag: what is latest is told by each node for itself. */
  readonly session: Session | undefined;
};

/** The chain and its head as they are now. @param isShared For all members of a batch. */
export function viewOf({ network, scope }: Caller, isShared = false): SharedView {
  const view = network.chain?.view(isShared);
  const session = isShared ? { node: undefined } : undefined;
  if (view && !view.isBehind) {
    const { staleness } = view;
    return { head: headOf(view, scope), chain: view, session, staleness };
  }
  const signal = (): AbortSignal => scope.signal();
  const head = isShared ? network.head.batchView(signal) : network.head.loneView(signal);
  const asked = { head, chain: undefined, session };
  if (!view) return asked;
  const past = { head: headOf(view, scope), chain: view };
  return { ...asked, past, staleness: view.staleness };
}

function headOf(chain: ChainView, scope: Caller["scope"]): HeadView {
  return {
    latest: () => chain.latest(),
    atLeast: (number: number) => chain.atLeast(number, scope.signal()),
    pin: <Reference>(reference: Reference) => chain.pin(reference),
  };
}

type Past = Pick<ChainView, "blockAt" | "blockOf" | "transaction">;

/**
 * Whether the first parameter names a block or a transaction that is stored, or a range of stored blocks: such
 * a call is answered from a store that may be behind its network.
 */
export function isOfThePast(paramsJson: string, past: Past): boolean {
  const [named] = parsed(paramsJson);
  if (typeof named === "string") return isStored(named, past);
  if (typeof named !== "object" || named === null) return false;
  const { blockHash, blockNumber, ...range } = named as Record<string, unknown>;
  const only = blockHash ?? blockNumber;
  if (only !== undefined) return isStored(only, past);
  const { fromBlock, toBlock, fromEpoch = fromBlock, toEpoch = toBlock } = range;
  return isStored(fromEpoch, past) && isStored(toEpoch, past);
}

function isStored(named: unknown, past: Past): boolean {
  if (isHash(named)) return (past.blockOf(named) ?? past.transaction(named)) !== undefined;
  return isQuantity(named) && past.blockAt(toNumber(named)) !== undefined;
}

const isHash = (named: unknown): named is string =>
  typeof named === "string" && /^0x[0-9a-f]{64}$/i.test(named);

/** Whatever it is, the method's own check says what is wrong with it. */
function parsed(paramsJson: string): readonly unknown[] {
  try {
    const params: unknown = JSON.parse(paramsJson);
    return Array.isArray(params) ? params : [];
  } catch {
    return [];
  }
}
