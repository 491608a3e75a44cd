// What a call asks of the past, by names that mean the same whatever the newest block is.
import type { ChainView } from "../chain/chain-view.ts";
import { isQuantity, toNumber } from "../evm/values.ts";

type Past = Pick<ChainView, "blockAt" | "blockOf" | "transaction">;

/**
 * Whether the first parameter names a block or a transaction that is stored, or a range of stored blocks: such
 * a call is answered from a store that may be behind its network.
 */
export function isOfThePast(paramsJson: string, past: Past): boolean {
  const [named] = parsed(paramsJson);
  if (typeof named === "string") return isStored(named, past);
  if (typeof named !== "object" || named === null) return false;
  const { blockHash, blockNumber, ...range } = named as Record<string, unknown>;
  const only = blockHash ?? blockNumber;
  if (only !== undefined) return isStored(only, past);
  const { fromBlock, toBlock, fromEpoch = fromBlock, toEpoch = toBlock } = range;
  return isStored(fromEpoch, past) && isStored(toEpoch, past);
}

function isStored(named: unknown, past: Past): boolean {
  if (isHash(named)) return (past.blockOf(named) ?? past.transaction(named)) !== undefined;
  return isQuantity(named) && past.blockAt(toNumber(named)) !== undefined;
}

const isHash = (named: unknown): named is string =>
  typeof named === "string" && /^0x[0-9a-f]{64}$/i.test(named);

/** Whatever it is, the method's own check says what is wrong with it. */
function parsed(paramsJson: string): readonly unknown[] {
  try {
    const params: unknown = JSON.parse(paramsJson);
    return Array.isArray(params) ? params : [];
  } catch {
    return [];
  }
}
