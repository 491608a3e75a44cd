// The filter methods of both families. Filters are cursors over the followed chain; where no chain is followed, the
// upstreams keep the filters.
import { z } from "zod";
import { type EpochLogFilter, epochLog, epochLogFilter } from "../conflux/epoch-logs.ts";
import { type LogFilter, logFilter, scopeOf } from "../evm/log-filter.ts";
import { log } from "../evm/results.ts";
import { hash, isQuantity, quantity, toNumber } from "../evm/values.ts";
import type { FilterQuestion } from "../filters/filter-record.ts";
import type { Changes } from "../filters/open-filter.ts";
import type { AnswerJson, RawJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { anyContract, contractsOfLogs } from "../namespaces/read-contracts.ts";
import { answerEpochLogs } from "./epoch-logs.ts";
import { askAsGiven } from "./forwarding.ts";
import { joinJson, joinLogs, unitsOfLogs } from "./log-lists.ts";
import { answerLogs } from "./logs.ts";
import {
  type Answer,
  type Arguments,
  type CallContext,
  type Declaration,
  defineMethod,
  type Method,
  type Shape,
} from "./method.ts";

type Filters = NonNullable<CallContext["filters"]>;

type FilterDeclaration<Params extends Shape> = Pick<
  Declaration<Params>,
  "name" | "family" | "isSpecified" | "summary" | "cost" | "params" | "result" | "contractsOf"
> & {
  /**
   * Whether the method gives the items of a filter. Where no chain is followed, only the node knows the filter's
   * criteria, so keys that are bound to contracts may not poll.
   */
  readonly isPoll?: boolean;
  /** Checks the arguments before a filter or an upstream gets them. @throws RpcError -32602. */
  check?(args: Arguments<Params>): void;
  answer(args: Arguments<Params>, filters: Filters, context: CallContext): Answer;
};

function filterMethod<Params extends Shape>(declaration: FilterDeclaration<Params>): Method {
  const { answer, check, isPoll, ...rest } = declaration;
  const ofAnyFilter = { name: rest.name, kind: "read", contractsOf: anyContract } as const;
  return defineMethod({
    ...rest,
    ...{ workKind: "other", isStateful: true },
    freshness: "unknown",
    answer: (args, context) => {
      check?.(args);
      if (context.filters) return answer(args, context.filters, context);
      if (isPoll) context.authorize(ofAnyFilter, []);
      return askAsGiven(declaration.name, args, context);
    },
  });
}

/** The differences between the filters of the two families. */
type FilterFamily<Criteria extends object> = {
  readonly declared: Pick<Declaration<Shape>, "family" | "isSpecified">;
  readonly prefix: "eth" | "cfx";
  readonly filterId: z.ZodType<string>;
  idOf(id: string): string;
  readonly filter: z.ZodType<Criteria>;
  /** The members of the criteria that a filter keeps; it drops unknown members. */
  readonly members: readonly (keyof Criteria)[];
  check?(filter: Criteria): void;
  readonly pendingParams: { readonly fullTransactions?: z.ZodType<boolean | undefined> };
  readonly log: z.ZodType;
  /** The type of the items of a log filter. */
  readonly change: z.ZodType;
  answerLogs(filter: Criteria, context: CallContext): Answer;
  readonly words: { readonly logs: string; readonly blocks: string; readonly range: string };
};

/** The methods that create filters: of logs, of blocks, of pending transactions. */
function creationsOf<Criteria extends object>(family: FilterFamily<Criteria>) {
  const { declared, prefix, members, words } = family;
  const creation = { ...declared, cost: 2, result: quantity };
  const criteriaOf = (filter: Criteria) =>
    Object.fromEntries(members.map((name) => [name, filter[name]]));
  const logs = filterMethod({
    name: `${prefix}_newFilter`,
    ...creation,
    summary: `Creates a filter that reports ${words.logs}, and returns its id.`,
    params: { filter: family.filter },
    contractsOf: contractsOfLogs,
    check: ({ filter }) => family.check?.(filter),
    answer: ({ filter }, filters, context) =>
      createFilter({ kind: "logs", criteria: criteriaOf(filter) }, filters, context),
  });
  const blocks = filterMethod({
    name: `${prefix}_newBlockFilter`,
    ...creation,
    summary: `Creates a filter that reports ${words.blocks}, and returns its id.`,
    params: {},
    answer: (_, filters, context) => createFilter({ kind: "blocks" }, filters, context),
  });
  const pending = filterMethod({
    name: `${prefix}_newPendingTransactionFilter`,
    ...creation,
    summary:
      "Creates a filter that reports the hashes of pending transactions, and returns its id.",
    params: family.pendingParams as Shape,
    answer: ({ fullTransactions }, filters, context) => {
      if (fullTransactions)
        throw errors.invalidArgument(0, "filters report the hashes of transactions only");
      return createFilter({ kind: "pending" }, filters, context);
    },
  });
  return { logs, blocks, pending };
}

type Creations = ReturnType<typeof creationsOf>;

/** The methods that give the items of a filter, or all logs that match its criteria. */
function pollsOf<Criteria extends object>(family: FilterFamily<Criteria>, creations: Creations) {
  const { declared, prefix, filterId, idOf } = family;
  const poll = { ...declared, isPoll: true, params: { filterId } };
  return [
    filterMethod({
      name: `${prefix}_getFilterChanges`,
      ...poll,
      summary:
        "The new items of a filter since the last poll: logs, block hashes or transaction hashes.",
      cost: 2,
      result: z.union([z.array(hash), z.array(family.change)]),
      answer: async ({ filterId: id }, filters, context) => {
        const check = checkAgain(creations, context);
        const changes = await filters.changes(idOf(id), context, check);
        await payForChanges(changes, context);
        return changesJson(changes, context);
      },
    }),
    filterMethod({
      name: `${prefix}_getFilterLogs`,
      ...poll,
      summary: `All logs that match a log filter, in the ${family.words.range} with which it was created.`,
      cost: 5,
      result: z.array(family.log),
      answer: async ({ filterId: id }, filters, context) => {
        const check = checkAgain(creations, context);
        const criteria = (await filters.criteria(idOf(id), context, check)) as Criteria;
        return family.answerLogs(criteria, context);
      },
    }),
  ];
}

function filterMethodsOf<Criteria extends object>(family: FilterFamily<Criteria>) {
  const { declared, prefix, filterId, idOf } = family;
  const creations = creationsOf(family);
  return [
    ...Object.values(creations),
    ...pollsOf(family, creations),
    filterMethod({
      name: `${prefix}_uninstallFilter`,
      ...declared,
      summary: "Ends a filter; false when there is none.",
      cost: 2,
      params: { filterId },
      result: z.boolean(),
      answer: async ({ filterId: id }, filters, context) =>
        String(await filters.remove(idOf(id), context)),
    }),
  ];
}

/**
 * Checks at each poll whether the key may still create this filter, since its permissions may have changed.
 * @param creations The methods that create filters of each kind.
 */
const checkAgain =
  (creations: Creations, context: CallContext) =>
  (asked: FilterQuestion): void => {
    if (asked.kind === "heads") throw errors.filterNotFound(); // only subscriptions report new heads
    context.authorize(creations[asked.kind], asked.kind === "logs" ? [asked.criteria] : []);
  };

/** Creates a filter. @returns Its id as JSON. */
const createFilter = async (
  asked: FilterQuestion,
  filters: Filters,
  context: CallContext,
): Promise<RawJson> => `"${(await filters.begin(asked, context)).id}"`;

/** Charges for many logs. A key without the units gets them nevertheless: the cursor of its filter has moved on. */
async function payForChanges({ more }: Changes, context: CallContext): Promise<void> {
  const units = more ? unitsOfLogs(more) : 0;
  if (units > 0) await context.payForWork(units).catch(() => undefined);
}

/** The items of a poll as a JSON array. Sets the answer's provenance. */
export function changesJson(changes: Changes, context: CallContext): AnswerJson {
  const { items, more, at, isOfNodes } = changes;
  if ("sequence" in at || isOfNodes) context.setProvenance({ source: "upstream", proof: "none" });
  else {
    const proof = context.chain?.blockOf(at.hash)?.proof ?? "none";
    context.setProvenance({ source: "store", block: at, proof });
  }
  if (!more) return joinJson(items);
  return joinLogs(more, items.length > 0 ? Buffer.from(joinJson(items)) : undefined);
}

const ID = "The id that the creation of the filter returned.";

export const filterMethods = filterMethodsOf<LogFilter>({
  declared: { family: "evm", isSpecified: true },
  prefix: "eth",
  filterId: quantity.describe(ID),
  idOf: (id) => id,
  filter: logFilter,
  members: ["fromBlock", "toBlock", "address", "topics", "blockHash"],
  check: (filter) => {
    const scope = scopeOf(filter);
    if (scope.kind === "range" && isReversed(scope)) throw errors.invalidBlockRange();
  },
  pendingParams: { fullTransactions: z.boolean({ error: "want true or false" }).optional() },
  log,
  change: log,
  answerLogs,
  words: { logs: "logs from now on", blocks: "new blocks", range: "range" },
});

/** Whether both ends are numbers in the wrong order. Tags get their numbers only when the logs are searched. */
const isReversed = ({ from, to }: { from: string; to: string }): boolean =>
  isQuantity(from) && isQuantity(to) && toNumber(from) > toNumber(to);

const epochFilterId = z
  .string({ error: "want a filter id" })
  .regex(/^0x[0-9a-fA-F]{1,64}$/, { error: "want a filter id" })
  .describe(ID);

const revert = z
  .looseObject({ revertTo: quantity })
  .describe(
    "The pivot chain changed from this epoch on: discard the logs of this epoch and of later ones.",
  );

export const epochFilterMethods = filterMethodsOf<EpochLogFilter>({
  declared: { family: "conflux" },
  prefix: "cfx",
  filterId: epochFilterId,
  // js-conflux-sdk puts a zero before an odd number of digits.
  idOf: (id) => id.replace(/^0x0+(?=.)/, "0x"),
  filter: epochLogFilter,
  members: ["fromEpoch", "toEpoch", "blockHashes", "address", "topics", "limit", "offset"],
  pendingParams: {},
  log: epochLog,
  change: z.union([epochLog, revert]),
  answerLogs: answerEpochLogs,
  words: { logs: "logs of new epochs", blocks: "the blocks of new epochs", range: "epochs" },
});
