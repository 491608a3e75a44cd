// The declaration of a method, which checks, prices, documentation and tests read; the context that a method's answer
// may use; and the check of parameters against the declaration.

import { z } from "zod";
import type { Meter } from "../access/limits/meter.ts";
import type { GuardedMethod } from "../access/scope/scope.ts";
import type { KeyUsage } from "../access/usage/key-usage.ts";
import type { ChainView } from "../chain/chain-view.ts";
import type { Position, ProofLevel, StoredBlock } from "../chain/stored-block.ts";
import type { NetworkSettings } from "../config/schema.ts";
import { wrongAddressIn } from "../conflux/address.ts";
import type { FilterBook } from "../filters/filter-book.ts";
import type { Delivery } from "../filters/open-filter.ts";
import type { RelayedSubscriptions } from "../filters/relayed-subscriptions.ts";
import type { PushChannel } from "../filters/subscription.ts";
import type { Subscriptions } from "../filters/subscriptions.ts";
import type { AnswerJson, BorrowedJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Signal } from "../lib/cancellation.ts";
import {
  type DeclaredTraits,
  type Family,
  type MethodKind,
  type MethodTraits,
  traitsFor,
} from "../namespaces/known-method.ts";
import type { ContractsOf } from "../namespaces/read-contracts.ts";
import type { CallOptions } from "../upstream/asking/call-options.ts";
import type { LearnedRange } from "../upstream/learned-range.ts";

/** How long a result that is not null stays true, for the worst of all parameters. */
type Freshness = "forever" | "until reorg" | "until next block" | "unknown";

export type Answer = AnswerJson | Promise<AnswerJson>;
/** Borrowed JSON lasts until the next read of the store, so the caller of `answer` copies it first. */
export type BorrowableAnswer = Answer | BorrowedJson;

export type Shape = Readonly<Record<string, z.ZodType>>;
export type Arguments<Params extends Shape> = { [Name in keyof Params]: z.output<Params[Name]> };

export type Parameter = {
  readonly name: string;
  /** The schema only checks: the method gets the caller's own value (see `checkParams`). */
  readonly schema: z.ZodType;
  /** A fast test that is true only for values that the schema accepts (see `quickTestOf`). */
  readonly passes?: ((value: unknown) => boolean) | undefined;
  readonly isOptional: boolean;
};

export type Method = MethodTraits & {
  readonly name: string;
  readonly family: Family | "any";
  readonly summary: string;
  /** In compute units. */
  readonly cost: number;
  /** In the order of their positions, optional parameters last. "any": the gateway checks none of them. */
  readonly parameters: readonly Parameter[] | "any";
  readonly result: z.ZodType;
  readonly freshness: Freshness;
  /** The HTTP status of a call with bad parameters; 200 unless the specification declares another. */
  readonly badParamsStatus: number;
  /** A read-only key may only call methods of the kind `read`. */
  readonly kind: MethodKind;
  /** The contracts that a call reads, for keys bound to contracts; left out where it reads none by its address. */
  readonly contractsOf?: ContractsOf;
  /** Every network of the method's family serves it, also where the allow list lacks it (docs/decisions/0027). */
  readonly isSpecified: boolean;
  /** No node has the method, so the gateway's answer saves no call to a node. */
  readonly isOwn: boolean;
  /** Whether the method answers an error when the code that it runs reverts. */
  readonly mayRevert: boolean;
  /**
   * @param args The checked parameters by name, in their order: undefined where the caller wrote null, no entry where
   * the caller left the parameter out.
   */
  answer(args: Readonly<Record<string, unknown>>, context: CallContext): BorrowableAnswer;
};

export type Declaration<Params extends Shape> = DeclaredTraits &
  Pick<Method, "name" | "summary" | "cost" | "result" | "freshness"> &
  Partial<Pick<Method, "family" | "kind" | "contractsOf" | "badParamsStatus">> &
  Partial<Pick<Method, "isSpecified" | "isOwn" | "mayRevert">> & {
    /** The schemas by name, in the order of the positions, optional parameters last. */
    readonly params: Params;
    answer(args: Arguments<Params>, context: CallContext): BorrowableAnswer;
  };

