// What a key may be used for and how much: the same for keys of the file and keys made at runtime.
import { z } from "zod";
import { byteSize, textOf, wholeNumber } from "./units.ts";

const method = textOf(
  /^[A-Za-z0-9_.*]+$/,
  "a method or a pattern such as eth_*, of letters, digits, _, . and *",
);

const origin = textOf(
  /^(\*|(https?:\/\/)?(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:\d{1,5})?)$/,
  "an origin such as https://app.example.com, a host such as app.example.com or *.example.com, or *",
).transform((text) => text.toLowerCase());

const address = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: "expected an IP address or a range such as 10.0.0.0/8",
});

const contract = textOf(
  /^(0x[0-9a-f]{40}|(cfx|cfxtest|net\d{1,10}):(type\.[a-z]+:)?[0-9a-hjkmnprs-z]{42})$/i,
  "a contract's address, 0x and 40 hex digits or cfx:…",
).transform((text) => text.toLowerCase());

const unitsASecond = z
  .number({ error: "expected a number above 0" })
  .positive({ error: "expected a number above 0" });

const rate = z
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

export const keyName = textOf(
  /^[a-z0-9._-]{1,64}$/,
  "1 to 64 characters of a-z, 0-9, '.', '_' and '-'",
).describe("What logs, the bill and the dashboard call this key; unique.");

export const keyTerms = {
  profile: z
    .enum(["browser", "server"], { error: "expected browser or server" })
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
    .array(address)
    .optional()
    .describe("The IP addresses and ranges it may be used from; left out: all."),
  contracts: z
    .array(contract)
    .optional()
    .describe("The contracts that calls, code and log queries may be about; left out: all."),
  readOnly: z
    .boolean({ error: "expected true or false" })
    .optional()
    .describe("Whether it may send no transactions; left out: it may."),
  expires: z.iso
    .datetime({ offset: true, error: "expected a date and time such as 2027-01-31T00:00:00Z" })
    // biome-ignore lint/style/noRestrictedGlobals: this reads a text, not the clock.
    .transform((text) => Date.parse(text))
    .optional()
    .describe("When it stops working; an ISO date and time with its offset from UTC."),
  rate: rate.optional().describe("How fast it may spend compute units; left out: no limit."),
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
