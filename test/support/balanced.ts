// Whether the balance of a transaction's sender changed by what it sent and paid.
import type { StateDiff } from "../../src/traces/state-diff.ts";

/** True of every transaction whose sender is neither its recipient nor the block's, and gets nothing back. */
export function isBalanced(
  stateDiff: StateDiff,
  { sender, value, fee }: { sender: string; value: bigint; fee: bigint },
): boolean {
  const change = stateDiff[sender.toLowerCase()]?.balance ?? "=";
  if (change === "=") return value + fee === 0n;
  if ("*" in change) return BigInt(change["*"].from) - BigInt(change["*"].to) === value + fee;
  return "-" in change && BigInt(change["-"]) === value + fee;
}