/**
 * Makes a method of its declaration. Traits that the declaration leaves out follow from the kind (by default `read`)
 * and the freshness, or are false.
 */
export function defineMethod<Params extends Shape>(declaration: Declaration<Params>): Method {
  const { answer, params, kind = "read", ...rest } = declaration;
  const isMergeable = rest.freshness !== "unknown";
  return {
    ...{ family: "evm", kind, badParamsStatus: 200 },
    ...{ isSpecified: false, isOwn: false, mayRevert: false },
    ...rest,
    ...traitsFor(kind, { isMergeable, ...rest }),
    parameters: Object.entries(params).map(([name, schema]) => ({
      name,
      schema,
      passes: quickTestOf(schema),
      isOptional: schema.safeParse(undefined).success,
    })),
    // `calls/` checks the parameters against `params` before it calls `answer`.
    answer: (args, context) => answer(args as Arguments<Params>, context),
  };
}

export type CallContext = {
  readonly network: NetworkFacts;
  /** The head as this call sees it. Where no chain is followed, its methods ask nodes. */
  headView(): HeadView;
  /** The followed chain; undefined where no chain is followed, and while it catches up. */
  readonly chain: ChainView | undefined;
  /** Begins to wait for the followed chain to change. @param ms The longest time; the call's deadline may come earlier. */
  waitForChain(ms: number): ChainWait;
  /** The filters over the followed chain; undefined where no chain is followed. */
  readonly filters: Pick<FilterBook, "begin" | "changes" | "criteria" | "remove"> | undefined;
  /** The subscriptions to the followed chain; undefined where no chain is followed. */
  readonly subscriptions: Pick<Subscriptions, "begin" | "resume" | "end"> | undefined;
  /** The subscriptions that nodes make. */
  readonly relayed: Pick<RelayedSubscriptions, "begin" | "end">;
  /** The caller's WebSocket; undefined over HTTP. */
  readonly channel: PushChannel | undefined;
  /** The name of the calling key. */
  readonly holder: string;
  /**
   * Checks that the key may also make this other call, on which the answer depends.
   * @throws RpcError -32002, -32004, or -32601 when the network does not serve it.
   */
  authorize(method: GuardedMethod, params: readonly unknown[]): void;
  /** The limits and the usage of the calling key. */
  readonly account: {
    readonly meter: Pick<Meter, "snapshot">;
    readonly usage: Pick<KeyUsage, "range" | "rows">;
  };
  /** Reports whether the answer was handed to the network. */
  readonly delivery: Delivery;
  /** Counts bytes that stay in memory until the call is answered. @param bytes A negative number subtracts bytes. */
  hold(bytes: number): void;
  /** Aborts at the deadline, and when the caller goes away. */
  readonly signal: Signal;
  /** The parameters as the caller wrote them, for methods that pass them on unchanged. */
  readonly paramsJson: string;
  /**
   * Asks the network's upstreams within this call's deadline.
   * @param paramsJson A JSON array.
   * @returns The bytes of `result` as the node sent them.
   * @throws RpcError -32601 when no upstream has the method; a node's own refusal; HTTP 502 to 504 when upstreams fail;
   * -32005 when the call has made all calls to nodes that it may, or its key has used up a limit (HTTP 429).
   */
  ask(method: string, paramsJson: string, options?: CallOptions): Promise<Buffer>;
  /**
   * Charges this call for a call to nodes that the followed chain makes on its behalf, as `ask` does.
   * @throws RpcError -32005, as `ask`.
   */
  payFor(method: string): Promise<void>;
  /**
   * Charges this call for work of the gateway itself beyond what the method's price covers.
   * @param units In compute units.
   * @throws RpcError -32005 (HTTP 429) when the key has used up a limit.
   */
  payForWork(units: number): Promise<void>;
  /** Whether all upstreams in use are known to lack the method. */
  isMissing(method: string): boolean;
  /** How many more calls to nodes this call may make; when none is left, `ask` throws `tooMuchWork`. */
  readonly upstreamCallsLeft: number;
  /** Whether a quorum answers the method: the gateway asks several vendors, which must give the same answer. */
  isAgreedUpon(method: string): boolean;
  /** Sets the answer's provenance for the response's headers. A later call replaces it. */
  setProvenance(provenance: Provenance): void;
  readonly provenance: Provenance | undefined;
  /** The widest range, in blocks or epochs, that the network's nodes accept in one log query. */
  readonly ranges: Pick<LearnedRange, "width" | "limitedTo" | "fitted" | "ofQuery">;
  /** The OpenRPC document of the network for this caller's key, as JSON. */
  describe(): string;
};

