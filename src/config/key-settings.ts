// One API key of the file: who may call, what, from where and how much.
import { z } from "zod";
import { besideOtherMistakes } from "./mapping.ts";
import { textOf, wholeNumber } from "./units.ts";

const method = textOf(
  /^[A-Za-z0-9_.*]+$/,
  "a method or a pattern such as eth_*, of letters, digits, _, . and *",
);

const origin = textOf(
  /^(\*|https?:\/\/(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:\d{1,5})?)$/,
  "an origin such as https://app.example.com or https://*.example.com, or *",
).transform((text) => text.toLowerCase());

const rate = z
  .strictObject({
    computeUnits: z
      .number({ error: "expected a number above 0" })
      .positive({ error: "expected a number above 0" })
      .describe("The compute units that come back each second."),
    burst: z
      .number({ error: "expected a number above 0" })
      .positive({ error: "expected a number above 0" })
      .optional()
      .describe("The most compute units that can be saved up; left out: computeUnits."),
  })
  .transform(({ computeUnits, burst = computeUnits }) => ({
    computeUnitsPerSecond: computeUnits,
    burstComputeUnits: burst,
  }));

const keyLimits = z.strictObject({
  logs: z
    .strictObject({
      blocks: wholeNumber(1)
        .optional()
        .describe("The widest block range of one log query; left out: that of the network."),
    })
    .prefault({})
    .describe("Limits of log queries."),
});

const settings = z.strictObject({
  name: textOf(/^[a-z0-9._-]{1,64}$/, "1 to 64 characters of a-z, 0-9, '.', '_' and '-'").describe(
    "What logs, metrics and the dashboard call this key; unique.",
  ),
  key: textOf(
    /^[A-Za-z0-9._~-]{4,256}$/,
    "4 to 256 characters of A-Z, a-z, 0-9, '.', '_', '~' and '-'",
  )
    .optional()
    .describe("The key itself. Give this or hash."),
  hash: textOf(/^sha256:[0-9A-Fa-f]{64}$/, "sha256: and 64 hex digits")
    .transform((text) => text.toLowerCase())
    .optional()
    .describe("`sha256:` and the SHA-256 of the key in hex. Give this or key."),
  networks: z.array(z.string()).optional().describe("The networks it may use; left out: all."),
  methods: z
    .array(method)
    .optional()
    .describe("The methods it may call, or patterns; left out: all that the network serves."),
  origins: z
    .array(origin)
    .optional()
    .describe("The web origins that may use it; left out: all, and callers that are no browser."),
  expires: z.iso
    .datetime({ offset: true, error: "expected a date and time such as 2027-01-31T00:00:00Z" })
    // biome-ignore lint/style/noRestrictedGlobals: this reads a text, not the clock.
    .transform((text) => Date.parse(text))
    .optional()
    .describe("When it stops working; an ISO date and time with its offset from UTC."),
  rate: rate.optional().describe("How fast it may spend compute units; left out: no limit."),
  limits: keyLimits.prefault({}).describe("Limits of this key, beside those of the network."),
});

type Settings = z.output<typeof settings>;
type OneSecret = { key: string; hash?: never } | { hash: string; key?: never };

const hasOneSecret = (entry: Settings): entry is Settings & OneSecret =>
  (entry.key === undefined) !== (entry.hash === undefined);

/** An API key, with either its text or its hash. */
export const apiKey = settings
  .refine(hasOneSecret, {
    error: "give one of key and hash, and only one",
    ...besideOtherMistakes,
  })
  .transform(({ expires, ...entry }) => ({
    ...entry,
    ...(expires === undefined ? {} : { expiresAtMs: expires }),
  }));
