// The chains of the vectors, executed transaction by transaction, with the changes of each.
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  type Block,
  type BlockBytes,
  createBlock,
  createBlockFromBytesArray,
} from "@ethereumjs/block";
import {
  createCustomCommon,
  type GethGenesis,
  Hardfork,
  Mainnet,
  parseGethGenesisState,
} from "@ethereumjs/common";
import { RLP } from "@ethereumjs/rlp";
import { createLegacyTx } from "@ethereumjs/tx";
import { createZeroAddress, type KZG } from "@ethereumjs/util";
import { createVM, runBlock, runTx, type VM } from "@ethereumjs/vm";
import { executeChain, hashesOf } from "../support/execution-chain/execute.ts";
import { type Recorded, recordTransactions } from "./state-recorder.ts";

export const vectorFolder = fileURLToPath(new URL("../../../shared/vectors/", import.meta.url));

export const besuTraceAvailable = existsSync(`${vectorFolder}besu-trace/chain-data/blocks.json`);
export const gethDebugAvailable = existsSync(
  `${vectorFolder}besu-debug-geth/chain-data/blocks.bin`,
);

export type RecordedBlock = { number: number; transactions: readonly Recorded[] };

/** Besu's recipe: its transactions signed anew, under the rules of Istanbul. */
export async function recordBesuTraceChain(): Promise<RecordedBlock[]> {
  const { vm, common } = await vmOf("besu-trace", Hardfork.Istanbul);
  const { blocks } = readJson("besu-trace/chain-data/blocks.json") as { blocks: readonly Recipe[] };
  const recorded = recordTransactions(vm);
  const nonces = new Map<string, bigint>();
  const numbered: RecordedBlock[] = [];
  for (const { number, transactions } of blocks) {
    const start = recorded.length;
    const block = createBlock(
      { header: { number: BigInt(number), gasLimit: 0x100000000000n, difficulty: 15n } },
      { common, skipConsensusFormatValidation: true },
    );
    for (const { secretKey, to, data = "0x", value = "0x0", gasLimit, gasPrice } of transactions) {
      const nonce = nonces.get(secretKey) ?? 0n;
      nonces.set(secretKey, nonce + 1n);
      const unsigned = createLegacyTx(
        { nonce, gasLimit, gasPrice, value, data: prefixed(data), ...(to && { to: prefixed(to) }) },
        { common },
      );
      const tx = unsigned.sign(Buffer.from(secretKey.slice(2), "hex"));
      await runTx(vm, { tx, block, skipBlockGasLimitValidation: true });
    }
    await rewardMiner(vm);
    numbered.push({ number: Number(number), transactions: recorded.slice(start) });
  }
  return numbered;
}

type Recipe = {
  readonly number: number | string;
  readonly transactions: readonly {
    readonly secretKey: string;
    readonly gasLimit: `0x${string}`;
    readonly gasPrice: `0x${string}`;
    readonly to?: string;
    readonly data?: string;
    readonly value?: `0x${string}`;
  }[];
};

/** Records the chain that Besu's authors ran in geth. */
export async function recordGethDebugChain(): Promise<RecordedBlock[]> {
  const { vm, common } = await vmOf("besu-debug-geth", Hardfork.Prague);
  const recorded = recordTransactions(vm);
  const numbered: RecordedBlock[] = [];
  for (const block of gethDebugBlocks(common)) {
    const start = recorded.length;
    if (block.header.number > 0n) await runBlock(vm, { block, skipHeaderValidation: true });
    numbered.push({ number: Number(block.header.number), transactions: recorded.slice(start) });
  }
  return numbered;
}

export function* gethDebugBlocks(common: VM["common"]): Generator<Block> {
  let rest: Uint8Array = readFileSync(`${vectorFolder}besu-debug-geth/chain-data/blocks.bin`);
  while (rest.length > 0) {
    const { data, remainder } = RLP.decode(rest, true);
    rest = remainder;
    yield createBlockFromBytesArray(data as unknown as BlockBytes, { common });
  }
}

/** Records the chain of execution-apis in a second run; the first one leaves every block's state in the trie. */
export async function recordExecutionChain(): Promise<RecordedBlock[]> {
  const { vm, blocks } = await executeChain();
  const recorded = recordTransactions(vm);
  const numbered: RecordedBlock[] = [];
  for (const [number, { block }] of blocks.entries()) {
    const root = blocks[number - 1]?.block.header.stateRoot;
    const start = recorded.length;
    if (root) await runBlock(vm, { block, root, skipHeaderValidation: true });
    numbered.push({ number, transactions: recorded.slice(start) });
  }
  return numbered;
}

/** An EVM with the state before the first block. */
export async function vmOf(folder: string, hardfork: Hardfork) {
  const genesis = readJson(`${folder}/chain-data/genesis.json`) as GethGenesis;
  const common = createCustomCommon({ chainId: 1982 }, Mainnet, {
    hardfork,
    customCrypto: { kzg: {} as KZG }, // required but never used
  });
  const vm = await createVM({ common, blockchain: hashesOf([]) });
  await vm.stateManager.generateCanonicalGenesis?.(parseGethGenesisState(genesis));
  return { vm, common };
}

/** The block reward: two ether since Constantinople, to the zero address. */
async function rewardMiner({ stateManager }: VM): Promise<void> {
  const account = await stateManager.getAccount(createZeroAddress());
  const balance = (account?.balance ?? 0n) + 2n * 10n ** 18n;
  await stateManager.modifyAccountFields(createZeroAddress(), { balance });
}

export const readJson = (path: string): unknown =>
  JSON.parse(readFileSync(`${vectorFolder}${path}`, "utf8"));

const prefixed = (hex: string): `0x${string}` => `0x${hex.replace(/^0x/, "")}`;
