// The schemas of the admin API's requests and responses, for the document, the console and the tests. Requests for keys
// are only described here: the key book checks them by the rules of the configuration.
import { z } from "@hono/zod-openapi";
import { COUNTS } from "../access/usage/key-usage.ts";
import { type KeyRequest, keyRequest } from "../config/key-settings.ts";
import { ROLES } from "../config/server-settings.ts";
import { duration } from "../config/units.ts";

const count = z.int().min(0);
const day = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d$/)
  .openapi({ example: "2026-11-21" });
const time = z.iso.datetime();
/** A read-only array, so that responses can take the lists of other parts as they are. */
export const listOf = <Entry extends z.ZodType>(entry: Entry) => z.array(entry).readonly();
const texts = listOf(z.string()).optional();
const isKept = z
  .literal(false)
  .optional()
  .describe(
    "false: the state cannot be written now. The change holds in memory, and is written as soon as that is possible.",
  );

type JsonSchema = z.core.JSONSchema.JSONSchema;
type Property = z.core.JSONSchema._JSONSchema;
type Properties = Readonly<Record<string, Property>>;

const described = (schema: z.ZodType): JsonSchema => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", target: "draft-2020-12" });
  return rest;
};

const wholeKey = described(keyRequest);
const { name: _name, profile: _profile, ...settings } = wholeKey.properties ?? {};
const shownSettings: object = {
  ...{ type: "object", additionalProperties: false, properties: settings },
  description: "The settings as they would be written in the file.",
};

const keyFields = {
  name: z.string(),
  source: z
    .enum(["file", "made"])
    .describe(
      "file: the key is in the configuration file, and is changed there and by a reload; made: the key was made at runtime.",
    ),
  status: z.enum(["active", "disabled", "expired", "revoked"]),
  createdAt: time.optional(),
  rotatedAt: time.optional(),
  oldKeyWorksUntil: time
    .optional()
    .describe("The time until which the text from before the last rotation works."),
  revokedAt: time.optional(),
  isKept,
  settings: z.custom<Omit<KeyRequest, "name">>().openapi(shownSettings),
};

export const shownKey = z.strictObject(keyFields).openapi("Key");

export const madeKey = z
  .strictObject({
    ...keyFields,
    key: z.string().describe("The key itself. It is shown only this once, and is stored nowhere."),
  })
  .openapi("MadeKey");

const mistakes = listOf(z.string()).describe("The mistakes, one line each, with their paths.");

export const problem = z
  .strictObject({
    type: z.literal("about:blank"),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    mistakes: mistakes.optional(),
    requestId: z
      .string()
      .optional()
      .describe("The id of a request that failed because of the gateway; the log has it too."),
  })
  .openapi("Problem");

const counted = Object.entries(COUNTS).map(([name, what]) => [
  name,
  (/computeUnits$/i.test(name) ? z.number() : count).describe(what),
]);
const counts = {
  ...(Object.fromEntries(counted) as Record<keyof typeof COUNTS, typeof count>),
  cost: z
    .number()
    .optional()
    .describe("The cost by the configured prices; left out when there are none."),
  savedCost: z.number().optional().describe("The cost that saved calls would have had."),
};

const usageRow = z
  .strictObject({ day, key: z.string(), network: z.string(), method: z.string(), ...counts })
  .openapi("UsageRow");
const sum = z.strictObject(counts).openapi("UsageSum");
const sumsBy = (what: string) => z.record(z.string(), sum).describe(`Sums by ${what}.`);

export const usageReport = z
  .strictObject({
    from: day,
    to: day,
    currency: z.string().optional(),
    rows: listOf(usageRow).describe("The usage by day, key, network and method."),
    keys: sumsBy("the name of the key"),
    networks: sumsBy("network"),
    methods: sumsBy("method"),
    days: sumsBy("day; days without usage are left out"),
    total: sum,
  })
  .openapi("Bill");

export const usageHours = z
  .strictObject({
    hours: listOf(
      z.strictObject({ at: time.describe("The time when the hour began."), ...counts }),
    ).describe("The last 48 hours, the running hour last; without costs."),
  })
  .openapi("UsageHours");

const breaker = z.strictObject({
  group: z.string(),
  breaker: z.enum(["closed", "half-open", "open"]),
  errorRate: z.number(),
  medianMs: z.number().optional(),
  p95Ms: z.number().optional(),
});

const reach = z
  .union([z.literal("all"), z.int()])
  .optional()
  .describe("All blocks, or at least this many of the newest.");

