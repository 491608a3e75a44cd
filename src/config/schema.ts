// The schema of the whole configuration: the settings, their meanings and their defaults. Its input is the value of the
// file, its output the settings of the gateway.
import { z } from "zod";
import { contradictionsIn } from "./contradictions.ts";
import { apiKey, hashedKey, keySecret } from "./key-settings.ts";
import { network, UNKNOWN_CHAIN } from "./network-settings.ts";
import {
  admin,
  jwt,
  log,
  processes,
  publicListen,
  serverLimits,
  timeouts,
} from "./server-settings.ts";
import type { Path } from "./setting-names.ts";
import { defaults } from "./short-forms.ts";
import { state } from "./state-settings.ts";
import { tail, tracing } from "./story-settings.ts";
import {
  amount,
  besideOtherMistakes,
  type DeepReadonly,
  filePath,
  METHOD_OR_PATTERN,
  mappingOf,
  textOf,
  wholeNumber,
} from "./units.ts";

const networkName = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;

const isNetworkName = (name: string): boolean =>
  // `/v1` is another path of the server, so a network of that name could not be reached by path.
  networkName.test(name) && name.length <= 63 && name !== "v1";

const networks = z
  .record(z.string(), network)
  .superRefine((value, context) => {
    const names = Object.keys(value);
    if (names.length === 0) {
      context.addIssue({ code: "custom", message: "at least one network is needed" });
    }
    for (const name of names.filter((each) => !isNetworkName(each))) {
      const message =
        "a network's name has 1 to 63 characters of a-z, 0-9 and '-', no '-' at its ends, and is not v1";
      context.addIssue({ code: "custom", message, path: [name] });
    }
  }, besideOtherMistakes)
  .meta({ minProperties: 1, propertyNames: { pattern: networkName.source, maxLength: 63 } });

/** Prices in compute units, which replace the catalogue's. A name wins over patterns, a longer pattern over a shorter. */
const costs = z.record(z.string(), amount(0)).superRefine((value, context) => {
  for (const name of Object.keys(value).filter((each) => !METHOD_OR_PATTERN.test(each))) {
    const message =
      "a method or a pattern such as trace_*, of letters, digits, _, . and *, is needed here";
    context.addIssue({ code: "custom", message, path: [name] });
  }
});

/** Prices of calls at a provider, for comparison. */
const prices = z.strictObject({
  currency: textOf(/^[A-Z]{3,5}$/, "a currency such as USD")
    .prefault("USD")
    .describe("The currency of the prices: 3 to 5 capital letters, shown as they are."),
  computeUnits: amount(0)
    .prefault(0)
    .describe("The price of a million compute units, for methods without a price of their own."),
  methods: mappingOf(
    METHOD_OR_PATTERN,
    amount(0),
    "one of the names is neither a method nor a pattern such as trace_*",
  )
    .prefault({})
    .describe(
      "The price of a million calls, by method or pattern; the name of a method wins over patterns, and a longer pattern over a shorter one.",
    ),
});

/** The time for which the usage of keys is kept. */
const usage = z.strictObject({
  keptDays: wholeNumber(1, 4000)
    .prefault(400)
    .describe("The number of days for which each key's usage is kept."),
});

