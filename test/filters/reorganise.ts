// Reorganisations of anvil that make other blocks than any before.
import { read } from "../support/ask.ts";

let branches = 0;

/**
 * Other blocks take the place of the last ones. Each branch has a miner of its own: once the base fee is as
 * low as it gets, anvil makes the very block again that it dropped before, parent, time and all. Such a
 * block is canonical twice, and is rightly told twice.
 */
export async function reorganise(nodeUrl: string, depth: number): Promise<void> {
  branches += 1;
  await read(nodeUrl, "anvil_setCoinbase", `0x${branches.toString(16).padStart(40, "0")}`);
  await read(nodeUrl, "anvil_reorg", depth, []);
}
