// A log filter: its schema (specification: log filter object), the logs that match it, the index terms that find those
// logs, and one hash for all filters with the same criteria.
import { z } from "zod";
import { errors } from "../jsonrpc/rpc-error.ts";
import { blockNumberOrTag } from "./block-reference.ts";
import { keccakBytes } from "./keccak.ts";
import { address, hash } from "./values.ts";

/** The most addresses, and the most alternatives in one topic position (docs/decisions/0035). */
export const MAX_ALTERNATIVES = 1000;
const MAX_TOPICS = 4;

const addresses = z
  .union(
    [
      address,
      z
        .array(address)
        .max(MAX_ALTERNATIVES, { error: `want at most ${MAX_ALTERNATIVES} addresses` }),
    ],
    { error: "want an address or an array of addresses" },
  )
  .describe("The address of a contract, or an array of alternatives.");

const topic = z.union(
  [
    hash,
    // As in geth, a null among the alternatives makes the position match any topic.
    z
      .array(hash.nullable())
      .max(MAX_ALTERNATIVES, { error: `want at most ${MAX_ALTERNATIVES} alternatives` }),
  ],
  { error: "want a 32-byte topic, null or an array of topics" },
);

/** @param at The schema of one position. */
export const topicsOf = <Topic extends z.ZodType>(at: Topic) =>
  z
    .array(at.nullable(), { error: "want an array of topics" })
    .max(MAX_TOPICS, { error: `want at most ${MAX_TOPICS} topics` })
    .describe("For each position a topic, null for any topic, or an array of alternatives.");

export const logFilter = z
  .looseObject(
    {
      fromBlock: blockNumberOrTag.nullish(),
      toBlock: blockNumberOrTag.nullish(),
      address: addresses.nullish(),
      topics: topicsOf(topic).nullish(),
      blockHash: hash.nullish(),
    },
    { error: "want a log filter object" },
  )
  .meta({
    id: "LogFilter",
    description: "The conditions on logs, and the range of blocks or the one block.",
  });

/** Numbers of blocks or epochs, both inclusive. */
export type LogRange = { readonly from: number; readonly to: number };

export type LogFilter = z.infer<typeof logFilter>;

/** The blocks in which to search. `from` and `to` may still be tags. */
export type LogScope =
  | { readonly kind: "block"; readonly blockHash: string }
  | { readonly kind: "range"; readonly from: string; readonly to: string };

/** @throws RpcError when the filter has both a block hash and a range. */
export function scopeOf({ blockHash, fromBlock, toBlock }: LogFilter): LogScope {
  if (!blockHash) return { kind: "range", from: fromBlock ?? "latest", to: toBlock ?? "latest" };
  if (fromBlock || toBlock) {
    throw errors.hashAndRange();
  }
  return { kind: "block", blockHash };
}

/** A filter's conditions without its range; null members are left out. */
export const conditionsOf = ({ address: contracts, topics: positions }: LogFilter) => ({
  ...(contracts ? { address: contracts } : {}),
  ...(positions ? { topics: positions } : {}),
});

type Conditions = Pick<LogFilter, "address" | "topics">;

/** The alternatives in lower case. null means any value: the list is empty, or contains a null. */
function alternativesOf(
  values: string | readonly (string | null)[] | null | undefined,
): readonly string[] | null {
  const listed = typeof values === "string" ? [values] : (values ?? []);
  if (listed.length === 0 || listed.includes(null)) return null;
  return listed.map((value) => String(value).toLowerCase());
}

/**
 * 32 bytes that are equal for all filters with the same criteria. The order and case of alternatives, and the ways to
 * accept any value, do not count. The number of topics does: a log with fewer topics does not match (as in geth).
 */
export function criteriaHash(filter: Conditions): Buffer {
  const criteria = [filter.address, ...(filter.topics ?? [])].map((values) => {
    const alternatives = alternativesOf(values);
    return alternatives && [...new Set(alternatives)].sort();
  });
  const [contracts, ...positions] = criteria;
  return Buffer.from(keccakBytes(Buffer.from(JSON.stringify([contracts, positions]))));
}

/** The part of a log that a term is about: the address, or the topic in one of four positions. */
export type LogField = 0 | 1 | 2 | 3 | 4;
export const ADDRESS: LogField = 0;
export const fieldOfTopic = (position: number): LogField => (position + 1) as LogField;

/** A field in which every matching log has one of several values. */
type Condition = {
  readonly field: LogField;
  readonly terms: ReadonlySet<number>;
  /** In lower case. */
  readonly values: ReadonlySet<string>;
};

/** A log filter prepared for matching: the conditions on each log, with the index terms that find the logs. */
export type LogMatcher = {
  readonly conditions: readonly Condition[];
  /** A log with fewer topics does not match, even if the filter accepts any topic in these positions (as in geth). */
  readonly leastTopics: number;
};

export function matcherOf(filter: Conditions): LogMatcher {
  const { address: contracts, topics = [] } = filter;
  const conditions = [contracts, ...(topics ?? [])].flatMap((wanted, field) => {
    const values = alternativesOf(wanted);
    return values ? [conditionOf(field as LogField, values)] : [];
  });
  return { conditions, leastTopics: topics?.length ?? 0 };
}

/** @param values In lower case. */
export const conditionOf = (field: LogField, values: readonly string[]): Condition => ({
  field,
  terms: new Set(values.map((value) => hashTerm(value, field))),
  values: new Set(values),
});

/**
 * A 32-bit hash of a value and its field, by which logs are indexed. Two values may have the same term, so a search
 * must also compare the values. The case of hex digits does not count.
 */
export function hashTerm(value: string, field: LogField): number {
  // FNV-1a over the hex digits; `| 0x20` lowers the case of letters, and leaves digits unchanged.
  let state = 0x811c9dc5 ^ field;
  for (let at = 2; at < value.length; at += 1) {
    state = Math.imul(state ^ (value.charCodeAt(at) | 0x20), 0x01000193);
  }
  // FNV's low bits are weak for inputs of equal length, so another mixing step follows.
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  return (state ^ (state >>> 13)) >>> 0;
}
