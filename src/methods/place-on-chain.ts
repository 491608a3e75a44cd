// A transaction or receipt that a node gave, held against the followed chain: callers never hear of a
// block that the chain does not have.
import type { ChainView } from "../chain/chain-view.ts";
import { toNumber } from "../evm/values.ts";
import { findMembers, textOf } from "../jsonrpc/members.ts";
import { isNull } from "./block-lookup.ts";
import type { CallContext } from "./method.ts";
import { hasValue } from "./pending.ts";

/**
 * Where the answer says it was mined. "pending": nowhere. "old": below the stored blocks, or nothing
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