const upstreamStatus = z
  .strictObject({
    upstream: z.string(),
    isUsable: z.boolean(),
    head: z
      .int()
      .optional()
      .describe("The newest block of the node; left out while the node has reported none."),
    lagBlocks: z.number(),
    lagSeconds: z.number(),
    isElsewhere: z.boolean().describe("Whether the node's head is not on the followed chain."),
    isDrained: z
      .boolean()
      .describe(
        "Whether an operator drained the node: then it is asked only while no other node is usable.",
      ),
    drained: z
      .strictObject({ who: z.string(), at: time })
      .optional()
      .describe("The operator who drained the node, and the time."),
    inFlight: z.int(),
    groups: listOf(breaker),
    budget: z.strictObject({
      perSecond: z.number().optional(),
      pausedForMs: z.number(),
      monthUsed: z.number().optional(),
      monthLeft: z.number().optional(),
    }),
    lackedMethods: z.int(),
    lacked: texts.describe("Some of the lacked methods: those that were found last."),
    reaches: z
      .strictObject({ state: reach, history: reach, traces: reach })
      .optional()
      .describe(
        "The blocks for which the node is known to have state, history and traces; unknown ones are left out.",
      ),
  })
  .openapi("UpstreamStatus");

const networkStatus = z.strictObject({
  network: z.string(),
  family: z.enum(["evm", "conflux"]),
  chainId: z.int(),
  isReady: z.boolean(),
  whyNotReady: z.string().optional(),
  notes: listOf(z.string())
    .optional()
    .describe(
      "In words: why calls are passed through to the nodes, a node that is far ahead of the followed chain, odd parts of blocks. Left out when there are none.",
    ),
  head: z.int().optional().describe("The newest block or epoch of the followed chain."),
  leader: z.string().optional().describe("The upstream whose chain is followed."),
  upstreams: listOf(upstreamStatus),
});

export const status = z
  .strictObject({
    version: z.string(),
    uptimeSeconds: z.number(),
    networks: listOf(networkStatus),
  })
  .openapi("Status");

const ms = z.number().describe("A time in milliseconds.");
const sinceBegin = z.number().describe("The time since the call's beginning, in milliseconds.");

const slowCall = z
  .strictObject({
    at: time.describe("The time when the call arrived."),
    network: z.string(),
    key: z.string(),
    request: z.string().describe("The request id, as in `X-Request-Id` and in the log."),
    trace: z.string().optional(),
    method: z.string().describe("A method of the catalogue, or `other`."),
    id: z.string().describe("The call's id as the caller wrote it, in JSON."),
    outcome: z.enum(["ok", "refused", "unavailable", "failed"]),
    code: z.int().optional().describe("The code of the error that was answered."),
    source: z
      .enum(["store", "upstream", "local", "merged"])
      .describe(
        "The source of the answer; `merged`: the answer to an equal call that was in flight.",
      ),
    proof: z.enum(["none", "partial", "full"]).optional(),
    block: z.strictObject({ number: z.int(), hash: z.string() }).optional(),
    staleMs: z.number().optional(),
    computeUnits: z.number().optional(),
    bytes: count,
    ms,
    steps: listOf(
      z.strictObject({ step: z.enum(["authorized", "charged", "merged"]), atMs: sinceBegin }),
    ),
    asked: listOf(
      z.strictObject({
        upstream: z.string(),
        method: z.string(),
        why: z
          .string()
          .optional()
          .describe(
            "The reason why a further upstream was asked: `failed`, `cross-check` or `slow`.",
          ),
        atMs: sinceBegin,
        ms: ms
          .optional()
          .describe(
            "The time until the reply, in milliseconds; left out if there was none when the call ended.",
          ),
        kind: z.string().optional().describe("The kind of the reply, such as `result`."),
        code: z.int().optional().describe("The code of a refusal."),
        reason: z.string().optional().describe("The reason of a failure."),
      }),
    ).describe("The attempts at upstreams, in their order."),
    leftOut: count.describe("The number of further attempts, which are not listed."),
  })
  .openapi("TailedCall");

const rate = z.number().describe("A rate per second, over the last ten seconds.");

const evidence = z
  .strictObject({
    at: time,
    upstream: z.string(),
    kind: z.enum(["false answer", "failed proof", "disagreement"]),
    about: z.string().describe("The method, or the block and its part."),
    said: z.string().optional().describe("The beginning of the node's answer."),
    found: z.string().describe("The finding that contradicts the answer."),
  })
  .openapi("Evidence");

const block = z.strictObject({ number: z.int(), hash: z.string() });
const reorganisation = z
  .strictObject({
    at: time,
    fork: block.describe("The newest block that both branches have."),
    removed: listOf(block).describe(
      "The oldest blocks of the branch that was removed, at most six.",
    ),
    added: listOf(block).describe("The oldest blocks of the branch that was added, at most six."),
    removedCount: count,
    addedCount: count,
  })
  .openapi("Reorganisation");

