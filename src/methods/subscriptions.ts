// The subscription methods of both families. The followed chain, or a node, gives what the gateway pushes over a
// WebSocket.
import { z } from "zod";
import { epochLogFilter } from "../conflux/epoch-logs.ts";
import { logFilter } from "../evm/log-filter.ts";
import { quantity } from "../evm/values.ts";
import type { FilterQuestion } from "../filters/filter-record.ts";
import type { RelayedParams } from "../filters/relayed-subscriptions.ts";
import { errors, isMethodMissing } from "../jsonrpc/rpc-error.ts";
import { contractsOfLogs } from "../namespaces/read-contracts.ts";
import { type CallContext, defineMethod, type Method } from "./method.ts";

type SubscriptionFamily = {
  readonly family: Method["family"];
  readonly isSpecified: boolean;
  readonly prefix: "eth" | "cfx";
  /** By kind: makes the question of the argument behind the kind; undefined where the followed chain has no answer. */
  readonly kinds: Readonly<
    Record<string, "logs" | ((wanted: unknown) => FilterQuestion | undefined)>
  >;
  readonly criteria: z.ZodType<object>;
  /** The members of the criteria that a subscription keeps. */
  readonly members: readonly string[];
};

const NOT_COUNTED = "want the number of received notifications in `received`";

const resumption = z.strictObject({
  resume: z.string().regex(/^0x[0-9a-fA-F]{1,32}$/, { error: "want a subscription id" }),
  /** How many notifications of the subscription the caller has received, over all its sockets. */
  received: z.int({ error: NOT_COUNTED }).min(0, { error: NOT_COUNTED }).optional(),
});

/** The parameters behind the kind: its criteria or epochs, then the subscription to resume. */
const more = z.unknown().optional();

function subscriptionMethodsOf(family: SubscriptionFamily): readonly Method[] {
  const { prefix, family: name, isSpecified } = family;
  const common = {
    ...{ family: name, isSpecified },
    workKind: "other",
    isStateful: true,
    freshness: "unknown",
  } as const;
  return [
    defineMethod({
      name: `${prefix}_subscribe`,
      ...common,
      summary: `Subscribes over a WebSocket to one of ${Object.keys(family.kinds).join(", ")}, and returns the subscription's id.`,
      cost: 2,
      params: {
        kind: z
          .string({ error: "want a subscription kind" })
          .describe("The kind of the subscription."),
        criteria: more.describe(
          "The criteria of the kind, such as addresses and topics for logs. The object of `resume` may stand here instead.",
        ),
        resume: more.describe(
          "`{resume: id, received: n}` continues the subscription with this id after its nth notification.",
        ),
      },
      result: quantity,
      contractsOf: ([kind, criteria]) => {
        if (LOG_KINDS.has(String(kind))) return contractsOfLogs([criteria]);
        return Object.hasOwn(family.kinds, String(kind)) ? [] : undefined;
      },
      answer: (args, context) => subscribe(Object.values(args), family, context),
    }),
    defineMethod({
      name: `${prefix}_unsubscribe`,
      ...common,
      summary: "Ends a subscription of this WebSocket; false when there is none.",
      cost: 2,
      params: { subscription: z.string({ error: "want a subscription id" }) },
      result: z.boolean(),
      answer: async ({ subscription }, context) => {
        const id = subscription.toLowerCase();
        const channel = channelOf(`${prefix}_unsubscribe`, context);
        const isRelayed = context.relayed.end(id, channel);
        return String(isRelayed || (await context.subscriptions?.end(id, channel)) === true);
      },
    }),
  ];
}

async function subscribe(
  [name, ...rest]: readonly unknown[],
  family: SubscriptionFamily,
  context: CallContext,
): Promise<string> {
  const channel = channelOf(`${family.prefix}_subscribe`, context);
  const { asked, params, resume } = questionOf(String(name), rest, family);
  const { subscriptions, relayed } = context;
  // A subscription that a node makes ends with its socket, so no caller can resume it.
  if (!subscriptions || !asked) {
    if (resume !== undefined) throw errors.subscriptionNotFound();
    const isOwn = Object.hasOwn(family.kinds, params[0]);
    const begun = isOwn
      ? relayed.begin(params, context, channel)
      : beginForeign(params, family.prefix, context);
    return `"${await begun}"`;
  }
  const id =
    resume === undefined
      ? await subscriptions.begin(asked, context, channel)
      : await subscriptions.resume({ ...resume, asked }, context, channel);
  return `"${id}"`;
}

/** Begins a subscription of a kind that only nodes know. @throws RpcError -32602 when no node has the kind. */
async function beginForeign(
  params: RelayedParams,
  prefix: SubscriptionFamily["prefix"],
  context: CallContext,
): Promise<string> {
  const method = `${prefix}_subscribe`;
  if (!KIND.test(params[0])) throw errors.noSuchSubscription();
  await context.payFor(method); // callers may invent kinds, and each is a question to nodes
  try {
    return await context.relayed.begin(params, context, channelOf(method, context));
  } catch (thrown) {
    throw isMethodMissing(thrown) ? errors.noSuchSubscription() : thrown;
  }
}

