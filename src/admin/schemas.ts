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
    "false: the state cannot be written now. It holds in memory, and is kept as soon as that is possible.",
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
  description: "As they would be written in the file.",
};

const keyFields = {
  name: z.string(),
  source: z
    .enum(["file", "made"])
    .describe("Keys of the configuration file are changed there, and by a reload."),
  status: z.enum(["active", "disabled", "expired", "revoked"]),
  createdAt: time.optional(),
  rotatedAt: time.optional(),
  oldKeyWorksUntil: time.optional().describe("The text from before the last rotation."),
  revokedAt: time.optional(),
  isKept,
  settings: z.custom<Omit<KeyRequest, "name">>().openapi(shownSettings),
};

export const shownKey = z.strictObject(keyFields).openapi("Key");

export const madeKey = z
  .strictObject({
    ...keyFields,
    key: z.string().describe("The key itself. It is told this once, and is kept nowhere."),
  })
  .openapi("MadeKey");

export const problem = z
  .strictObject({
    type: z.literal("about:blank"),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    mistakes: listOf(z.string()).optional().describe("One line each, with its path."),
    requestId: z.string().optional().describe("Of our own faults: the log has it too."),
  })
  .openapi("Problem");

const counted = Object.entries(COUNTS).map(([name, what]) => [
  name,
  (/computeUnits$/i.test(name) ? z.number() : count).describe(what),
]);
const counts = {
  ...(Object.fromEntries(counted) as Record<keyof typeof COUNTS, typeof count>),
  cost: z.number().optional().describe("By the configured prices; left out without any."),
  savedCost: z.number().optional(),
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
    rows: listOf(usageRow).describe("By day, key, network and method."),
    keys: sumsBy("the name of the key"),
    networks: sumsBy("network"),
    methods: sumsBy("method"),
    days: sumsBy("day, of those on which anything was done"),
    total: sum,
  })
  .openapi("Bill");

