// The chain of Besu's own tests, executed: receipts with state roots, and a block with two uncles.
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type BlockBytes, createBlockFromBytesArray } from "@ethereumjs/block";
import {
  type Common,
  createCommonFromGethGenesis,
  type GethGenesis,
  Hardfork,
  parseGethGenesisState,
} from "@ethereumjs/common";
import { RLP } from "@ethereumjs/rlp";
import type { KZG } from "@ethereumjs/util";
import { createVM, runBlock } from "@ethereumjs/vm";
import { type ExecutedBlock, hashesOf } from "../support/execution-chain/execute.ts";
import { type ShapedBlock, shapeBlock } from "../support/execution-chain/shapes.ts";

const folder = fileURLToPath(new URL("../../../shared/vectors/besu-eth/chain/", import.meta.url));

export const besuChainAvailable = existsSync(`${folder}testBlockchain.blocks`);

/** The last block before London: after it Besu and ethereumjs read different forks from this genesis. */
export const LAST_EXECUTED = 32;

/** All blocks, genesis first; those after LAST_EXECUTED have no receipts. Throws where roots differ. */
export async function executeBesuChain(): Promise<ShapedBlock[]> {
  const genesis = JSON.parse(readFileSync(`${folder}testGenesis.json`, "utf8")) as GethGenesis;
  const common = createCommonFromGethGenesis(genesis, {
    chain: "besu",
    hardfork: Hardfork.Chainstart,
    customCrypto: { kzg: {} as KZG }, // required but never used: blob transactions are only read here
  });
  const blocks: ExecutedBlock[] = [];
  const vm = await createVM({ common, blockchain: hashesOf(blocks) });
  await vm.stateManager.generateCanonicalGenesis?.(parseGethGenesisState(genesis));
  let rest: Uint8Array = readFileSync(`${folder}testBlockchain.blocks`);
  while (rest.length > 0) {
    const { data, remainder } = RLP.decode(rest, true);
    rest = remainder;
    const bytes = data as unknown as BlockBytes;
    common.setHardfork(forkOf(bytes[0].length));
    const block = createBlockFromBytesArray(bytes, blockOptions(common));
    const isExecuted = blocks.length > 0 && blocks.length <= LAST_EXECUTED; // the genesis is in the list, too
    const run = isExecuted ? await runBlock(vm, { block, skipHeaderValidation: true }) : undefined;
    blocks.push({ block, outcomes: run?.results ?? [] });
  }
  return blocks.map(shapeBlock);
}

/** The genesis has proof of work and later forks, which ethereumjs would take for proof of stake. */
const blockOptions = (common: Common) => ({
  common: common.copy(),
  skipConsensusFormatValidation: true,
});

const forkOf = (headerFields: number): Hardfork => {
  if (headerFields <= 15) return Hardfork.Chainstart;
  if (headerFields === 16) return Hardfork.London;
  return headerFields === 17 ? Hardfork.Shanghai : Hardfork.Cancun;
};
