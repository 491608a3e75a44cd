// A method is declared once: checks, prices, documentation and tests read the declaration. Here are also what a
// method's answer may use, and the check of parameters against the declaration.

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

/** How long an answer that found something stays true, at worst over all parameters. */
type Freshness = "forever" | "until reorg" | "until next block" | "unknown";

export type Outcome = AnswerJson | Promise<AnswerJson>;
/** What is there at once may be borrowed: it is copied before anything else is done. */
export type Answered = Outcome | BorrowedJson;

export type Shape = Readonly<Record<string, z.ZodType>>;
export type Arguments<Params extends Shape> = { [Name in keyof Params]: z.output<Params[Name]> };

export type Parameter = {
  readonly name: string;
  /** It only checks: the method gets the value that came (see `checkParams`). */
  readonly schema: z.ZodType;
  /** What it is true of, the schema takes. */
  readonly passes?: ((value: unknown) => boolean) | undefined;
  readonly isOptional: boolean;
};

export type Method = MethodTraits & {
  readonly name: string;
  readonly family: Family | "any";
  readonly summary: string;
  /** In compute units. */
  readonly cost: number;
  /** By position, optional ones last. "any": all parameters are passed on unchecked. */
  readonly parameters: readonly Parameter[] | "any";
  readonly result: z.ZodType;
  readonly freshness: Freshness;
  /** The HTTP status of a call with bad parameters; 200 unless the specification declares another. */
  readonly badParamsStatus: number;
  /** Keys that only read may make calls of the kind `read` alone. */
  readonly kind: MethodKind;
  /** For keys that are bound to contracts; left out where the method reads no contract by its address. */
  readonly contractsOf?: ContractsOf;
  /** Served on every network of its family, without being in its allow list (docs/decisions/0027). */
  readonly isSpecified: boolean;
  /** No node has the method, so the gateway's answer saves no call to a node. */
  readonly isOwn: boolean;
  /** Whether it answers with an error when the code that it runs reverts. */
  readonly mayRevert: boolean;
  /**
   * `args` has the checked parameters by name, in their order: undefined where the caller wrote null, no entry where
   * the caller wrote nothing.
   */
  answer(args: Readonly<Record<string, unknown>>, context: CallContext): Answered;
};

export type Declaration<Params extends Shape> = DeclaredTraits &
  Pick<Method, "name" | "summary" | "cost" | "result" | "freshness"> &
  Partial<Pick<Method, "family" | "kind" | "contractsOf" | "badParamsStatus">> &
  Partial<Pick<Method, "isSpecified" | "isOwn" | "mayRevert">> & {
    /** By name, in order; optional ones last. */
    readonly params: Params;
    answer(args: Arguments<Params>, context: CallContext): Answered;
  };

/**
 * Traits that are left out follow from the kind and the freshness, or are false. The kind is `read` unless it is named.
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
    // The life of a call validates the parameters against `params` before it asks for an answer.
    answer: (args, context) => answer(args as Arguments<Params>, context),
  };
}

export type CallContext = {
  readonly network: NetworkFacts;
  /** The head, to be asked for; where no chain is followed, that asks nodes. */
  consultHead(): HeadView;
  /** The followed chain; undefined where no chain is followed, and while it catches up. */
  readonly chain: ChainView | undefined;
  /** The filters over the followed chain; undefined where no chain is followed. */
  readonly filters: Pick<FilterBook, "create" | "changes" | "criteria" | "remove"> | undefined;
  /** The subscriptions to the followed chain; undefined where no chain is followed. */
  readonly subscriptions: Pick<Subscriptions, "begin" | "resume" | "end"> | undefined;
  /** The subscriptions that nodes make. */
  readonly relayed: Pick<RelayedSubscriptions, "begin" | "end">;
  /** The caller's WebSocket; undefined over HTTP. */
  readonly channel: PushChannel | undefined;
  /** The name of the key that calls. */
  readonly holder: string;
  /**
   * Checks that the key may make this other call, too, on which the answered one depends.
   * @throws RpcError -32002, -32004, or -32601 when the network does not serve it.
   */
  authorize(method: GuardedMethod, params: readonly unknown[]): void;
  /** What the calling key may do, and what it did. */
  readonly account: {
    readonly meter: Pick<Meter, "snapshot">;
    readonly usage: Pick<KeyUsage, "range" | "read">;
  };
  /** How the answer is sent. */
  readonly delivery: Delivery;
  /** Counts bytes that wait in memory until the call is answered. @param bytes A negative number takes bytes away. */
  hold(bytes: number): void;
  /** Aborts at the deadline, and when the caller goes away. */
  readonly signal: Signal;
  /** The parameters as the caller wrote them, for methods that pass them on unchanged. */
  readonly paramsJson: string;
  /**
   * Asks the network's upstreams within this call's deadline.
   * @param paramsJson A JSON array.
   * @returns The bytes of `result` as the node sent them.
   * @throws RpcError: -32601 when no upstream has the method, the node's own refusal, or 502–504; -32005 beyond what
   * the call may ask, or what its key has left (429).
   */
  ask(method: string, paramsJson: string, options?: CallOptions): Promise<Buffer>;
  /**
   * Pays for a call to nodes that the followed chain makes for this call, as if `ask` made it.
   * @throws RpcError -32005, as `ask`.
   */
  payFor(method: string): Promise<void>;
  /** Whether none of the nodes that may be asked has the method, as far as that is known. */
  isMissing(method: string): boolean;
  /** How many more calls to nodes it may make; beyond that `ask` throws `tooMuchWork`. */
  readonly questionsLeft: number;
  /** Whether several vendors are asked for the method, and must give the same answer. */
  isAgreedUpon(method: string): boolean;
  /** Sets what the answer stands on, for the response's headers. The last one that is set counts. */
  setProvenance(provenance: Provenance): void;
  readonly provenance: Provenance | undefined;
  /** How wide a range the network's nodes take in one query. */
  readonly ranges: Pick<LearnedRange, "width" | "limitedTo" | "fitted">;
  /** The OpenRPC document of the network for this caller's key, as JSON. */
  describe(): string;
};