export const usageHours = z
  .strictObject({
    hours: listOf(z.strictObject({ at: time.describe("When it began."), ...counts })).describe(
      "Each of the last 48, the running one last; without costs.",
    ),
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
  .describe("All blocks, or at least so many of the newest.");

const upstreamStatus = z
  .strictObject({
    upstream: z.string(),
    isUsable: z.boolean(),
    head: z.int().optional().describe("Left out while the node has not told it."),
    lagBlocks: z.number(),
    lagSeconds: z.number(),
    isElsewhere: z.boolean().describe("Its head is not on the chain that is followed."),
    isDrained: z
      .boolean()
      .describe("An operator spares it: it is asked only while no other is usable."),
    drained: z
      .strictObject({ who: z.string(), at: time })
      .optional()
      .describe("Who did, and when."),
    inFlight: z.int(),
    groups: listOf(breaker),
    budget: z.strictObject({
      perSecond: z.number().optional(),
      pausedForMs: z.number(),
      monthUsed: z.number().optional(),
      monthLeft: z.number().optional(),
    }),
    lackedMethods: z.int(),
    lacked: texts.describe("Some of these, the ones that were found last."),
    reaches: z
      .strictObject({ state: reach, history: reach, traces: reach })
      .optional()
      .describe("How far back it is known to reach; what is not known is left out."),
  })
  .openapi("UpstreamStatus");

const networkStatus = z.strictObject({
  network: z.string(),
  family: z.enum(["evm", "conflux"]),
  chainId: z.int(),
  isReady: z.boolean(),
  whyNotReady: z.string().optional(),
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

const ms = z.number().describe("In milliseconds.");
const sinceBegin = z.number().describe("From the call's beginning, in milliseconds.");

const tailedCall = z
  .strictObject({
    at: time.describe("When it came."),
    network: z.string(),
    key: z.string(),
    request: z.string().describe("As `X-Request-Id` said, and the log."),
    trace: z.string().optional(),
    method: z.string().describe("Of the catalogue, or `other`."),
    id: z.string().describe("As the caller wrote it, in JSON."),
    outcome: z.enum(["ok", "refused", "unavailable", "failed"]),
    code: z.int().optional().describe("Of the error that was answered."),
    source: z
      .enum(["store", "upstream", "local", "merged"])
      .describe(
        "What the answer stands on; `merged`: the answer to an equal call that was under way.",
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
          .describe("Why a further one was asked: `failed`, `cross-check` or `slow`."),
        atMs: sinceBegin,
        ms: ms.optional().describe("Left out: it had not answered when the call ended."),
        kind: z.string().optional().describe("What its reply was, such as `result`."),
        code: z.int().optional().describe("Of its refusal."),
        reason: z.string().optional().describe("Of its failure."),
      }),
    ).describe("The upstreams that were asked, in their order."),
    leftOut: count.describe("Further ones that were asked."),
  })
  .openapi("TailedCall");

const rate = z.number().describe("A second, over the last ten.");

const evidence = z
  .strictObject({
    at: time,
    upstream: z.string(),
    kind: z.enum(["false answer", "failed proof", "disagreement"]),
    about: z.string().describe("The method, or the part of which block."),
    said: z.string().optional().describe("The beginning of what the node said."),
    found: z.string().describe("What shows that this is not so."),
  })
  .openapi("Evidence");

const block = z.strictObject({ number: z.int(), hash: z.string() });
const reorganisation = z
  .strictObject({
    at: time,
    fork: block.describe("The newest block that both branches have."),
    removed: listOf(block).describe("The oldest six of the branch that was left."),
    added: listOf(block).describe("The oldest six of the branch that was taken."),
    removedCount: count,
    addedCount: count,
  })
  .openapi("Reorganisation");

const liveUpstream = upstreamStatus
  .extend({
    callsPerSecond: rate.describe("A second, for callers."),
    failedPerSecond: rate.describe("Of these, those without a result or a refusal."),
    caught: z
      .strictObject({ lies: count, proofFailures: count, dissents: count })
      .describe(
        "False answers, blocks whose proof failed, answers that others did not agree with.",
      ),
    troubles: listOf(
      z.strictObject({ text: z.string(), tone: z.enum(["bad", "warn", "plain"]) }),
    ).describe("What is the matter with it in words, the worst first; none: it does well."),
  })
  .openapi("LiveUpstream");

const callRates = z
  .strictObject({
    calls: rate.describe("Answered, with a result or an error."),
    store: rate.describe("From the store."),
    merged: rate.describe("With the answer to an equal call."),
    here: rate.describe("Computed by the gateway."),
    failed: rate.describe("No upstream could answer, or the gateway is at fault."),
    refused: rate.describe("Answered with another error: the caller's, or of what was called."),
    medianMs: ms.optional(),
    p99Ms: ms.optional(),
  })
  .describe("Calls a second, over the last ten.");

export const liveHistory = z
  .strictObject({
    past: listOf(
      z.strictObject({
        ageSeconds: z.number().describe("How long ago it was so, when it is told."),
        networks: listOf(
          networkStatus.pick({ network: true }).extend({
            perSecond: callRates,
            upstreams: listOf(upstreamStatus.pick({ upstream: true, lagBlocks: true })),
          }),
        ),
      }),
    ).describe("Every ten seconds of the last half an hour, the oldest first."),
  })
  .openapi("LiveHistory");

export const liveStatus = z
  .strictObject({
    at: time,
    networks: listOf(
      networkStatus.extend({
        headAgeSeconds: z.number().optional(),
        isStale: z.boolean(),
        reorganisations: count.describe("Since the gateway began."),
        lastReorganisations: listOf(reorganisation).describe("Five at most, the newest first."),
        evidence: listOf(evidence).describe(
          "What nodes were caught at: five of each at most, the newest first.",
        ),
        perSecond: callRates,
        upstreams: listOf(liveUpstream),
      }),
    ),
    calls: listOf(tailedCall).describe(
      "Slow and failed ones that came since the last event, the newest first.",
    ),
  })
  .openapi("LiveStatus");

export const callTail = z.strictObject({ calls: listOf(tailedCall) }).openapi("CallTail");

const changed = listOf(z.string()).describe(
  "One line for each setting; empty: nothing changed. Secrets are not shown.",
);
const mistakes = listOf(z.string()).describe("One line each, with its path.");

export const checked = z
  .strictObject({ mistakes, changed })
  .describe("What a text would do in the place of the configuration.")
  .openapi("CheckedConfiguration");

export const configuration = z
  .strictObject({
    path: z.string().optional().describe("Of the file; left out: there is none."),
    text: z
      .string()
      .optional()
      .describe(
        "The file as it is now. What may be a secret, and comments, are `‹hidden 1›` and so on: in a text that is sent they stand for themselves. Left out: it cannot be shown.",
      ),
    version: z.string().optional().describe("For `If-Match`."),
    whyNotWritable: z.string().optional().describe("Left out: it can be replaced."),
    pending: checked.describe("What a reload would do now; nothing: the file is what runs."),
    reloads: listOf(
      z.strictObject({
        at: time,
        who: z.string(),
        from: z.string(),
        outcome: z.enum(["reloaded", "mistakes", "refused"]),
        lines: texts.unwrap().describe("What changed, what is wrong, or why it was refused."),
      }),
    ).describe("The last 20 since the gateway began, the newest first."),
  })
  .openapi("Configuration");

export const replaced = z
  .strictObject({ changed, version: z.string().describe("Of the file as it is now.") })
  .openapi("ReplacedConfiguration");

export const configurationText = z.strictObject({
  text: z
    .string({ error: "expected the whole file, as a text" })
    .describe("The whole file, in YAML."),
});

export const tryRequest = z.strictObject({
  network: z.string(),
  key: z.string().describe("The name of a key that works: it is charged."),
  method: z.string().max(128),
  params: z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())]).optional(),
  origin: z
    .string()
    .max(256)
    .optional()
    .describe("The web origin that it is said to come from; a key may be bound to some."),
  address: z
    .union([z.ipv4(), z.ipv6()], { error: "expected an IP address" })
    .optional()
    .describe("The address that it is said to come from; a key may be bound to some."),
});

