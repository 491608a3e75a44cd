// One call on its way to an answer, and what it may use.
import type { Grant } from "../access/key-ring.ts";
import type { Head } from "../chain/head.ts";
import { type CallMessage, paramsJsonOf } from "../jsonrpc/request.ts";
import type { Catalogue } from "../methods/catalogue.ts";
import type { CallContext, HeadView, Method, NetworkFacts } from "../methods/method.ts";
import type { Pool } from "../upstream/pool.ts";
import type { RequestScope } from "./request-scope.ts";

/** The slice of a network that calls need. */
export type CallableNetwork = {
  readonly facts: NetworkFacts;
  readonly catalogue: Catalogue;
  readonly pool: Pick<Pool, "call">;
  readonly head: Pick<Head, "loneView" | "batchView">;
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

export class Call implements CallContext {
  readonly message: CallMessage;
  readonly caller: Caller;
  /** undefined when the network has no such method. */
  readonly method: Method | undefined;
  readonly network: NetworkFacts;
  readonly #view: (() => HeadView) | undefined;

  /** @param sharedView The one view of a batch; left out for a lone call. */
  constructor(message: CallMessage, caller: Caller, sharedView?: () => HeadView) {
    this.message = message;
    this.caller = caller;
    this.method = caller.network.catalogue.find(message.method);
    this.network = factsFor(caller);
    this.#view = sharedView;
  }

  get paramsJson(): string {
    return paramsJsonOf(this.message);
  }

  get head(): HeadView {
    const { network, scope } = this.caller;
    return this.#view?.() ?? network.head.loneView(() => scope.signal());
  }

  ask(method: string, paramsJson: string): Promise<Buffer> {
    return this.caller.network.pool.call(method, paramsJson, this.caller.scope.signal());
  }

  describe(): string {
    return this.caller.network.describe(this.caller.grant);
  }
}

/** The network's facts, with the key's own log range where it is the smaller one. */
function factsFor({ grant, network: { facts } }: Caller): NetworkFacts {
  const { logs } = facts.limits;
  if (grant.logBlocks === undefined || grant.logBlocks >= logs.blocks) return facts;
  return { ...facts, limits: { logs: { ...logs, blocks: grant.logBlocks } } };
}
