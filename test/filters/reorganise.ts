// Reorgs of anvil that make blocks different from all earlier ones.
import { read } from "../support/ask.ts";

let branches = 0;

/**
 * Replaces the last blocks. Each branch has its own miner: at the lowest base fee anvil would otherwise make the very block
 * again that it dropped before, with the same parent and time. Such a block would be canonical twice, and filters would
 * rightly tell it twice.
 */
export async function reorganise(nodeUrl: string, depth: number): Promise<void> {
  branches += 1;
  await read(nodeUrl, "anvil_setCoinbase", `0x${branches.toString(16).padStart(40, "0")}`);
  await read(nodeUrl, "anvil_reorg", depth, []);
}