/** A call's wait for the followed chain to change. */
export type ChainWait = {
  /** The time of the whole wait, in milliseconds. */
  readonly ms: number;
  /**
   * The followed chain now, which may be newer than the call's own view; undefined where no chain is followed, and while
   * the nodes may be ahead of it.
   */
  view(): ChainView | undefined;
  /**
   * Waits for a change of the chain, for `mostMs` at most; where no chain is followed, for `mostMs`.
   * @returns false when the whole time is over, or when nobody waits for the answer any more.
   */
  next(mostMs: number): Promise<boolean>;
};

/** The provenance of an answer that a node gave and nothing proves. */
export const FROM_NODES: Provenance = { source: "upstream", proof: "none" };

/** The source of an answer, its block, and its proof. */
export type Provenance = {
  readonly source: "store" | "upstream" | "local";
  /** The block on which the answer stands. */
  readonly block?: Position | undefined;
  readonly proof?: ProofLevel;
  /** The answer leaves out logs beyond the network's limit of results. */
  readonly isCut?: boolean;
  /** For how long the network's head has been stale, in milliseconds. */
  readonly staleMs?: number | undefined;
};

/** Sets the provenance of an answer about this stored block, without its receipts and logs. @returns `json`. */
export function fromStore<Json extends AnswerJson | BorrowedJson>(
  json: Json,
  block: StoredBlock,
  context: Pick<CallContext, "setProvenance">,
): Json {
  context.setProvenance({ source: "store", block, proof: block.blockProof });
  return json;
}

/** As `fromStore`, for an answer with receipts or logs of the block. */
export function receiptsFromStore<Json extends AnswerJson | BorrowedJson>(
  json: Json,
  block: StoredBlock,
  context: Pick<CallContext, "setProvenance">,
): Json {
  context.setProvenance({ source: "store", block, proof: block.proof });
  return json;
}

/** A mined transaction or its receipt, from the stored blocks of the chain; undefined where none of them has it. */
export function storedPart(
  part: "transaction" | "receipt",
  transactionHash: string,
  context: CallContext,
  chain = context.chain,
): BorrowedJson | undefined {
  const stored = chain?.transaction(transactionHash);
  const json = stored?.block[part](stored.index);
  if (!json || !stored) return undefined;
  const asToldOf = part === "receipt" ? receiptsFromStore : fromStore;
  return asToldOf(json, stored.block, context);
}

/** The settings of a network that methods read. */
export type NetworkFacts = Pick<NetworkSettings, "family" | "chainId"> &
  Partial<Pick<NetworkSettings, "proof" | "totalDifficulty" | "pending">> & {
    readonly name: string;
    readonly limits: Pick<NetworkSettings["limits"], "upstreamCalls" | "traces" | "receipts"> & {
      /** `rule` says that `blocks` is the key's own limit. */
      readonly logs: NetworkSettings["limits"]["logs"] & { readonly rule?: "logs" };
    };
  };

