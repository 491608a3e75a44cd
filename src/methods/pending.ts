// Whether what a node gives is on the chain. What is not there yet has no position, whatever the node says
// (specification: states).
import type { ChainView } from "../chain/chain-view.ts";
import { toNumber } from "../evm/values.ts";
import { findMembers, type Span, textOf } from "../jsonrpc/members.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { isNull } from "./block-lookup.ts";
import type { CallContext, NetworkFacts } from "./method.ts";

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

/**
 * Where a node's transaction or receipt says it was mined, held against the followed chain: callers never hear of
 * a block that the chain does not have. "pending": nowhere. "old": below the stored blocks, or nothing
 * is followed, or it is null. Else the chain, which has that number by now if it gets there at all:
 * it is the chain that tells.
 */
export async function placeOnChain(
  result: Buffer,
  { chain, signal }: Pick<CallContext, "chain" | "signal">,
): Promise<"pending" | "old" | ChainView> {
  if (!chain || isNull(result)) return "old";
  const [blockHash, blockNumber] = findMembers(result, ["blockHash", "blockNumber"]) ?? [];
  if (!blockNumber || !hasValue(result, blockHash) || !hasValue(result, blockNumber))
    return "pending";
  const number = toNumber(textOf(result, blockNumber).slice(1, -1));
  return number < chain.tail ? "old" : chain.reach(number, signal);
}
