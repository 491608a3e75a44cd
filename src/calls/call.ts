// One call on its way to an answer, and what it may use.
import type { Grant } from "../access/key-ring.ts";
import type { Chain } from "../chain/chain.ts";
import type { ChainView } from "../chain/chain-view.ts";
import type { Head } from "../chain/head.ts";
import { type CallMessage, paramsJsonOf } from "../jsonrpc/request.ts";
import type { Catalogue } from "../methods/catalogue.ts";
import type { CallContext, HeadView, Method, NetworkFacts, Note } from "../methods/method.ts";
import type { CallOptions, Session } from "../upstream/asking/call-options.ts";
import type { Coalescing } from "../upstream/asking/coalescing.ts";
import type { Pool } from "../upstream/pool.ts";
import type { RequestScope } from "./request-scope.ts";

/** The slice of a network that calls need. */
export type CallableNetwork = {
  readonly facts: NetworkFacts;
  readonly catalogue: Catalogue;
  readonly pool: Pick<Pool, "call" | "agreementOn">;
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
};

/** What the members of a batch share: the chain as it was when the first of them looked. */
export type SharedView = {
  readonly head: HeadView;
  readonly chain: ChainView | undefined;
  /** One node for all that asks for a tag: what is latest is told by each node for itself. */
  readonly session: Session | undefined;
};

export class Call implements CallContext {
  readonly message: CallMessage;
  readonly caller: Caller;
  /** undefined when the network has no such method. */
  readonly method: Method | undefined;
  readonly network: NetworkFacts;
  /** What the answer stands on; undefined for one that was made here. */
  notes: Note | undefined;
  #view: SharedView | undefined;
  readonly #sharedView: (() => SharedView) | undefined;

  /** @param sharedView The one view of a batch; left out for a lone call. */
  constructor(message: CallMessage, caller: Caller, sharedView?: () => SharedView) {
    this.message = message;
    this.caller = caller;
    this.method = caller.network.catalogue.find(message.method);
    this.network = factsFor(caller);
    this.#sharedView = sharedView;
  }

  get paramsJson(): string {
    return paramsJsonOf(this.message);
  }

  get head(): HeadView {
    return this.#viewed().head;
  }

  get chain(): ChainView | undefined {
    return this.#viewed().chain;
  }

  get filters(): CallContext["filters"] {
    return this.caller.network.filters;
  }

  get ranges(): CallContext["ranges"] {
    return this.caller.network.ranges;
  }

  get holder(): string {
    return this.caller.grant.name;
  }

  get delivery(): RequestScope {
    return this.caller.scope;
  }

  get signal(): AbortSignal {
    return this.caller.scope.signal();
  }

  note(note: Note): void {
    this.notes = note;
  }

  ask(method: string, paramsJson: string, options?: CallOptions): Promise<Buffer> {
    const { network, scope } = this.caller;
    this.notes ??= FROM_UPSTREAM;
    // Only what asks and changes nothing: two who send or poll at once are two. An answer that is
    // read while it comes has one reader.
    const isQuestion =
      this.method !== undefined && this.method.freshness !== "unknown" && !options?.reader;
    const { coalescing, pool } = network;
    const { session } = this.#sharedView ? this.#viewed() : LONE;
    const isTogether = session !== undefined && TAG.test(paramsJson);
    return (isQuestion ? coalescing : pool).call(method, paramsJson, scope.signal(), {
      ...options,
      session: isTogether ? session : undefined,
    });
  }

  readonly isAgreedUpon = (method: string): boolean =>
    this.caller.network.pool.agreementOn(method) !== undefined;

  #viewed(): SharedView {
    this.#view ??= this.#sharedView?.() ?? viewOf(this.caller);
    return this.#view;
  }

  describe(): string {
    return this.caller.network.describe(this.caller.grant);
  }
}

const LONE: Pick<SharedView, "session"> = { session: undefined };

const TAG = /"(latest|pending|safe|finalized|latest_\w+)"/;

const FROM_UPSTREAM: Note = { source: "upstream", proof: "none" };

/** The chain and its head as they are now. @param isShared For all members of a batch. */
export function viewOf({ network, scope }: Caller, isShared = false): SharedView {
  const chain = network.chain?.view(isShared);
  const session = isShared ? { node: undefined } : undefined;
  if (!chain) {
    const signal = (): AbortSignal => scope.signal();
    const head = isShared ? network.head.batchView(signal) : network.head.loneView(signal);
    return { head, chain, session };
  }
  const head = {
    latest: () => chain.latest(),
    atLeast: (number: number) => chain.atLeast(number, scope.signal()),
    pin: <Reference>(reference: Reference) => chain.pin(reference),
  };
  return { head, chain, session };
}

/** The network's facts, with the key's own log range where it is the smaller one. */
function factsFor({ grant, network: { facts } }: Caller): NetworkFacts {
  const { logs } = facts.limits;
  if (grant.logBlocks === undefined || grant.logBlocks >= logs.blocks) return facts;
  return { ...facts, limits: { ...facts.limits, logs: { ...logs, blocks: grant.logBlocks } } };
}