export const configSchema = z
  .strictObject({
    listen: publicListen
      .prefault({})
      .describe("The address and port at which callers are answered."),
    admin: admin.prefault({}).describe("The operator's side, on its own port."),
    data: filePath
      .prefault("./data")
      .describe("The folder of the block stores and of this machine's state."),
    state: state
      .optional()
      .describe(
        "The URL of the Redis or Valkey in which several gateways share keys, filters, limits and counts; never shown. Left out: an LMDB in the data folder.",
      ),
    processes: processes
      .prefault(1)
      .describe("The number of processes that answer callers; auto: one a core."),
    log: log.prefault({}).describe("The log on stdout."),
    keys: z.array(apiKey).prefault([]).describe("API keys."),
    keySecret: keySecret.optional(),
    jwt: jwt
      .optional()
      .describe(
        "The tokens of an identity provider (JWT) that callers may send in the place of keys; left out: none.",
      ),
    costs: costs
      .prefault({})
      .describe(
        "The cost of calls in compute units, by method or pattern, where it differs from docs/METHODS.md.",
      ),
    limits: serverLimits.prefault({}).describe("Limits for callers."),
    timeouts: timeouts.prefault({}).describe("Timeouts of connections, calls and processes."),
    prices: prices
      .optional()
      .describe(
        "A provider's prices, by which the bill shows the cost of calls and the cost that the gateway saved.",
      ),
    usage: usage.prefault({}).describe("The bill, which has the usage of each key."),
    defaults: defaults
      .optional()
      .describe(
        "Settings that networks, and upstreams, share; a network's or an upstream's own settings win.",
      ),
    tail: tail.prefault({}).describe("The slow and failed calls that operators can look at."),
    tracing: tracing
      .optional()
      .describe(
        "The OpenTelemetry traces of calls, and their collector; left out: no traces are sent.",
      ),
    networks: networks.describe(
      "The networks by name. By default the name is the first label of the hosts at which the network is served.",
    ),
  })
  .superRefine((value, context) => {
    for (const { path, message } of contradictionsIn(value)) {
      context.addIssue({ code: "custom", path, message });
    }
  }, besideOtherMistakes)
  // From here on the gateway needs only the hashes of keys, not their texts.
  .transform(({ defaults: _, networks: all, ...settings }) => ({
    ...settings,
    keys: settings.keys.map(hashedKey),
    ...byWhatIsKnown(all),
  }));

/** Separates the networks whose chain is not known yet, which cannot be served. */
function byWhatIsKnown<Settings extends { chainId: number }>(
  all: Readonly<Record<string, Settings>>,
): { networks: Record<string, Settings>; unidentified?: Record<string, Settings> } {
  const { known = [], unknown } = Object.groupBy(Object.entries(all), ([, { chainId }]) =>
    chainId === UNKNOWN_CHAIN ? "unknown" : "known",
  );
  return {
    networks: Object.fromEntries(known),
    ...(unknown && { unidentified: Object.fromEntries(unknown) }),
  };
}

/** The complete settings: all defaults are filled in, and names contain their units. */
export type Config = DeepReadonly<z.output<typeof configSchema>>;
export type NetworkSettings = Config["networks"][string];
export type UpstreamSettings = NetworkSettings["upstreams"][number];

export type JsonSchema = z.core.JSONSchema.JSONSchema;
type JsonSchemaOrBoolean = z.core.JSONSchema._JSONSchema;

/** The names of the settings that a mapping at this path may have. */
export const knownSettings = (path: Path): readonly string[] =>
  Object.keys(schemaAt(path)?.properties ?? {});

/** The schema of the value at this path; undefined for an unknown path. */
export function schemaAt(path: Path): JsonSchema | undefined {
  schemaOnce ??= settingsSchema();
  const found = path.reduce<JsonSchemaOrBoolean | undefined>(within, schemaOnce);
  return typeof found === "object" ? found : undefined;
}

/** The JSON Schema of the settings, made once, since this takes a while. */
let schemaOnce: JsonSchema | undefined;

/** The JSON Schema (draft 2020-12) of the file's value, after variables are replaced. */
export const settingsSchema = (): JsonSchema =>
  z.toJSONSchema(configSchema, { io: "input", target: "draft-2020-12" });

function within(
  schema: JsonSchemaOrBoolean | undefined,
  step: PropertyKey,
): JsonSchemaOrBoolean | undefined {
  if (typeof schema !== "object") return undefined;
  if (typeof step === "number") return Array.isArray(schema.items) ? undefined : schema.items;
  return schema.properties?.[String(step)] ?? schema.additionalProperties;
}