/** The provenance of an answer that is a node's word alone. */
export const FROM_NODES: Provenance = { source: "upstream", proof: "none" };

/** Where an answer comes from, and how far it is proven. */
export type Provenance = {
  readonly source: "store" | "upstream" | "local";
  /** The block on which the answer stands. */
  readonly block?: Position | undefined;
  readonly proof?: ProofLevel;
  /** There was more than the network's preset allows to answer. */
  readonly isCut?: boolean;
  /** For how long the network's head has been stale, in milliseconds. */
  readonly staleMs?: number | undefined;
};

/** Tells the context that the answer comes from the store. */
export function fromStore<Json extends AnswerJson | BorrowedJson>(
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
  return stored && json && fromStore(json, stored.block, context);
}

/** The settings of a network that methods look at. */
export type NetworkFacts = Pick<NetworkSettings, "family" | "chainId"> &
  Partial<Pick<NetworkSettings, "proof" | "totalDifficulty" | "pending">> & {
    readonly name: string;
    readonly limits: Pick<NetworkSettings["limits"], "upstreamCalls" | "traces"> & {
      /** `rule` says that `blocks` is the key's own limit. */
      readonly logs: NetworkSettings["limits"]["logs"] & { readonly rule?: "logs" };
    };
  };

/** The head as the members of one batch see it: the same for all of them. */
export type HeadView = {
  /** The number that `latest` stands for, in blocks (epochs on Conflux). */
  latest(): number | Promise<number>;
  /**
   * A head number that is at least `number` if any upstream's head is. It asks only when the last known one is lower.
   */
  atLeast(number: number): Promise<number>;
  /**
   * `latest` as a fixed QUANTITY on a followed chain and inside a batch. Any other reference is unchanged, and so is
   * `latest` of a single call on a chain that is not followed.
   */
  pin<Reference>(reference: Reference): Promise<Reference | string> | Reference | string;
};

type QuickTest = (value: unknown) => boolean;

/**
 * For texts that follow patterns, for booleans, and for lists and objects of such: a test at a tenth of the schema's cost.
 *
 * @returns What it is true of, the schema takes; undefined where there is no such test.
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
  // Loops: a function for each text would be the larger part of the test.
  return (value) => {
    if (typeof value !== "string") return false;
    for (const pattern of patterns) if (!pattern.test(value)) return false;
    for (const isKept of rules) if (isKept(value) !== true) return false;
    return true;
  };
}

/** `0x` and so many hex digits, or any number of them. */
const HEX_PATTERN = /^\^0x\[0-9a-fA-F\](?:\{(\d+)\}|\*)\$$/;

/** Most texts are hashes, addresses and data: looking at each digit takes 85 ns for a hash, the expression 123. */
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
/** 1 for each digit. */
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

/** Of objects that may have other members, too. */
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

/** Deeper than any parameter: a path is shown, never a whole input. */
const MAX_PATH = 60;

/**
 * The parameters by name, as `Method.answer` wants them. The values are those that came, not copies made by a schema:
 * unknown fields stay, and a member named `__proto__` is only a member.
 * @throws RpcError -32602.
 */
export function checkParams(method: Method, params: readonly unknown[]): Record<string, unknown> {
  const args: Record<string, unknown> = {};
  const { parameters, badParamsStatus: status } = method;
  if (parameters === "any") return args;
  for (let index = 0; index < params.length; index += 1) {
    const parameter = parameters[index];
    // As geth does: arguments are read from left to right, and the first mistake is reported.
    if (!parameter) throw errors.tooManyArguments(parameters.length, status);
    args[parameter.name] = checkOne(parameter, params[index], index, status);
  }
  const missing = parameters[params.length];
  if (missing && !missing.isOptional) throw errors.missingArgument(params.length, status);
  return args;
}

/**
 * Checks addresses anywhere in the parameters of an epoch network's call, declared or not.
 * @throws RpcError -32602 for an address that is misspelled, or another network's.
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

/** The alternative of a union that the caller seems to have meant: the one whose mistake lies deepest. */
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