const liveUpstream = upstreamStatus
  .extend({
    callsPerSecond: rate.describe("The calls a second that the node was sent for callers."),
    failedPerSecond: rate.describe(
      "The part of these calls that brought neither a result nor a refusal, a second.",
    ),
    caught: z
      .strictObject({ lies: count, proofFailures: count, dissents: count })
      .describe(
        "The numbers of false answers, of blocks whose proof failed, and of answers with which other vendors did not agree.",
      ),
    troubles: listOf(
      z.strictObject({ text: z.string(), tone: z.enum(["bad", "warn", "plain"]) }),
    ).describe(
      "The problems of the upstream in words, the worst first; empty for a healthy upstream.",
    ),
  })
  .openapi("LiveUpstream");

const callRates = z
  .strictObject({
    calls: rate.describe("Calls answered with a result or an error."),
    store: rate.describe("Calls answered from the store."),
    merged: rate.describe("Calls that got the answer to an equal call."),
    here: rate.describe("Calls whose answer the gateway computed."),
    failed: rate.describe(
      "Calls that failed because no upstream could answer, or because of the gateway.",
    ),
    refused: rate.describe(
      "Calls answered with another error: a mistake of the caller, or an error of the execution.",
    ),
    medianMs: ms.optional(),
    p99Ms: ms.optional(),
  })
  .describe("Calls per second, over the last ten seconds.");

export const liveHistory = z
  .strictObject({
    past: listOf(
      z.strictObject({
        ageSeconds: z.number().describe("The age of the point when the event is sent, in seconds."),
        networks: listOf(
          networkStatus.pick({ network: true }).extend({
            perSecond: callRates,
            upstreams: listOf(upstreamStatus.pick({ upstream: true, lagBlocks: true })),
          }),
        ),
      }),
    ).describe("One point for every ten seconds of the last half an hour, oldest first."),
  })
  .openapi("LiveHistory");

export const liveStatus = z
  .strictObject({
    at: time,
    networks: listOf(
      networkStatus.extend({
        headAgeSeconds: z.number().optional(),
        isStale: z.boolean(),
        reorganisations: count.describe("The number of reorganisations since the gateway started."),
        lastReorganisations: listOf(reorganisation).describe(
          "The last reorganisations, at most five, newest first.",
        ),
        evidence: listOf(evidence).describe(
          "The evidence against nodes, such as false answers: at most five of each node, newest first.",
        ),
        perSecond: callRates,
        upstreams: listOf(liveUpstream),
      }),
    ),
    calls: listOf(slowCall).describe(
      "The slow and failed calls since the last event, newest first.",
    ),
  })
  .openapi("LiveStatus");

export const slowCalls = z.strictObject({ calls: listOf(slowCall) }).openapi("CallTail");

const changed = listOf(z.string()).describe(
  "The changed settings, one line each, without secrets; empty when nothing changed.",
);

export const checked = z
  .strictObject({ mistakes, changed })
  .describe("The effect of a text in the place of the configuration: its mistakes, or its changes.")
  .openapi("CheckedConfiguration");

export const configuration = z
  .strictObject({
    path: z.string().optional().describe("The path of the file; left out when there is none."),
    text: z
      .string()
      .optional()
      .describe(
        "The present text of the file. Comments, and values that may be secrets, are replaced by the marks `‹hidden 1›` and so on; in a text that is sent, the marks stand for the hidden values. Left out when the file cannot be shown.",
      ),
    version: z.string().optional().describe("The version of the file, for `If-Match`."),
    whyNotWritable: z
      .string()
      .optional()
      .describe("The reason why the file cannot be replaced; left out when it can."),
    pending: checked.describe(
      "The effect of a reload now; empty when the file is the running configuration.",
    ),
    reloads: listOf(
      z.strictObject({
        at: time,
        who: z.string(),
        from: z.string(),
        outcome: z.enum(["reloaded", "mistakes", "refused"]),
        lines: texts.unwrap().describe("The changes, the mistakes, or the reason of the refusal."),
      }),
    ).describe("The last reloads since the gateway started, at most 20, newest first."),
  })
  .openapi("Configuration");

export const replaced = z
  .strictObject({
    changed,
    version: z.string().describe("The version of the file after the change."),
  })
  .openapi("ReplacedConfiguration");

export const configurationText = z.strictObject({
  text: z
    .string({ error: "expected the whole file, as a text" })
    .describe("The whole file, in YAML."),
});

