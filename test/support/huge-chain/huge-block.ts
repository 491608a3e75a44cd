// Blocks of any number of equal transactions without logs, valid by all their hashes; made with the product's own fast
// encoders: the tests measure only how long such blocks delay others.

import { keccak256 } from "../../../src/evm/keccak.ts";
import { toQuantity } from "../../../src/evm/values.ts";
import { atOnce } from "../../../src/lib/turns.ts";
import { headerHash } from "../../../src/proofs/check-header.ts";
import { encodeReceipt, encodeTransaction } from "../../../src/proofs/encode.ts";
import { RlpWriter } from "../../../src/proofs/rlp-writer.ts";
import { orderedTrieRoot } from "../at-once.ts";

export type MadeBlock = {
  readonly number: number;
  readonly hash: string;
  /** The number of transactions. */
  readonly transactions: number;
  /** The JSON of the block with its transactions, and with their hashes; and of its receipts. */
  readonly whole: Buffer;
  readonly withHashes: Buffer;
  readonly receipts: Buffer;
};

const GAS = 21_000;
const NO_BLOOM = `0x${"00".repeat(256)}`;
const NO_UNCLES = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347";
const FROM = `0x${"aa".repeat(20)}`;
const TO = `0x${"bb".repeat(20)}`;
const SIGNED = {
  ...{ nonce: "0x1", gasPrice: "0x3b9aca00", gas: "0x5208", to: TO, value: "0x1", input: "0x" },
  ...{ v: "0x1b", r: `0x${"12".repeat(32)}`, s: `0x${"34".repeat(32)}`, type: "0x0" },
};

const encoded = (write: (writer: RlpWriter) => Uint8Array | undefined): Uint8Array =>
  Uint8Array.from(write(new RlpWriter()) ?? []);

export function hugeBlock(made: {
  number: number;
  parentHash: string;
  transactions: number;
}): MadeBlock {
  const { parentHash, transactions: count } = made;
  const transaction = encoded((own) => encodeTransaction(SIGNED, own));
  const transactionHash = keccak256(transaction);
  const indexes = Array.from({ length: count }, (_, index) => index);
  const writer = new RlpWriter();
  const outcome = { status: "0x1", logsBloom: NO_BLOOM, logs: [] };
  const receipts = indexes.map((index) => {
    const receipt = { ...outcome, cumulativeGasUsed: toQuantity((index + 1) * GAS) };
    return Uint8Array.from(atOnce(encodeReceipt(receipt, { byte: 0 }, writer)) ?? []);
  });
  const header = {
    ...{ parentHash, sha3Uncles: NO_UNCLES, miner: TO, stateRoot: `0x${"55".repeat(32)}` },
    transactionsRoot: orderedTrieRoot(indexes.map(() => transaction)),
    receiptsRoot: orderedTrieRoot(receipts),
    ...{ logsBloom: NO_BLOOM, difficulty: "0x1", number: toQuantity(made.number) },
    ...{ gasLimit: toQuantity(count * GAS), gasUsed: toQuantity(count * GAS) },
    timestamp: toQuantity(Math.floor(Date.now() / 1000)),
    ...{ extraData: "0x", mixHash: `0x${"00".repeat(32)}`, nonce: "0x0000000000000000" },
  };
  const hash = headerHash(header) ?? "";
  const at = { blockHash: hash, blockNumber: header.number };
  const whole = indexes.map((index) => {
    const position = { ...at, transactionIndex: toQuantity(index) };
    return JSON.stringify({ ...SIGNED, hash: transactionHash, from: FROM, ...position });
  });
  const receiptsJson = indexes.map((index) =>
    JSON.stringify({
      ...{ ...outcome, ...at, transactionHash, transactionIndex: toQuantity(index) },
      ...{ from: FROM, to: TO, contractAddress: null, type: "0x0", gasUsed: toQuantity(GAS) },
      cumulativeGasUsed: toQuantity((index + 1) * GAS),
      effectiveGasPrice: SIGNED.gasPrice,
    }),
  );
  const members = JSON.stringify({ ...header, hash, size: "0x400", uncles: [] }).slice(0, -1);
  const hashes = JSON.stringify(indexes.map(() => transactionHash));
  return {
    ...{ number: made.number, hash, transactions: count },
    whole: Buffer.from(`${members},"transactions":[${whole.join()}]}`),
    withHashes: Buffer.from(`${members},"transactions":${hashes}}`),
    receipts: Buffer.from(`[${receiptsJson.join()}]`),
  };
}
