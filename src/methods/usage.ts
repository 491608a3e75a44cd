// The holder of a key asks for its own limits and use.
import { z } from "zod";
import { errors } from "../jsonrpc/rpc-error.ts";
import { defineMethod, type Method } from "./method.ts";

const day = z
  .string({ error: "want a UTC day such as 2026-11-21" })
  .regex(/^\d{4}-\d\d-\d\d$/, { error: "want a UTC day such as 2026-11-21" })
  .describe("A UTC day such as 2026-11-21.");

const dayRange = z.strictObject(
  { from: day.optional(), to: day.optional() },
  { error: "want an object with from and to" },
);

const counts = {
  calls: z.number().describe("Answered and charged."),
  computeUnits: z.number(),
  bytes: z.number().describe("Of the answers, before compression."),
  requestBytes: z.number(),
  errors: z.number().describe("Of the calls, those answered with an error."),
  refused: z.number().describe("Turned away by the key's settings or limits."),
  upstreamCalls: z.number().describe("How often nodes were asked for these calls."),
};

const COUNTED = [
  "calls",
  "computeUnits",
  "bytes",
  "requestBytes",
  "errors",
  "refused",
  "upstreamCalls",
] as const;

type Counts = Readonly<Record<(typeof COUNTED)[number], number>>;

export const usageMethods: readonly Method[] = [
  defineMethod({
    name: "headgate_usage",
    group: "other",
    isSpecified: true,
    isOwn: true,
    family: "any",
    summary:
      "The limits of the key that asks, and what was done with it: by day, network and method, of this month unless a range of days is given.",
    cost: 1,
    params: { range: dayRange.optional() },
    result: z.looseObject({
      key: z.string().describe("The key's name."),
      limits: z.looseObject({}),
      from: day,
      to: day,
      total: z.object(counts),
      usage: z.array(z.object({ day, network: z.string(), method: z.string(), ...counts })),
    }),
    freshness: "unknown",
    answer: async ({ range = {} }, { account, holder }) => {
      const wanted = account.usage.range(range);
      if (wanted.kind === "mistake") {
        throw errors.invalidArgument(0, `${wanted.field}: ${wanted.why}`);
      }
      const rows = await account.usage.read(wanted);
      return JSON.stringify({
        key: holder,
        limits: account.meter.snapshot(),
        from: wanted.from,
        to: wanted.to,
        total: countsOf(sumOf(rows)),
        usage: rows.map((row) => ({
          day: row.day,
          network: row.network,
          method: row.method,
          ...countsOf(row),
        })),
      });
    },
  }),
];

/** What concerns the holder; how the gateway came to an answer is its operator's business. */
const countsOf = (row: Counts): Counts => ({
  calls: row.calls,
  computeUnits: row.computeUnits,
  bytes: row.bytes,
  requestBytes: row.requestBytes,
  errors: row.errors,
  refused: row.refused,
  upstreamCalls: row.upstreamCalls,
});

function sumOf(rows: readonly Counts[]): Counts {
  const sum = Object.fromEntries(COUNTED.map((name) => [name, 0])) as Record<
    (typeof COUNTED)[number],
    number
  >;
  for (const row of rows) for (const name of COUNTED) sum[name] += row[name];
  return sum;
}
