// Whether the balance of a transaction's sender fell by exactly its value and fee.
import type { StateDiff } from "../../src/traces/state-diff.ts";

/** True of every transaction whose sender is neither its recipient nor the block's beneficiary, and gets no refund. */
export function isBalanced(
  stateDiff: StateDiff,
  { sender, value, fee }: { sender: string; value: bigint; fee: bigint },
): boolean {
  const change = stateDiff[sender.toLowerCase()]?.balance ?? "=";
  if (change === "=") return value + fee === 0n;
  if ("*" in change) return BigInt(change["*"].from) - BigInt(change["*"].to) === value + fee;
  return "-" in change && BigInt(change["-"]) === value + fee;
}
