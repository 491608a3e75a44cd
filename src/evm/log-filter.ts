// What log queries and log filters ask for (specification: log filter object).
import { z } from "zod";
import { errors } from "../jsonrpc/rpc-error.ts";
import { blockNumberOrTag } from "./block-reference.ts";
import { address, hash } from "./values.ts";

/** docs/decisions/0035: how many addresses, and how many alternatives in one topic position. */
const MAX_ALTERNATIVES = 1000;
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
    // As geth: a null among the alternatives makes the whole position match anything.
    z
      .array(hash.nullable())
      .max(MAX_ALTERNATIVES, { error: `want at most ${MAX_ALTERNATIVES} alternatives` }),
  ],
  { error: "want a 32-byte topic, null or an array of topics" },
);

const topics = z
  .array(topic.nullable(), { error: "want an array of topics" })
  .max(MAX_TOPICS, { error: `want at most ${MAX_TOPICS} topics` })
  .describe("By position: a topic, null for any, or an array of alternatives.");

export const logFilter = z
  .looseObject(
    {
      fromBlock: blockNumberOrTag.nullish(),
      toBlock: blockNumberOrTag.nullish(),
      address: addresses.nullish(),
      topics: topics.nullish(),
      blockHash: hash.nullish(),
    },
    { error: "want a log filter object" },
  )
  .meta({ id: "LogFilter", description: "Which logs: of a block range or one block." });

/** Numbers of blocks or epochs, both included. */
export type LogRange = { readonly from: number; readonly to: number };

export type LogFilter = z.infer<typeof logFilter>;

/** Where logs are searched. `from` and `to` may be tags still. */
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

/** The conditions of a filter without its place; what is null is left out. */
export const conditionsOf = ({ address: contracts, topics: positions }: LogFilter) => ({
  ...(contracts ? { address: contracts } : {}),
  ...(positions ? { topics: positions } : {}),
});
