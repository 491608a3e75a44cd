// The settings of one API key: its scope and its limits, the same for keys of the file and keys made at runtime. The
// parsed configuration has only the hash of a key's text.
import { createHash } from "node:crypto";
import { z } from "zod";
import { isoText, readTime } from "../lib/calendar.ts";
import {
  addressOrRange,
  besideOtherMistakes,
  byteSize,
  type DeepReadonly,
  METHOD_OR_PATTERN,
  oneOf,
  onlyOneOf,
  textOf,
  trueOrFalse,
  wholeNumber,
} from "./units.ts";

const method = textOf(
  METHOD_OR_PATTERN,
  "a method or a pattern such as eth_*, of letters, digits, _, . and *",
);

const origin = textOf(
  /^(\*|(https?:\/\/)?(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:\d{1,5})?)$/,
  "an origin such as https://app.example.com, a host such as app.example.com or *.example.com, or *",
).transform((text) => text.toLowerCase());

const contract = textOf(
  /^(0x[0-9a-f]{40}|(cfx|cfxtest|net\d{1,10}):(type\.[a-z]+:)?[0-9a-hjkmnprs-z]{42})$/i,
  "a contract's address, 0x and 40 hex digits or cfx:…",
).transform((text) => text.toLowerCase());

const unitsASecond = z
  .number({ error: "expected a number above 0" })
  .positive({ error: "expected a number above 0" });

const unitRate = z
  .strictObject({
    computeUnits: unitsASecond.describe("The compute units that come back each second."),
    burst: unitsASecond
      .optional()
      .describe("The most compute units that can be saved up; left out: computeUnits."),
  })
  .transform(({ computeUnits: perSecond, burst = perSecond }) => ({
    computeUnitsPerSecond: perSecond,
    burstComputeUnits: burst,
  }));

const computeUnits = z.strictObject({
  perDay: wholeNumber(1).optional().describe("The most in one day, UTC; left out: no limit."),
  perMonth: wholeNumber(1)
    .optional()
    .describe("The most in one calendar month, UTC; left out: no limit."),
});

const limits = z.strictObject({
  logs: z
    .strictObject({
      blocks: wholeNumber(1)
        .optional()
        .describe("The widest block range of one log query; left out: that of the network."),
    })
    .prefault({})
    .describe("Limits of log queries."),
  batch: wholeNumber(1, 1000)
    .optional()
    .describe("The most calls in one batch; left out: that of the server."),
  batchResponse: byteSize
    .optional()
    .describe("The most bytes of answers to one batch; left out: that of the server."),
  upstreamCalls: wholeNumber(1)
    .optional()
    .describe("How often one call may ask nodes; left out: what the network says."),
});

/** The name of a key, or of an operator's token. */
export const ownerName = textOf(
  /^[a-z0-9._-]{1,64}$/,
  "1 to 64 characters of a-z, 0-9, '.', '_' and '-'",
);

const keyName = ownerName.describe("What logs, the bill and the dashboard call this key; unique.");

const keyTerms = {
  profile: oneOf("browser", "server")
    .optional()
    .describe(
      "A shorthand. browser: bound to its origins, reads only, rate 50 with a burst of 100, batches of 20 with answers of 10MiB, 100 calls at once, where nothing else is written. server: no origins.",
    ),
  networks: z.array(z.string()).optional().describe("The networks it may use; left out: all."),
  methods: z
    .array(method)
    .optional()
    .describe("The methods it may call, or patterns; left out: all that the network serves."),
  origins: z
    .array(origin)
    .optional()
    .describe(
      "The web origins that may use it: with a scheme, or hosts of any scheme; *.example.com is its subdomains, not itself. Left out: all, and callers that are no browser.",
    ),
  addresses: z
    .array(addressOrRange)
    .optional()
    .describe("The IP addresses and ranges it may be used from; left out: all."),
  contracts: z
    .array(contract)
    .optional()
    .describe("The contracts that calls, code and log queries may be about; left out: all."),
  readOnly: trueOrFalse
    .optional()
    .describe("Whether it may send no transactions; left out: it may."),
  explain: trueOrFalse
    .optional()
    .describe(
      "Whether its callers may ask how an answer came about, with `X-Headgate-Explain: 1`: which upstreams were asked, by their names; left out: they may not.",
    ),
  expires: z.iso
    .datetime({ offset: true, error: "expected a date and time such as 2027-01-31T00:00:00Z" })
    .transform(readTime)
    .optional()
    .describe("When it stops working; an ISO date and time with its offset from UTC."),
  rate: unitRate.optional().describe("How fast it may spend compute units; left out: no limit."),
  computeUnits: computeUnits
    .prefault({})
    .describe("How many compute units it may spend in longer times."),
  concurrentCalls: wholeNumber(1)
    .optional()
    .describe(
      "The most calls that may run at once; left out: 2000 in each process, browser: 100 in all.",
    ),
  weight: wholeNumber(1, 100)
    .optional()
    .describe(
      "How many turns its calls have where others have one, when calls of several keys wait for a node, and its share of what waits in memory; left out: 1.",
    ),
  limits: limits.prefault({}).describe("Limits of this key, beside those of the network."),
};

