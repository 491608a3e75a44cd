// Methods that the gateway answers without a node: a hash, the documentation, and a key's limits and usage.
import { z } from "zod";
import type { UsageRow } from "../access/usage/key-usage.ts";
import { keccak256OfData } from "../evm/keccak.ts";
import { data, hash } from "../evm/values.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { type CallContext, defineMethod, type Method } from "./method.ts";

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
    answer: async (_, context) => {
      const document = context.describe();
      await context.payForWork(Math.floor(document.length / DOCUMENT_BYTES_OF_A_UNIT));
      return document;
    },
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
    answer: async ({ range = {} }, context) => {
      const { account, holder } = context;
      const wanted = account.usage.range(range);
      if (wanted.kind === "mistake") {
        throw errors.invalidArgument(0, `${wanted.field}: ${wanted.why}`);
      }
      const { rows, total } = await readRows(account.usage.rows(wanted), context);
      const { from, to } = wanted;
      const told = { key: holder, limits: account.meter.snapshot(), from, to, total };
      return `${JSON.stringify(told).slice(0, -1)},"usage":[${rows}]}`;
    },
  }),
];

/** The rows of usage that one compute unit pays for; the price of the call covers as many. */
const ROWS_OF_A_UNIT = 10;
/** The bytes of the OpenRPC document that one compute unit pays for: it is written once, and copied for each call. */
const DOCUMENT_BYTES_OF_A_UNIT = 50_000;
/** The most rows of one answer. */
const MOST_ROWS = 20_000;

/** Writes rows as JSON, with their sum. The key pays for them as they are read. */
async function readRows(
  read: AsyncIterable<readonly UsageRow[]>,
  context: Pick<CallContext, "payForWork" | "hold" | "signal">,
): Promise<{ readonly rows: string; readonly total: Counts }> {
  let [rows, count, paid] = ["", 0, 1];
  let total = counted(() => 0);
  for await (const some of read) {
    if (context.signal.aborted) throw errors.upstreamTimeout();
    count += some.length;
    if (count > MOST_ROWS)
      throw errors.invalidArgument(0, `more than ${MOST_ROWS} rows: ask for fewer days`);
    const due = Math.ceil(count / ROWS_OF_A_UNIT) - paid;
    if (due > 0) await context.payForWork(due);
    paid += Math.max(0, due);
    const json = some.map((row) => JSON.stringify(shownRow(row))).join(",");
    context.hold(json.length);
    rows += rows === "" ? json : `,${json}`;
    total = sumOf([total, ...some]);
  }
  return { rows, total };
}

const shownRow = (row: UsageRow) => ({
  day: row.day,
  network: row.network,
  method: row.method,
  ...countsOf(row),
});

/** The counts that concern the key's holder. The sources of the gateway's answers concern only its operator. */
const countsOf = (row: Counts): Counts => counted((name) => row[name]);

const sumOf = (rows: readonly Counts[]): Counts =>
  counted((name) => rows.reduce((sum, row) => sum + row[name], 0));

const counted = (count: (name: keyof Counts) => number): Counts =>
  Object.fromEntries(COUNTED.map((name) => [name, count(name)])) as Counts;