export const tryRequest = z.strictObject({
  network: z.string(),
  key: z.string().describe("The name of an active key, which is charged for the call."),
  method: z.string().max(128),
  params: z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())]).optional(),
  origin: z
    .string()
    .max(256)
    .optional()
    .describe("The web origin that the call is given, for keys that are bound to origins."),
  address: z
    .union([z.ipv4(), z.ipv6()], { error: "expected an IP address" })
    .optional()
    .describe("The address that the call is given, for keys that are bound to addresses."),
});

export const tried = z
  .strictObject({
    status: z.int().describe("The HTTP status that the key's holder would have got."),
    answer: z.string().describe("The JSON-RPC response, as JSON."),
    isWhole: z.boolean().describe("false: the answer is longer than 256 KiB, and cut off there."),
    bytes: count.describe("The length of the whole answer."),
    story: slowCall
      .omit({ at: true, network: true, key: true, request: true, trace: true })
      .optional()
      .describe(
        "The story of the call; left out when the request was refused before the call began.",
      ),
    cost: counts.cost,
    currency: z.string().optional(),
  })
  .openapi("TriedCall");

export const reloaded = z
  .strictObject({
    changed,
  })
  .openapi("Reloaded");

const auditEntry = z
  .strictObject({
    number: count,
    at: time,
    who: z
      .string()
      .describe("The name of a token (`admin` for admin.token), a signal, or the command line."),
    from: z
      .string()
      .describe(
        "The address of the operator; for a signal or a command, the host name of the machine.",
      ),
    what: z.string(),
    key: z.string().optional().describe("The name of the key that was changed."),
    details: texts.describe("The settings that were given, or the changes of a reload."),
  })
  .openapi("AuditEntry");

export const auditPage = z
  .strictObject({
    entries: listOf(auditEntry),
    next: count.optional().describe("The `before` of the next page; left out on the last page."),
  })
  .openapi("AuditPage");

export const session = z
  .strictObject({
    operator: z
      .strictObject({ name: z.string(), role: z.enum(ROLES) })
      .optional()
      .describe("The operator; left out when nobody is logged in and a token is needed."),
    endsAt: time.optional().describe("The time when the session that was begun will end."),
  })
  .openapi("Session");

export const drained = z
  .strictObject({ network: z.string(), upstream: z.string(), isDrained: z.boolean(), isKept })
  .openapi("Drained");

export const login = z.strictObject({ token: z.string().max(1_000) });

export type DrainedAnswer = z.output<typeof drained>;
export type AdminSession = z.output<typeof session>;
export type Status = z.output<typeof status>;
export type LiveHistory = z.output<typeof liveHistory>;
export type LiveStatus = z.output<typeof liveStatus>;
export type KeyAnswer = z.output<typeof shownKey>;
export type MadeKeyAnswer = z.output<typeof madeKey>;
export type UsageHoursAnswer = z.output<typeof usageHours>;
export type BillAnswer = z.output<typeof usageReport>;
export type CallAnswer = z.output<typeof slowCall>;
export type ConfigurationAnswer = z.output<typeof configuration>;
export type CheckedAnswer = z.output<typeof checked>;
export type ReplacedAnswer = z.output<typeof replaced>;
export type TriedAnswer = z.output<typeof tried>;

const NOTHING = z.literal(["0", "0s"], { error: "expected 0s" }).transform(() => 0);

export const rotation = z.strictObject({
  overlap: z
    .union([NOTHING, duration], { error: "expected a duration such as 24h, or 0s" })
    .optional()
    .describe(
      "The time for which the old text still works; 0s: it stops working at once. Left out: 24h.",
    ),
});

/** The schema of a merge patch for a key: all settings but the name, each optional; null removes a setting. */
const change = (properties: Properties): JsonSchema => ({
  type: "object",
  additionalProperties: false,
  properties: Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => name !== "name")
      .map(([name, schema]) => [name, orNull(withoutDefault(schema))]),
  ),
});

const orNull = (schema: Property): Property => ({
  anyOf: [schema as JsonSchema, { type: "null" }],
});

const withoutDefault = (schema: Property): Property => {
  if (typeof schema !== "object") return schema;
  const { default: _, ...rest } = schema;
  return rest;
};

/** The schemas of request bodies, by their names in the document. */
export const requestSchemas: Readonly<Record<string, object>> = {
  KeyRequest: wholeKey,
  KeyChange: change(wholeKey.properties ?? {}),
  Rotation: described(rotation),
  ConfigurationText: described(configurationText),
  TryRequest: described(tryRequest),
  Login: described(login),
};
