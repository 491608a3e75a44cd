// A method is declared once: checks, prices, documentation and tests all read the declaration.
import type { z } from "zod";
import type { AnswerJson } from "../jsonrpc/raw-json.ts";
import {
  type DeclaredTraits,
  type Family,
  type MethodKind,
  type MethodTraits,
  traitsFor,
} from "../namespaces/known-method.ts";
import type { ContractsOf } from "../namespaces/read-contracts.ts";
import type { CallContext } from "./call-context.ts";

export type {
  CallContext,
  HeadView,
  NetworkFacts,
  Provenance,
} from "./call-context.ts";
export type { Family };

/** How long an answer that found something stays true, at worst over all parameters. */
export type Freshness = "forever" | "until reorg" | "until next block" | "unknown";

export type Outcome = AnswerJson | Promise<AnswerJson>;

type Shape = Readonly<Record<string, z.ZodType>>;
type Arguments<Params extends Shape> = { [Name in keyof Params]: z.output<Params[Name]> };

export type Parameter = {
  readonly name: string;
  /** Checks only; the value that goes on is the one that came (see `checkParams`). */
  readonly schema: z.ZodType;
  readonly isOptional: boolean;
};

export type Method = MethodTraits & {
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
  /** Keys that only read may make calls of `read` alone. */
  readonly kind: MethodKind;
  /** For keys that are bound to contracts; left out where none is read by its address. */
  readonly contractsOf?: ContractsOf;
  /** Served on every network of its family, without a word in its allow list (docs/decisions/0027). */
  readonly isSpecified: boolean;
  /** No node has it: it saves no question that the gateway answers it. */
  readonly isOwn: boolean;
  /** It answers with an error when what it runs reverts. */
  readonly mayRevert: boolean;
  /**
   * `args` holds the checked parameters by name, in their order: undefined where the caller wrote
   * null, no entry where the caller wrote nothing.
   */
  answer(args: Readonly<Record<string, unknown>>, context: CallContext): Outcome;
};

type Declaration = DeclaredTraits & Partial<Pick<Method, "isSpecified" | "isOwn" | "mayRevert">>;

/** What is left out follows from the kind and the freshness, or is false. */
export function defineMethod<Params extends Shape>(
  declaration: Declaration & {
    name: string;
    family?: Family | "any";
    summary: string;
    cost: number;
    /** By name, in order; optional ones last. */
    params: Params;
    result: z.ZodType;
    freshness: Freshness;
    badParamsStatus?: number;
    /** Left out: read. */
    kind?: MethodKind;
    contractsOf?: ContractsOf;
    answer(args: Arguments<Params>, context: CallContext): Outcome;
  },
): Method {
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
      isOptional: schema.safeParse(undefined).success,
    })),
    // The life of a call validates the parameters against `params` before it asks for an answer.
    answer: (args, context) => answer(args as Arguments<Params>, context),
  };
}
