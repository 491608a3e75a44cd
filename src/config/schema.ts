// The whole configuration as one schema: what may be written, what it means, and what is taken where
// nothing is written. Its input is the file as a value, its output is what the gateway is told.
import { z } from "zod";
import { disagreements } from "./agreement.ts";
import { apiKey } from "./key-settings.ts";
import { besideOtherMistakes } from "./mapping.ts";
import { network } from "./network-settings.ts";
import { admin, doorLimits, log, processes, publicListen, timeouts } from "./server-settings.ts";

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
    processes: processes.prefault(1).describe("How many processes answer; auto: one a core."),
    log: log.prefault({}).describe("The log on stdout."),
    keys: z.array(apiKey).prefault([]).describe("API keys."),
    limits: doorLimits.prefault({}).describe("What is taken from callers at most."),
    timeouts: timeouts.prefault({}).describe("How long things may take."),
    networks: networks.describe("The networks by name; the name is the first label of its host."),
  })
  .superRefine((value, context) => {
    for (const { path, message } of disagreements(value)) {
      context.addIssue({ code: "custom", path, message });
    }
  }, besideOtherMistakes);

/** What the operator wants, complete: every default is filled in, every unit is in the name. */
export type Config = DeepReadonly<z.output<typeof configSchema>>;

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;
