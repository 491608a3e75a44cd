// Methods that the gateway answers without a node: a hash, the documentation, and a key's limits and usage.
import { z } from "zod";
import { keccak256OfData } from "../evm/keccak.ts";
import { data, hash } from "../evm/values.ts";
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
  calls: z.number().describe("Calls that were answered and charged."),
  computeUnits: z.number().describe("Compute units charged for all calls."),
  bytes: z.number().describe("Bytes of the answers, before compression."),
  requestBytes: z.number().describe("Bytes of the calls."),
  errors: z.number().describe("Calls that were answered with an error."),
  refused: z.number().describe("Calls refused by the key's settings or limits."),
  upstreamCalls: z.number().describe("Calls made to nodes for these calls."),
};

type Counts = Readonly<Record<keyof typeof counts, number>>;

const COUNTED = Object.keys(counts) as (keyof Counts)[];

export const ownMethods: readonly Method[] = [
  defineMethod({
    name: "web3_sha3",
    workKind: "other",
    isSpecified: true,
    family: "any",
    summary: "The Keccak-256 of the given data, not the standardised SHA3-256.",
    cost: 1,
    params: { data },
    result: hash,
    freshness: "forever",
    badParamsStatus: 400, // the specification declares HTTP 400 for this method
    answer: (args) => `"${keccak256OfData(args.data)}"`,
  }),
  defineMethod({
    name: "rpc.discover",
    workKind: "other",
    isSpecified: true,
    isOwn: true,
    family: "any",
    summary: "The OpenRPC document of this network, with the methods that the key may call.",
    cost: 1,
    params: {},
    result: z.looseObject({ openrpc: z.string() }),
    freshness: "unknown",
    answer: (_, context) => context.describe(),
  }),
  defineMethod({
    name: "headgate_usage",
    workKind: "other",
    isSpecified: true,
    isOwn: true,
    family: "any",
    summary:
      "The limits and the usage of the key that makes the call. The usage is by day, network and method, of this month unless a range of days is given.",
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

/** The counts that concern the key's holder. The sources of the gateway's answers concern only its operator. */
const countsOf = (row: Counts): Counts => counted((name) => row[name]);

const sumOf = (rows: readonly Counts[]): Counts =>
  counted((name) => rows.reduce((sum, row) => sum + row[name], 0));

const counted = (count: (name: keyof Counts) => number): Counts =>
  Object.fromEntries(COUNTED.map((name) => [name, count(name)])) as Counts;
