// Logs of epoch networks: the schemas of a filter (specification: epoch log filter object) and of a log, and the logs
// that a filter matches.
import { z } from "zod";
import {
  ADDRESS,
  conditionOf,
  fieldOfTopic,
  type LogMatcher,
  MAX_ALTERNATIVES,
  topicsOf,
} from "../evm/log-filter.ts";
import { data, hash, type Issue, quantity, whyNoQuantity } from "../evm/values.ts";
import { confluxAddress, readAddress } from "./address.ts";

const wantedEpoch =
  "want an epoch number, earliest, latest_checkpoint, latest_finalized, latest_confirmed or latest_state";
const EPOCH =
  /^(0x(0|[1-9a-fA-F][0-9a-fA-F]{0,63})|earliest|latest_(checkpoint|finalized|confirmed|state))$/;

const whyNoEpoch = ({ input }: Issue): string => {
  // docs/decisions/0035: the newest mined epoch has no logs yet.
  if (input === "latest_mined") return `latest_mined is not executed, ${wantedEpoch}`;
  return typeof input === "string" && input.startsWith("0x")
    ? whyNoQuantity({ input })
    : wantedEpoch;
};

const epoch = z
  .string({ error: wantedEpoch })
  .regex(EPOCH, { error: whyNoEpoch })
  .meta({ id: "EpochNumberOrTag", description: "An epoch number (QUANTITY) or a tag with logs." });

/** The error of a union, which by itself would not report that an array is too long. */
const whyNoneOf =
  (plural: string, wanted: string) =>
  ({ input }: Issue): string =>
    Array.isArray(input) && input.length > MAX_ALTERNATIVES
      ? `want at most ${MAX_ALTERNATIVES} ${plural}`
      : wanted;

const contracts = z
  .union([confluxAddress, z.array(confluxAddress).max(MAX_ALTERNATIVES)], {
    error: whyNoneOf("addresses", "want a BASE32 address or an array of such addresses"),
  })
  .describe("The address of a contract, or an array of alternatives.");

// Unlike with Ethereum nodes, null is not allowed among the alternatives.
const topic = z.union([hash, z.array(hash).max(MAX_ALTERNATIVES)], {
  error: whyNoneOf("alternatives", "want a 32-byte topic, null or an array of topics"),
});

export const epochLogFilter = z
  .looseObject(
    {
      fromEpoch: epoch.nullish().describe("The first epoch. Left out: latest_checkpoint."),
      toEpoch: epoch.nullish().describe("The last epoch. Left out: latest_state."),
      // Not limited here: `tooManyHashes` refuses more than 128 in the nodes' words.
      blockHashes: z
        .array(hash, { error: "want an array of block hashes" })
        .nullish()
        .describe("At most 128 hashes; if they are given, the epochs are ignored."),
      address: contracts.nullish(),
      topics: topicsOf(topic).nullish(),
      limit: quantity.nullish().describe("The most logs in the answer, which are the last ones."),
      offset: quantity
        .nullish()
        .describe("The number of logs that are left out at the end, before `limit` applies."),
    },
    { error: "want a log filter object" },
  )
  .meta({
    id: "EpochLogFilter",
    description: "The conditions on logs, and the range of epochs or the blocks.",
  });

export type EpochLogFilter = z.infer<typeof epochLogFilter>;

export const epochLog = z
  .looseObject({
    address: confluxAddress,
    topics: z.array(hash).max(4),
    data,
    blockHash: hash,
    epochNumber: quantity,
    transactionHash: hash,
    transactionIndex: quantity.describe("Index in the block."),
    logIndex: quantity.describe("Index in the block."),
    transactionLogIndex: quantity.describe("Index in the transaction."),
  })
  .meta({ id: "EpochLog", description: "A log of an epoch network." });

/** An epoch number or tag; for methods with which nodes accept it, also an object with a block hash. */
export const epochReference = z
  .union([z.string(), z.looseObject({})], { error: "want an epoch number or tag" })
  .meta({ id: "EpochReference", description: "An epoch number (QUANTITY) or a tag." });

type Conditions = Pick<EpochLogFilter, "address" | "topics">;

/**
 * The conditions on each matching log, or "nothing" when no log can match. An address matches in both forms, with and
 * without its type, because nodes write either. An address of another network matches nothing.
 */
export function epochMatcher(
  { address, topics }: Conditions,
  networkId: number,
): LogMatcher | "nothing" {
  const conditions: LogMatcher["conditions"][number][] = [];
  const addresses = [address ?? []].flat();
  if (addresses.length > 0) conditions.push(conditionOf(ADDRESS, formsOf(addresses, networkId)));
  topics?.forEach((position, index) => {
    if (position === null) return;
    const values = [position].flat().map((value) => value.toLowerCase());
    conditions.push(conditionOf(fieldOfTopic(index), values));
  });
  if (conditions.some(({ values }) => values.size === 0)) return "nothing";
  return { conditions, leastTopics: leastTopicsOf(topics ?? []) };
}

const formsOf = (addresses: readonly string[], networkId: number): string[] =>
  addresses.flatMap((text) => {
    const reading = readAddress(text, networkId);
    return reading.kind === "address" ? [reading.address.short, reading.address.verbose] : [];
  });

/** Unlike in geth, a log may lack topics in the last positions, if these accept any topic. */
const leastTopicsOf = (topics: NonNullable<Conditions["topics"]>): number =>
  topics.findLastIndex((position) => position !== null) + 1;