export const tried = z
  .strictObject({
    status: z.int().describe("Of HTTP, as the key's holder would have got it."),
    answer: z.string().describe("The JSON-RPC response, as JSON."),
    isWhole: z.boolean().describe("false: the answer is longer than what is told of it, 256 KiB."),
    bytes: count.describe("Of the whole answer."),
    story: tailedCall
      .omit({ at: true, network: true, key: true, request: true, trace: true })
      .optional()
      .describe("How it came about; left out: it was refused before it was a call."),
    cost: z.number().optional().describe("By the configured prices; left out without any."),
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
    who: z.string().describe("The name of a token, `admin` that of admin.token; or a signal."),
    from: z.string().describe("The address; of a signal or a command the machine."),
    what: z.string(),
    key: z.string().optional().describe("The name of the key that was changed."),
    details: texts.describe("The settings that were given, or what a reload changed."),
  })
  .openapi("AuditEntry");

export const auditPage = z
  .strictObject({
    entries: listOf(auditEntry),
    next: count.optional().describe("The `before` of the next page; left out: there is none."),
  })
  .openapi("AuditPage");

export const session = z
  .strictObject({
    operator: z
      .strictObject({ name: z.string(), role: z.enum(ROLES) })
      .optional()
      .describe("Left out: nobody is logged in, and a token is needed."),
    endsAt: time.optional().describe("When a session that began ends."),
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
export type CallAnswer = z.output<typeof tailedCall>;
export type ConfigurationAnswer = z.output<typeof configuration>;
export type CheckedAnswer = z.output<typeof checked>;
export type ReplacedAnswer = z.output<typeof replaced>;
export type TriedAnswer = z.output<typeof tried>;

const NOTHING = z.literal(["0", "0s"], { error: "expected 0s" }).transform(() => 0);

export const rotation = z.strictObject({
  overlap: z
    .union([NOTHING, duration], { error: "expected a duration such as 24h, or 0s" })
    .optional()
    .describe("How long the old text works; 0s: not at all. Left out: 24h."),
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
