// What a method may know and use while it answers one call.
import type { Meter } from "../access/limits/meter.ts";
import type { GuardedMethod } from "../access/scope/scope.ts";
import type { KeyUsage } from "../access/usage/key-usage.ts";
import type { ProofLevel } from "../chain/block-record.ts";
import type { Position } from "../chain/block-store.ts";
import type { ChainView } from "../chain/chain-view.ts";
import type { FilterBook } from "../filters/filter-book.ts";
import type { Delivery } from "../filters/open-filter.ts";
import type { Family } from "../namespaces/known-method.ts";
import type { CallOptions } from "../upstream/asking/call-options.ts";
import type { LearnedRange } from "../upstream/learned-range.ts";

export type CallContext = {
  readonly network: NetworkFacts;
  /** The head, to be asked for; where nothing is followed, that is a question to nodes. */
  consultHead(): HeadView;
  /** The followed chain; undefined where nothing is followed, and while the chain is caught up with. */
  readonly chain: ChainView | undefined;
  /** Those of the followed chain; undefined where nothing is followed. */
  readonly filters: Filters | undefined;
  /** The name of the key that calls. */
  readonly holder: string;
  /**
   * Whether the key may make this other call, too, which the one that is answered stands on.
   *
   * @throws RpcError -32002, -32004, or -32601 when the network does not serve it.
   */
  authorize(method: GuardedMethod, params: readonly unknown[]): void;
  /** What the key that calls may do, and did. */
  readonly account: Account;
  /** The sending of the answer. */
  readonly delivery: Delivery;
  /** Counts bytes that wait in memory until the call is answered. @param bytes Negative: so many less. */
  hold(bytes: number): void;
  /** Ends with the deadline, and when the caller goes away. */
  readonly signal: AbortSignal;
  /** The parameters as the caller wrote them, for methods that pass them on unchanged. */
  readonly paramsJson: string;
  /**
   * Asks the network's upstreams within this call's deadline.
   *
   * @param paramsJson A JSON array.
   * @returns The bytes of `result` as the node sent them.
   * @throws RpcError: -32601 when no upstream has the method, the node's own refusal, or 502–504;
   * -32005 beyond what the call may ask, or what its key has left (429).
   */
  ask(method: string, paramsJson: string, options?: CallOptions): Promise<Buffer>;
  /**
   * Pays for a question to the nodes that the followed chain asks for this call, as if `ask` asked it.
   *
   * @throws RpcError -32005, as `ask`.
   */
  payFor(method: string): Promise<void>;
  /** Whether none of the nodes that may be asked has the method, as far as that is known. */
  readonly isMissing: (method: string) => boolean;
  /** How many more questions it may ask; beyond that `ask` throws `tooMuchWork`. */
  readonly questionsLeft: number;
  /** Whether several vendors are asked for the method, and must give the same answer. */
  readonly isAgreedUpon: (method: string) => boolean;
  /** What the answer stands on, for the response's headers. The one that is set last counts. */
  setProvenance(provenance: Provenance): void;
  readonly provenance: Provenance | undefined;
  /** How wide a range the network's nodes take in one query. */
  readonly ranges: Pick<LearnedRange, "width" | "limitedTo" | "fitted">;
  /** The OpenRPC document of the network for this caller's key, as JSON. */
  describe(): string;
};

type Filters = Pick<FilterBook, "create" | "changes" | "criteria" | "remove">;

type Account = {
  readonly meter: Pick<Meter, "snapshot">;
  readonly usage: Pick<KeyUsage, "range" | "read">;
};

/** Where an answer comes from, and how far it is proven. */
export type Provenance = {
  readonly source: "store" | "upstream" | "local";
  /** The block that it stands on. */
  readonly block?: Position | undefined;
  readonly proof?: ProofLevel;
  /** There was more than the network's preset lets through. */
  readonly isCut?: boolean;
  /** For how long the network's head is stale, in milliseconds. */
  readonly staleMs?: number | undefined;
};

export type NetworkFacts = {
  readonly name: string;
  readonly family: Family;
  readonly chainId: number;
  /** How much of a block must be proven; left out: what can be. */
  readonly proof?: "strict" | "available" | "off" | undefined;
  /** The chain's final total difficulty (QUANTITY), for blocks whose node leaves it out. */
  readonly totalDifficulty?: string | undefined;
  /** Whether a pending block has no number and no logsBloom, or those that its node gives it. */
  readonly pending?: "specified" | "node" | undefined;
  readonly limits: {
    /** How often one call may ask nodes. */
    readonly upstreamCalls: number;
    /** `rule` tells that the blocks are the key's own limit. */
    readonly logs: {
      /** The widest range; undefined: any. */
      readonly blocks?: number | undefined;
      readonly results: number;
      readonly rule?: "logs";
    };
    /** Of one vmTrace the steps and the bytes of text; of one trace_filter the blocks. */
    readonly traces: {
      readonly steps: number;
      readonly bytes: number;
      readonly blocks: number;
      /** Whether a node is asked a second time, for the gas that top calls used before refunds. */
      readonly refunds: boolean;
    };
  };
};

/** The head as the members of one batch see it: one and the same. */
export type HeadView = {
  /** The number that `latest` stands for, in blocks (epochs on Conflux). */
  latest(): number | Promise<number>;
  /** A head number that is at least `number` if any upstream's head is; asks only when the last known one is lower. */
  atLeast(number: number): Promise<number>;
  /**
   * `latest` as a fixed QUANTITY on a followed chain and inside a batch; any other reference, and
   * `latest` of a lone call on a chain that is not followed, unchanged.
   */
  pin<Reference>(reference: Reference): Promise<Reference | string> | Reference | string;
};
