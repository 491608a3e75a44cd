// A method is declared once: checks, prices, documentation and tests all read the declaration.
import type { z } from "zod";
import type { ProofLevel } from "../chain/block-record.ts";
import type { Position } from "../chain/block-store.ts";
import type { ChainView } from "../chain/chain-view.ts";
import type { FilterBook } from "../filters/filter-book.ts";
import type { Delivery } from "../filters/open-filter.ts";
import type { AnswerJson } from "../jsonrpc/envelope.ts";
import type { CallOptions } from "../upstream/asking/call-options.ts";
import type { LearnedRange } from "../upstream/learned-range.ts";

export type Family = "evm" | "conflux";

/** How long an answer that found something stays true, at worst over all parameters. */
export type Freshness = "forever" | "until reorg" | "until next block" | "unknown";

/** What a method may know and use while it answers one call. */
export type CallContext = {
  readonly network: NetworkFacts;
  readonly head: HeadView;
  /** The followed chain; undefined where nothing is followed, and while the chain is caught up with. */
  readonly chain: ChainView | undefined;
  /** Those of the followed chain; undefined where nothing is followed. */
  readonly filters: Filters | undefined;
  /** The name of the key that calls. */
  readonly holder: string;
  /** The sending of the answer. */
  readonly delivery: Delivery;
  /** Ends with the deadline, and when the caller goes away. */
  readonly signal: AbortSignal;
  /** The parameters as the caller wrote them, for methods that pass them on unchanged. */
  readonly paramsJson: string;
  /**
   * Asks the network's upstreams within this call's deadline.
   *
   * @param paramsJson A JSON array.
   * @returns The bytes of `result` as the node sent them.
   * @throws RpcError: -32601 when no upstream has the method, the node's own refusal, or 502–504.
   */
  ask(method: string, paramsJson: string, options?: CallOptions): Promise<Buffer>;
  /** Whether several vendors are asked for the method, and must give the same answer. */
  readonly isAgreedUpon: (method: string) => boolean;
  /** What the answer stands on, for the response's headers. Of several notes the last counts. */
  note(note: Note): void;
  readonly notes: Note | undefined;
  /** How wide a range the network's nodes take in one query. */
  readonly ranges: Pick<LearnedRange, "width" | "limitedTo" | "fitted">;
  /** The OpenRPC document of the network for this caller's key, as JSON. */
  describe(): string;
};

type Filters = Pick<FilterBook, "create" | "changes" | "criteria" | "remove">;

/** Where an answer comes from, and how far it is proven. */
export type Note = {
  readonly source: "store" | "upstream" | "local";
  /** The block that it stands on. */
  readonly block?: Position | undefined;
  readonly proof?: ProofLevel;
  /** There was more than the network's preset lets through. */
  readonly isCut?: boolean;
};

export type NetworkFacts = {
  readonly name: string;
  readonly family: Family;
  readonly chainId: number;
  /** The chain's final total difficulty (QUANTITY), for blocks whose node leaves it out. */
  readonly totalDifficulty?: string | undefined;
  readonly limits: {
    readonly logs: { readonly blocks: number; readonly results: number };
    /** Of one vmTrace the steps and the bytes of text; of one trace_filter the blocks. */
    readonly traces: { readonly steps: number; readonly bytes: number; readonly blocks: number };
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

export type Outcome = AnswerJson | Promise<AnswerJson>;

type Shape = Readonly<Record<string, z.ZodType>>;
type Arguments<Params extends Shape> = { [Name in keyof Params]: z.output<Params[Name]> };

export type Parameter = {
  readonly name: string;
  /** Checks only; the value that goes on is the one that came (see `checkParams`). */
  readonly schema: z.ZodType;
  readonly isOptional: boolean;
};

export type Method = {
  readonly name: string;
  readonly family: Family | "any";
  readonly summary: string;
  /** In compute units. */
  readonly cost: number;
  /** Positional, optional ones last. "any": whatever comes is passed on unchecked. */
  readonly parameters: readonly Parameter[] | "any";
  readonly result: z.ZodType;
  readonly freshness: Freshness;
  /** The HTTP status of a call with bad parameters; 200 unless the specification declares another. */
  readonly badParamsStatus: number;
  /**
   * `args` holds the checked parameters by name, in their order: undefined where the caller wrote
   * null, no entry where the caller wrote nothing.
   */
  answer(args: Readonly<Record<string, unknown>>, context: CallContext): Outcome;
};

export function defineMethod<Params extends Shape>(declaration: {
  name: string;
  family?: Family | "any";
  summary: string;
  cost: number;
  /** By name, in order; optional ones last. */
  params: Params;
  result: z.ZodType;
  freshness: Freshness;
  badParamsStatus?: number;
  answer(args: Arguments<Params>, context: CallContext): Outcome;
}): Method {
  const { answer, params, ...rest } = declaration;
  return {
    family: "evm",
    badParamsStatus: 200,
    ...rest,
    parameters: Object.entries(params).map(([name, schema]) => ({
      name,
      schema,
      isOptional: schema.safeParse(undefined).success,
    })),
    // The life of a call validates the parameters against `params` before it asks for an answer.
    answer: (args, context) => answer(args as Arguments<Params>, context),
  };
}
