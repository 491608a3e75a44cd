// A method is declared once: checks, prices, documentation and tests all read the declaration.
import type { z } from "zod";
import type { AnswerJson } from "../jsonrpc/envelope.ts";
import type { MethodKind } from "../namespaces/known-method.ts";
import type { CallContext, Family } from "./call-context.ts";
import type { ContractsOf } from "./read-contracts.ts";

export type {
  CallContext,
  Family,
  HeadView,
  NetworkFacts,
  Note,
} from "./call-context.ts";

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
  /** Keys that only read may make calls of `read` alone. */
  readonly kind: MethodKind;
  /** For keys that are bound to contracts; left out where none is read by its address. */
  readonly contractsOf?: ContractsOf;
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
  /** Left out: read. */
  kind?: MethodKind;
  contractsOf?: ContractsOf;
  answer(args: Arguments<Params>, context: CallContext): Outcome;
}): Method {
  const { answer, params, ...rest } = declaration;
  return {
    family: "evm",
    kind: "read",
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