/** The head that all members of one batch see. */
export type HeadView = {
  /** The number of the block that `latest` stands for; on Conflux, of the epoch. */
  latest(): number | Promise<number>;
  /**
   * A head number that is at least `number` if any upstream's head is. Asks upstreams only when the last known head is
   * lower.
   */
  atLeast(number: number): Promise<number>;
  /**
   * Replaces `latest` by a fixed QUANTITY on a followed chain and inside a batch. Any other reference stays unchanged,
   * and so does `latest` of a single call on a chain that is not followed.
   */
  pin<Reference>(reference: Reference): Promise<Reference | string> | Reference | string;
};

type QuickTest = (value: unknown) => boolean;

/**
 * Makes a test that takes a tenth of the schema's own time, for strings with patterns, for booleans, and for lists and
 * objects of these.
 * @returns A test that is true only for values that the schema accepts; undefined where none can be made.
 */
export function quickTestOf(schema: z.ZodType): QuickTest | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    const passes = quickTestOf(schema.unwrap() as z.ZodType);
    const none = schema instanceof z.ZodOptional ? undefined : null;
    return passes && ((value) => value === none || passes(value));
  }
  if (schema instanceof z.ZodUnion) {
    const tests = schema.options.map((option) => quickTestOf(option as z.ZodType));
    return (value) => {
      for (const passes of tests) if (passes?.(value)) return true;
      return false;
    };
  }
  if (schema instanceof z.ZodObject) return testOfObject(schema);
  if (schema instanceof z.ZodArray) return testOfList(schema);
  if (schema instanceof z.ZodBoolean) return (value) => typeof value === "boolean";
  return schema instanceof z.ZodString ? testOfText(schema) : undefined;
}

function testOfText({ def }: z.ZodString): QuickTest | undefined {
  const patterns: RegExp[] = [];
  const rules: QuickTest[] = [];
  for (const { _zod } of def.checks ?? []) {
    const { check, pattern, fn } = _zod.def as {
      readonly check: string;
      readonly pattern?: RegExp;
      readonly fn?: QuickTest;
    };
    if (check === "string_format" && pattern && !pattern.global) {
      const isHex = hexTestOf(pattern);
      if (isHex) rules.push(isHex);
      else patterns.push(pattern);
    } else if (check === "custom" && fn) rules.push(fn);
    else return undefined;
  }
  // Loops, since a new function for each tested string would take most of the test's time.
  return (value) => {
    if (typeof value !== "string") return false;
    for (const pattern of patterns) if (!pattern.test(value)) return false;
    for (const isKept of rules) if (isKept(value) !== true) return false;
    return true;
  };
}

/** Matches the source of a pattern for `0x` and a fixed or any number of hex digits. */
const HEX_PATTERN = /^\^0x\[0-9a-fA-F\](?:\{(\d+)\}|\*)\$$/;

/** Most strings are hashes, addresses and data: this loop takes 85 ns for a hash, the regular expression 123 ns. */
function hexTestOf({ source, flags }: RegExp): QuickTest | undefined {
  const found = flags === "" ? HEX_PATTERN.exec(source) : undefined;
  if (!found) return undefined;
  const digits = found[1] === undefined ? undefined : Number(found[1]);
  return (value) => {
    const text = value as string;
    if (digits !== undefined && text.length !== digits + 2) return false;
    if (text.charCodeAt(0) !== ZERO || text.charCodeAt(1) !== LETTER_X) return false;
    for (let at = 2; at < text.length; at += 1)
      if (HEX_DIGITS[text.charCodeAt(at)] !== 1) return false;
    return true;
  };
}

const ZERO = 0x30;
const LETTER_X = 0x78;
/** By character code: 1 for a hex digit. */
const HEX_DIGITS = new Uint8Array(0x80);
for (const digit of Buffer.from("0123456789abcdefABCDEF")) HEX_DIGITS[digit] = 1;

