// The whole configuration as one schema: what may be written, what it means, and what is taken where
// nothing is written. Its input is the file as a value, its output is what the gateway is told.
import { z } from "zod";
import { admin } from "./admin-settings.ts";
import { disagreements } from "./agreement.ts";
import { costs } from "./cost-settings.ts";
import { apiKey, hashedKey, keySecret } from "./key-settings.ts";
import { besideOtherMistakes } from "./mapping.ts";
import { network } from "./network-settings.ts";
import { prices, usage } from "./price-settings.ts";
import { log, processes, publicListen, serverLimits, timeouts } from "./server-settings.ts";
import { state } from "./state-settings.ts";

const networkName = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;

const isNetworkName = (name: string): boolean =>
  // `/v1` is a path of its own: a network of that name could not be reached by path.
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
        "a network's name is 1 to 63 characters of a-z, 0-9 and '-', with no '-' at its ends, and not v1";
      context.addIssue({ code: "custom", message, path: [name] });
    }
  }, besideOtherMistakes)
  .meta({ minProperties: 1, propertyNames: { pattern: networkName.source, maxLength: 63 } });

export const configSchema = z
  .strictObject({
    listen: publicListen.prefault({}).describe("Where callers are answered."),
    admin: admin.prefault({}).describe("The operator's side, on its own port."),
    data: z
      .string({ error: "expected a path" })
      .min(1, { error: "expected a path" })
      .prefault("./data")
      .describe("The folder of the block store."),
    state: state
      .optional()
      .describe(
        "The Redis or Valkey by which several gateways share keys, filters, limits and counts, as a URL; never shown. Left out: an LMDB in the data folder.",
      ),
    processes: processes.prefault(1).describe("How many processes answer; auto: one a core."),
    log: log.prefault({}).describe("The log on stdout."),
    keys: z.array(apiKey).prefault([]).describe("API keys."),
    keySecret: keySecret.optional(),
    costs: costs
      .prefault({})
      .describe(
        "What calls cost in compute units, by method or pattern; else as in docs/METHODS.md.",
      ),
    limits: serverLimits.prefault({}).describe("What is taken from callers at most."),
    timeouts: timeouts.prefault({}).describe("How long things may take."),
    prices: prices
      .optional()
      .describe(
        "What calls would cost at a provider: what those cost, or saved, that were answered.",
      ),
    usage: usage.prefault({}).describe("The bill: what each key did."),
    networks: networks.describe("The networks by name; the name is the first label of its host."),
  })
  .superRefine((value, context) => {
    for (const { path, message } of disagreements(value)) {
      context.addIssue({ code: "custom", path, message });
    }
  }, besideOtherMistakes)
  // The texts of keys are of use to nobody any more.
  .transform((settings) => ({ ...settings, keys: settings.keys.map(hashedKey) }));

/** What the operator wants, complete: every default is filled in, every unit is in the name. */
export type Config = DeepReadonly<z.output<typeof configSchema>>;

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;