/** The names of kinds that nodes have, such as newFlashblocks. */
const KIND = /^[a-z]\w{0,63}$/i;
/** The kinds whose argument is a filter of logs. */
const LOG_KINDS: ReadonlySet<string> = new Set(["logs", "pendingLogs"]);

/** @throws RpcError when the call came over HTTP. */
function channelOf(method: string, { channel }: CallContext): NonNullable<CallContext["channel"]> {
  if (!channel) throw errors.needsPush(method);
  return channel;
}

type Resume = { readonly id: string; readonly received?: number | undefined };

/** The subscription to resume, if the last argument names one. @throws RpcError -32602 */
function resumeOf(values: readonly unknown[]): Resume | undefined {
  const last = values.at(-1);
  if (typeof last !== "object" || last === null || !("resume" in last)) return undefined;
  const checked = resumption.safeParse(last);
  if (!checked.success)
    throw errors.invalidArgument(values.length, checked.error.issues[0]?.message ?? "not valid");
  return { id: checked.data.resume.toLowerCase(), received: checked.data.received };
}

type Question = {
  /** undefined where the followed chain has no answer, so that a node makes the subscription. */
  readonly asked: FilterQuestion | undefined;
  /** The parameters in the form that nodes accept. */
  readonly params: RelayedParams;
  readonly resume: Resume | undefined;
};

/** @throws RpcError -32602 */
function questionOf(name: string, given: readonly unknown[], family: SubscriptionFamily): Question {
  const { kinds, criteria, members } = family;
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  const values = given.filter((value) => value !== undefined && value !== null);
  const resume = resumeOf(values);
  if (kind === undefined && !LOG_KINDS.has(name))
    return { asked: undefined, params: [name, ...values], resume };
  const [wanted, ...surplus] = resume ? values.slice(0, -1) : values;
  if (surplus.length > 0) throw errors.tooManyArguments(resume ? 3 : 2);
  if (kind !== undefined && kind !== "logs")
    return { asked: kind(wanted), params: wanted === undefined ? [name] : [name, wanted], resume };
  const checked = criteria.safeParse(wanted ?? {});
  if (!checked.success)
    throw errors.invalidArgument(1, checked.error.issues[0]?.message ?? "not valid");
  const kept = members.flatMap((member) => {
    const value = (wanted as Record<string, unknown> | undefined)?.[member];
    return value === undefined || value === null ? [] : [[member, value] as const];
  });
  const asked = { kind: "logs", criteria: Object.fromEntries(kept) } as const;
  return { asked: kind && asked, params: [name, asked.criteria], resume };
}

/** The question of a kind that takes no argument, except the empty object that some clients send. */
const withoutMore = (asked: FilterQuestion | undefined) => (wanted: unknown) => {
  if (wanted !== undefined && Object.keys(Object(wanted) as object).length > 0)
    throw errors.invalidArgument(1, "want no argument after this kind");
  return asked;
};

const wantsWhole = z.union([
  z.boolean(),
  z.strictObject({ includeTransactions: z.boolean().optional() }),
]);

function pendingOf(wanted: unknown): FilterQuestion {
  const checked = wantsWhole.safeParse(wanted ?? false);
  if (!checked.success)
    throw errors.invalidArgument(1, "want true or false: whether whole transactions are pushed");
  const isWhole =
    typeof checked.data === "object" ? checked.data.includeTransactions : checked.data;
  return isWhole ? { kind: "pending", isWhole } : { kind: "pending" };
}

/** The gateway follows executed epochs only; of mined ones (`latest_mined`) nodes make the subscription. */
function epochsOf(wanted: unknown): FilterQuestion | undefined {
  if (wanted === "latest_state") return { kind: "heads" };
  if (wanted === undefined || wanted === "latest_mined") return undefined;
  throw errors.invalidArgument(1, "want latest_mined or latest_state");
}

export const subscriptionMethods = subscriptionMethodsOf({
  ...{ family: "evm", isSpecified: true, prefix: "eth" },
  kinds: {
    newHeads: withoutMore({ kind: "heads" }),
    logs: "logs",
    newPendingTransactions: pendingOf,
    syncing: withoutMore(undefined),
  },
  criteria: logFilter,
  members: ["address", "topics"],
});

export const epochSubscriptionMethods = subscriptionMethodsOf({
  ...{ family: "conflux", isSpecified: false, prefix: "cfx" },
  kinds: {
    newHeads: withoutMore({ kind: "blocks", isWhole: true }),
    epochs: epochsOf,
    logs: "logs",
  },
  criteria: epochLogFilter,
  members: ["address", "topics"],
});
