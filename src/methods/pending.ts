// What is not on the chain yet has no place there, whatever the node says (specification: states).

import { findMembers, type Span } from "../jsonrpc/members.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { isNull } from "./block-lookup.ts";
import type { NetworkFacts } from "./method.ts";

type Members = Record<string, unknown>;

const noPlace = { blockHash: null, blockNumber: null, transactionIndex: null };

/**
 * A pending block: null number, hash, nonce and logsBloom, and no place for its transactions.
 *
 * @param told `node`: number and logsBloom are what the node says, for clients that take no null there.
 */
export function asPendingBlock(
  result: Buffer,
  told: NetworkFacts["pending"] = "specified",
): RawJson {
  if (isNull(result)) return result;
  const block: Members = JSON.parse(result.toString("utf8"));
  const { transactions } = block;
  return JSON.stringify({
    ...block,
    ...(told === "node" ? {} : { number: null, logsBloom: null }),
    hash: null,
    nonce: null,
    ...(Array.isArray(transactions) ? { transactions: transactions.map(withoutPlace) } : {}),
  });
}

const withoutPlace = (transaction: unknown): unknown =>
  typeof transaction === "object" && transaction !== null
    ? { ...transaction, ...noPlace }
    : transaction;

/** A transaction as it came, but with no place at all when a part of its place is missing. */
export function withWholePlace(result: Buffer, isPending = false): RawJson {
  if (isNull(result)) return result;
  const place = findMembers(result, ["blockHash", "blockNumber", "transactionIndex"]) ?? [];
  const [blockHash, blockNumber] = place;
  const isMined = !isPending && hasValue(result, blockHash) && hasValue(result, blockNumber);
  const isPlaceless = place.every((span) => span && !hasValue(result, span));
  if (isMined || isPlaceless) return result;
  return JSON.stringify(withoutPlace(JSON.parse(result.toString("utf8"))));
}

/** Whether the member is there and not null. */
export const hasValue = (json: Buffer, span: Span | undefined): boolean =>
  span !== undefined && json[span.start] !== 0x6e; // the n of null
