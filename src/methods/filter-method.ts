// What the filter methods of both families share: cursors over the followed chain, or, where nothing is
// followed, what the upstreams keep.
import type { z } from "zod";
import type { FilterQuestion } from "../filters/filter-record.ts";
import type { Changes } from "../filters/open-filter.ts";
import type { AnswerJson, RawJson } from "../jsonrpc/raw-json.ts";
import type { Family } from "../namespaces/known-method.ts";
import { anyContract, type ContractsOf } from "../namespaces/read-contracts.ts";
import { joinJson, joinLogs } from "./log-lists.ts";
import { type CallContext, defineMethod, type Method, type Outcome } from "./method.ts";
import { askAsGiven } from "./passing-on.ts";

type Filters = NonNullable<CallContext["filters"]>;
type Shape = Readonly<Record<string, z.ZodType>>;
type Arguments<Params extends Shape> = { [Name in keyof Params]: z.output<Params[Name]> };

export function filterMethod<Params extends Shape>(declaration: {
  name: string;
  family: Family;
  summary: string;
  cost: number;
  isSpecified?: boolean;
  params: Params;
  result: z.ZodType;
  /** Of its creation. */
  contractsOf?: ContractsOf;
  /** It tells what a filter found. Which filter that is, nobody knows but the node where nothing is followed. */
  isPoll?: boolean;
  /** Refuses by throwing what no upstream is to be asked for either. */
  check?(args: Arguments<Params>): void;
  answer(args: Arguments<Params>, filters: Filters, context: CallContext): Outcome;
}): Method {
  const { answer, check, isPoll, ...rest } = declaration;
  const ofAnyFilter = { name: rest.name, kind: "read", contractsOf: anyContract } as const;
  return defineMethod({
    ...rest,
    ...{ group: "other", isStateful: true },
    freshness: "unknown",
    answer: (args, context) => {
      check?.(args);
      if (context.filters) return answer(args, context.filters, context);
      if (isPoll) context.authorize(ofAnyFilter, []);
      return askAsGiven(declaration.name, args, context);
    },
  });
}

/**
 * What a key may be told is asked at each poll: it may have been bound to less since it made the filter.
 *
 * @param creations Which methods make filters of each kind.
 */
export const checkAgain =
  (creations: Readonly<Record<FilterQuestion["kind"], Method>>, context: CallContext) =>
  (asked: FilterQuestion): void =>
    context.authorize(creations[asked.kind], asked.kind === "logs" ? [asked.criteria] : []);

/** Answers the id. */
export const createFilter = async (
  asked: FilterQuestion,
  filters: Filters,
  context: CallContext,
): Promise<RawJson> => `"${await filters.create(asked, context)}"`;

export function toldChanges({ items, more, at }: Changes, context: CallContext): AnswerJson {
  if ("sequence" in at) context.setProvenance({ source: "upstream", proof: "none" });
  else {
    const proof = context.chain?.blockOf(at.hash)?.proof ?? "none";
    context.setProvenance({ source: "store", block: at, proof });
  }
  if (!more) return joinJson(items);
  return joinLogs(more, items.length > 0 ? Buffer.from(joinJson(items)) : undefined);
}
