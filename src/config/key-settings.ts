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
    computeUnits: unitsASecond.describe("The compute units that the key regains each second."),
    burst: unitsASecond
      .optional()
      .describe(
        "The most compute units that can be saved up; left out: the value of computeUnits.",
      ),
  })
  .transform(({ computeUnits: perSecond, burst = perSecond }) => ({
    computeUnitsPerSecond: perSecond,
    burstComputeUnits: burst,
  }));

const computeUnits = z.strictObject({
  perDay: wholeNumber(1)
    .optional()
    .describe("The most compute units in one day, UTC; left out: no limit."),
  perMonth: wholeNumber(1)
    .optional()
    .describe("The most compute units in one calendar month, UTC; left out: no limit."),
});

const limits = z.strictObject({
  logs: z
    .strictObject({
      blocks: wholeNumber(1)
        .optional()
        .describe("The widest block range of one log query; left out: the network's limit."),
    })
    .prefault({})
    .describe("Limits of log queries."),
  batch: wholeNumber(1, 1000)
    .optional()
    .describe("The most calls in one batch; left out: the server's limit."),
  batchResponse: byteSize
    .optional()
    .describe("The most bytes of answers to one batch; left out: the server's limit."),
  upstreamCalls: wholeNumber(1)
    .optional()
    .describe("The most times that one call may ask nodes; left out: the network's limit."),
});

/** The name of a key, or of an operator's token. */
export const ownerName = textOf(
  /^[a-z0-9._-]{1,64}$/,
  "1 to 64 characters of a-z, 0-9, '.', '_' and '-'",
).refine((name) => name !== "." && name !== "..", {
  error: "must not be . or .., which no path of a URL can have as a part",
});

const keyName = ownerName.describe("The key's name in logs, the bill and the dashboard; unique.");

const keyTerms = {
  profile: oneOf("browser", "server")
    .optional()
    .describe(
      "A shorthand for several settings. browser: the key needs origins and, unless its own settings differ, only reads, at a rate of 50 with a burst of 100, in batches of at most 20 calls with answers of at most 10MiB, and with at most 100 concurrent calls. server: the key has no origins.",
    ),
  networks: z
    .array(z.string())
    .optional()
    .describe("The networks that the key may use; left out: all."),
  methods: z
    .array(method)
    .optional()
    .describe(
      "The methods, or patterns, that the key may call; left out: all that the network serves.",
    ),
  origins: z
    .array(origin)
    .optional()
    .describe(
      "The web origins from which the key may be used: an origin with its scheme, or a host for any scheme; *.example.com stands for the subdomains, not for example.com itself. Left out: all origins, and callers other than browsers.",
    ),
  addresses: z
    .array(addressOrRange)
    .optional()
    .describe("The IP addresses and ranges from which the key may be used; left out: all."),
  contracts: z
    .array(contract)
    .optional()
    .describe(
      "The contracts that the key's calls, its queries of code and its log queries may be about; left out: all.",
    ),
  readOnly: trueOrFalse
    .optional()
    .describe(
      "Whether the key may only read, and send no transactions; left out: false, with the profile browser true.",
    ),
  explain: trueOrFalse
    .optional()
    .describe(
      "Whether the key's callers may ask, with `X-Headgate-Explain: 1`, how an answer came about, with the names of the upstreams that were asked; left out: false.",
    ),
  expires: z.iso
    .datetime({ offset: true, error: "expected a date and time such as 2027-01-31T00:00:00Z" })
    .transform(readTime)
    .optional()
    .describe(
      "The time at which the key stops working: an ISO date and time with its offset from UTC.",
    ),
  rate: unitRate
    .optional()
    .describe("The rate at which the key may spend compute units; left out: no limit."),
  computeUnits: computeUnits
    .prefault({})
    .describe("The compute units that the key may spend in a day and in a month."),
  concurrentCalls: wholeNumber(1)
    .optional()
    .describe(
      "The most calls that may run at once; left out: 2000 in each process, with the profile browser 100 in all.",
    ),
  weight: wholeNumber(1, 100)
    .optional()
    .describe(
      "The number of turns that the key's calls have for one turn of a key of weight 1, when calls of several keys wait for a node. The weight also raises the key's share of the bytes that wait in memory. Left out: 1.",
    ),
  limits: limits.prefault({}).describe("Limits of this key, in addition to those of the network."),
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
    .describe("The key itself. Give either this or hash."),
  hash: sha256
    .optional()
    .describe("`sha256:` and the SHA-256 of the key in hex. Give either this or key."),
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
  "The secret with which keys made at runtime are hashed, the same at all gateways that share a state; left out: a random secret that is kept in the state.",
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