function testOfList({ element, def }: z.ZodArray): QuickTest | undefined {
  const passes = quickTestOf(element as z.ZodType);
  let most = Number.POSITIVE_INFINITY;
  for (const { _zod } of def.checks ?? []) {
    const { maximum } = _zod.def as { readonly maximum?: number };
    if (_zod.def.check !== "max_length" || maximum === undefined) return undefined;
    most = Math.min(most, maximum);
  }
  return passes && ((value) => Array.isArray(value) && value.length <= most && value.every(passes));
}

/** undefined for a schema that restricts further members or has checks of its own. */
function testOfObject({ shape, def }: z.ZodObject): QuickTest | undefined {
  if (def.checks?.length || !(def.catchall instanceof z.ZodUnknown)) return undefined;
  const tests: (readonly [name: string, passes: QuickTest])[] = [];
  for (const [name, member] of Object.entries(shape)) {
    const passes = quickTestOf(member as z.ZodType);
    if (!passes) return undefined;
    tests.push([name, passes]);
  }
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
    for (const [name, passes] of tests)
      if (!passes((value as Readonly<Record<string, unknown>>)[name])) return false;
    return true;
  };
}

/** The longest path in an error, in characters: no parameter needs more, and no error repeats a whole input. */
const MAX_PATH = 60;

/**
 * Checks the parameters and returns them by name, for `Method.answer`. The values are the caller's own, not copies that
 * a schema made: unknown fields stay, and a member named `__proto__` is an ordinary member.
 * @throws RpcError -32602.
 */
export function checkParams(method: Method, params: readonly unknown[]): Record<string, unknown> {
  const args: Record<string, unknown> = {};
  const { parameters, badParamsStatus: status } = method;
  if (parameters === "any") return args;
  for (let index = 0; index < params.length; index += 1) {
    const parameter = parameters[index];
    // As geth does, the loop reads arguments from left to right and reports the first mistake.
    if (!parameter) throw errors.tooManyArguments(parameters.length, status);
    args[parameter.name] = checkOne(parameter, params[index], index, status);
  }
  const missing = parameters[params.length];
  if (missing && !missing.isOptional) throw errors.missingArgument(params.length, status);
  return args;
}

/**
 * Checks addresses anywhere in the parameters of a call on an epoch network, also of methods without a declaration.
 * @throws RpcError -32602 for an address that is misspelled or belongs to another network.
 */
export function checkAddresses(params: readonly unknown[], networkId: number): void {
  for (const [index, param] of params.entries()) {
    const why = wrongAddressIn(param, networkId);
    if (why !== undefined) throw errors.invalidArgument(index, why);
  }
}

function checkOne(parameter: Parameter, value: unknown, index: number, status: number): unknown {
  if (value === null || value === undefined) {
    if (parameter.isOptional) return undefined;
    throw errors.missingArgument(index, status);
  }
  if (parameter.passes?.(value)) return value;
  const checked = parameter.schema.safeParse(value);
  if (checked.success) return value;
  throw errors.invalidArgument(index, explain(checked.error.issues), status);
}

type Issue = z.core.$ZodIssue;

function explain(issues: readonly Issue[]): string {
  const issue = deepest(issues);
  if (!issue) return "not valid";
  const path = issue.path.map(stepText).join("").replace(/^\./, "").slice(0, MAX_PATH);
  return path ? `${path}: ${issue.message}` : issue.message;
}

/** Of a union, the first alternative whose mistake lies inside a member: the caller seems to have meant that one. */
function deepest([issue]: readonly Issue[]): Issue | undefined {
  if (issue?.code !== "invalid_union") return issue;
  for (const alternative of issue.errors) {
    const inner = deepest(alternative);
    if (inner && inner.path.length > 0) return { ...inner, path: [...issue.path, ...inner.path] };
  }
  return issue;
}

const stepText = (step: PropertyKey): string =>
  typeof step === "number" ? `[${step}]` : `.${String(step)}`;
