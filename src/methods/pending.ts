// Decides whether a block or transaction that a node gives is on the chain. A pending one has no position, whatever the
// node says (specification: states).
import type { ChainView } from "../chain/chain-view.ts";
import { toNumber } from "../evm/values.ts";
import { findMembers, type Span, textOf } from "../jsonrpc/members.ts";
import { isNull, type RawJson } from "../jsonrpc/raw-json.ts";
import type { CallContext, NetworkFacts } from "./method.ts";

const noPosition = { blockHash: null, blockNumber: null, transactionIndex: null };

/**
 * The pending block with null as number, hash, nonce and logsBloom, and without the positions of its transactions.
 * @param shown `node` keeps the node's number and logsBloom, for clients that accept no null there.
 */
export function asPendingBlock(
  result: Buffer,
  shown: NetworkFacts["pending"] = "specified",
): RawJson {
  if (isNull(result)) return result;
  const block: Record<string, unknown> = JSON.parse(result.toString("utf8"));
  const { transactions } = block;
  return JSON.stringify({
    ...block,
    ...(shown === "node" ? {} : { number: null, logsBloom: null }),
    hash: null,
    nonce: null,
    ...(Array.isArray(transactions) ? { transactions: transactions.map(withoutPosition) } : {}),
  });
}

const withoutPosition = (transaction: unknown): unknown =>
  typeof transaction === "object" && transaction !== null
    ? { ...transaction, ...noPosition }
    : transaction;

/** The node's transaction, without any position when it is pending, or lacks the hash or number of its block. */
export function withWholePosition(result: Buffer, isPending = false): RawJson {
  if (isNull(result)) return result;
  const spans = findMembers(result, ["blockHash", "blockNumber", "transactionIndex"]) ?? [];
  const [blockHash, blockNumber] = spans;
  const isMined = !isPending && hasValue(result, blockHash) && hasValue(result, blockNumber);
  const hasNoPosition = spans.every((span) => span && !hasValue(result, span));
  if (isMined || hasNoPosition) return result;
  return JSON.stringify(withoutPosition(JSON.parse(result.toString("utf8"))));
}

/** Some nodes give a pending transaction a receipt without a block. */
export function nullWhenPending(result: Buffer): RawJson {
  if (isNull(result)) return result;
  const [blockHash] = findMembers(result, ["blockHash"]) ?? [];
  return hasValue(result, blockHash) ? result : "null";
}

/** Whether the member exists and is not null. */
export const hasValue = (json: Buffer, span: Span | undefined): boolean =>
  span !== undefined && json[span.start] !== 0x6e; // 0x6e is the n of null

/**
 * Waits for the followed chain to reach the block that a node's transaction or receipt names, since callers never hear
 * of a block that the chain does not have.
 * @returns The chain; "pending" when the result names no block; "old" when its block is older than the stored ones, when
 * no chain is followed, or when the result is null.
 */
export async function chainReaching(
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
