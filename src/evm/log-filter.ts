// A log filter: what log queries and filters ask for (specification: log filter object), which logs match it, the terms
// by which these are found, and one name for all filters that search for the same.
import { z } from "zod";
import { errors } from "../jsonrpc/rpc-error.ts";
import { blockNumberOrTag } from "./block-reference.ts";
import { keccakBytes } from "./keccak.ts";
import { address, hash } from "./values.ts";

/** docs/decisions/0035: how many addresses, and how many alternatives in one topic position. */
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
  .describe("One contract, or any of several.");

const topic = z.union(
  [
    hash,
    // As geth does: a null among the alternatives makes the whole position match anything.
    z
      .array(hash.nullable())
      .max(MAX_ALTERNATIVES, { error: `want at most ${MAX_ALTERNATIVES} alternatives` }),
  ],
  { error: "want a 32-byte topic, null or an array of topics" },
);

/** @param at What may be at a position. */
export const topicsOf = <Topic extends z.ZodType>(at: Topic) =>
  z
    .array(at.nullable(), { error: "want an array of topics" })
    .max(MAX_TOPICS, { error: `want at most ${MAX_TOPICS} topics` })
    .describe("By position: a topic, null for any, or an array of alternatives.");

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
  .meta({ id: "LogFilter", description: "Which logs: of a block range or one block." });

/** Numbers of blocks or epochs, both included. */
export type LogRange = { readonly from: number; readonly to: number };

export type LogFilter = z.infer<typeof logFilter>;

/** Where logs are searched for. `from` and `to` may still be tags. */
export type LogScope =
  | { readonly kind: "block"; readonly blockHash: string }
  | { readonly kind: "range"; readonly from: string; readonly to: string };

/** @throws RpcError when the filter names a block and a range. */
export function scopeOf({ blockHash, fromBlock, toBlock }: LogFilter): LogScope {
  if (!blockHash) return { kind: "range", from: fromBlock ?? "latest", to: toBlock ?? "latest" };
  if (fromBlock || toBlock) {
    throw errors.hashAndRange();
  }
  return { kind: "block", blockHash };
}

/** The conditions of a filter without its range; what is null is left out. */
export const conditionsOf = ({ address: contracts, topics: positions }: LogFilter) => ({
  ...(contracts ? { address: contracts } : {}),
  ...(positions ? { topics: positions } : {}),
});

type Conditions = Pick<LogFilter, "address" | "topics">;

/**
 * The alternatives in lower case. null means anything: for an empty list, or one with a null among the alternatives.
 */
function alternativesOf(
  values: string | readonly (string | null)[] | null | undefined,
): readonly string[] | null {
  const listed = typeof values === "string" ? [values] : (values ?? []);
  if (listed.length === 0 || listed.includes(null)) return null;
  return listed.map((value) => String(value).toLowerCase());
}

/**
 * 32 bytes that are the same for all filters which search for the same. The order and case of alternatives do not
 * count, nor do the ways to say "any". The number of topics does: a log with fewer does not match (as geth).
 */
export function criteriaHash(filter: Conditions): Buffer {
  const criteria = [filter.address, ...(filter.topics ?? [])].map((values) => {
    const alternatives = alternativesOf(values);
    return alternatives && [...new Set(alternatives)].sort();
  });
  const [contracts, ...positions] = criteria;
  return Buffer.from(keccakBytes(Buffer.from(JSON.stringify([contracts, positions]))));
}

/** The part of a log that a term is about: its address, or the topic in one of four positions. */
export type LogField = 0 | 1 | 2 | 3 | 4;
export const ADDRESS: LogField = 0;
export const fieldOfTopic = (position: number): LogField => (position + 1) as LogField;

/** A field that every matching log has, with one of several values. */
type Condition = {
  readonly field: LogField;
  readonly terms: ReadonlySet<number>;
  /** In lower case. */
  readonly values: ReadonlySet<string>;
};

/** A log filter that is prepared for comparing: what each matching log has, and the terms by which to find it. */
export type LogMatcher = {
  readonly conditions: readonly Condition[];
  /** A log with fewer topics does not match, also where a position accepts anything (as geth). */
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
 * 32 bits of a value in its field, by which logs are indexed. Two values may have the same term, so whoever finds a log
 * by it compares the value itself. The case of hex digits does not count.
 */
export function hashTerm(value: string, field: LogField): number {
  return mix(value, 0x811c9dc5 ^ field) >>> 0;
}

/** FNV-1a over the hex digits; `| 0x20` makes letters lower-case and leaves digits what they are. */
function mix(value: string, seed: number): number {
  let state = seed;
  for (let at = 2; at < value.length; at += 1) {
    state = Math.imul(state ^ (value.charCodeAt(at) | 0x20), 0x01000193);
  }
  // FNV's low bits are weak for inputs of equal length, so they are mixed once more.
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  return state ^ (state >>> 13);
}