const terms = z.strictObject({ name: keyName, ...keyTerms });

/** The hash of a secret, as the configuration writes it. */
export const sha256 = textOf(/^sha256:[0-9A-Fa-f]{64}$/, "sha256: and 64 hex digits").transform(
  (text) => text.toLowerCase(),
);

const configured = terms.extend({
  key: textOf(
    /^[A-Za-z0-9._~-]{4,256}$/,
    "4 to 256 characters of A-Z, a-z, 0-9, '.', '_', '~' and '-'",
  )
    .optional()
    .describe("The key itself. Give this or hash."),
  hash: sha256
    .optional()
    .describe("`sha256:` and the SHA-256 of the key in hex. Give this or key."),
});

/** A key of the configuration file, with its text or its hash. */
export const apiKey = configured
  .refine(...onlyOneOf("key", "hash"))
  .superRefine(checkProfile, besideOtherMistakes)
  .transform(({ key, hash, ...entry }) => ({
    ...settingsOf(entry),
    ...(key === undefined ? {} : { key }),
    ...(hash === undefined ? {} : { hash }),
  }));

/** The key with its hash, in the place of its text if the text was written. */
export const hashedKey = ({ key, hash, ...settings }: z.output<typeof apiKey>) => ({
  ...settings,
  hash: hash ?? hashOf(key ?? ""),
});

/** The secret for the hashes of keys. If it changes or is lost, no key that was made at runtime works any more. */
export const keySecret = textOf(/^.{16,}$/, "16 characters or more").describe(
  "What the hashes of keys made at runtime are made with, the same at all gateways over one state; left out: a random one that is kept in the state.",
);

/** The request for a key at runtime, without a text: the gateway makes the text. */
export const keyRequest = terms
  .superRefine(checkProfile, besideOtherMistakes)
  .transform(settingsOf);

/** The settings of a key as a person writes them. */
export type KeyRequest = z.input<typeof keyRequest>;
/** All settings of a key. A limit that is left out does not exist. */
export type KeySettings = DeepReadonly<z.output<typeof keyRequest>>;
export type ConfiguredKey = DeepReadonly<ReturnType<typeof hashedKey>>;

/** The settings as a person would write them; the inverse of the parse. */
export function asWritten(settings: KeySettings): KeyRequest {
  const { expiresAtMs, rate, ...rest } = structuredClone(settings) as z.output<typeof keyRequest>;
  return {
    ...rest,
    ...(expiresAtMs === undefined ? {} : { expires: isoText(expiresAtMs) }),
    ...(rate && {
      rate: { computeUnits: rate.computeUnitsPerSecond, burst: rate.burstComputeUnits },
    }),
  };
}

const BROWSER = {
  readOnly: true,
  rate: { computeUnitsPerSecond: 50, burstComputeUnits: 100 },
  concurrentCalls: 100,
};
const BROWSER_LIMITS = { batch: 20, batchResponse: 10 * 2 ** 20 };

function settingsOf({ profile, expires, ...entry }: z.output<typeof terms>) {
  const isBrowser = profile === "browser";
  return {
    ...(isBrowser ? BROWSER : {}),
    ...entry,
    ...(expires === undefined ? {} : { expiresAtMs: expires }),
    limits: isBrowser ? { ...BROWSER_LIMITS, ...entry.limits } : entry.limits,
  };
}

function checkProfile(
  { profile, origins }: Partial<z.output<typeof terms>>,
  context: z.core.$RefinementCtx,
): void {
  const message =
    profile === "browser" && !origins?.length
      ? "the browser profile needs origins"
      : profile === "server" && origins
        ? "the server profile takes no origins"
        : undefined;
  if (message) context.addIssue({ code: "custom", message, path: ["origins"] });
}

/** The hash of a key, or of an operator's token. */
export const hashOf = (keyText: string): string =>
  `sha256:${createHash("sha256").update(keyText).digest("hex")}`;
