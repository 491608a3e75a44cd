// Shapes answers like geth: members in its order, quantities without leading zeros.
import type { Block, BlockHeader } from "@ethereumjs/block";
import { RLP } from "@ethereumjs/rlp";
import { isBlob4844Tx, type TypedTransaction } from "@ethereumjs/tx";
import { bytesToBigInt, createAddressFromString, createContractAddress } from "@ethereumjs/util";
import type { RunTxResult } from "@ethereumjs/vm";
import type { ExecutedBlock } from "./execute.ts";

export type Fields = Readonly<Record<string, unknown>>;
export type LogFields = Readonly<{ address: string; topics: readonly string[]; data: string }>;

/** Every lookup's answer about one block, made once. */
export type ShapedBlock = {
  number: number;
  hash: string;
  withHashes: Fields;
  withTransactions: Fields;
  uncles: readonly Fields[];
  transactions: readonly Fields[];
  receipts: readonly Fields[];
  logs: readonly LogFields[];
};

export const quantity = (value: bigint | number): string => `0x${value.toString(16)}`;

/** Logs of this chain have up to 190 kB, for which ethereumjs's own `bytesToHex` takes seconds. */
const hex = (bytes: Uint8Array): string =>
  `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex")}`;

/** The answers about an executed block. */
export function shapeBlock(executed: ExecutedBlock): ShapedBlock {
  const { block } = executed;
  const transactions = block.transactions.map((one, index) => shapeTransaction(one, index, block));
  const receipts = shapeReceipts(executed, transactions);
  return {
    number: Number(block.header.number),
    hash: hex(block.hash()),
    withHashes: shapeBody(
      block,
      transactions.map(({ hash }) => hash),
    ),
    withTransactions: shapeBody(block, transactions),
    uncles: block.uncleHeaders.map(shapeUncle),
    transactions,
    receipts,
    logs: receipts.flatMap(({ logs }) => logs),
  };
}

function shapeBody(block: Block, transactions: readonly unknown[]): Fields {
  return sorted({
    ...shapeHeader(block.header),
    size: quantity(block.serialize().length),
    transactions,
    uncles: block.uncleHeaders.map((uncle) => hex(uncle.hash())),
    ...(block.withdrawals && { withdrawals: block.withdrawals.map((one) => one.toJSON()) }),
  });
}

/** An uncle has no transactions, and geth tells its size as that of a block without any. */
const shapeUncle = (uncle: BlockHeader): Fields =>
  sorted({
    ...shapeHeader(uncle),
    size: quantity(RLP.encode([uncle.raw(), [], []]).length),
    uncles: [],
  });

function shapeHeader(header: BlockHeader): Fields {
  return withoutUndefined({
    baseFeePerGas: optional(header.baseFeePerGas, quantity),
    blobGasUsed: optional(header.blobGasUsed, quantity),
    difficulty: quantity(header.difficulty),
    excessBlobGas: optional(header.excessBlobGas, quantity),
    extraData: hex(header.extraData),
    gasLimit: quantity(header.gasLimit),
    gasUsed: quantity(header.gasUsed),
    hash: hex(header.hash()),
    logsBloom: hex(header.logsBloom),
    miner: header.coinbase.toString(),
    mixHash: hex(header.mixHash),
    nonce: hex(header.nonce),
    number: quantity(header.number),
    parentBeaconBlockRoot: optional(header.parentBeaconBlockRoot, hex),
    parentHash: hex(header.parentHash),
    receiptsRoot: hex(header.receiptTrie),
    requestsHash: optional(header.requestsHash, hex),
    sha3Uncles: hex(header.uncleHash),
    stateRoot: hex(header.stateRoot),
    timestamp: quantity(header.timestamp),
    transactionsRoot: hex(header.transactionsTrie),
    withdrawalsRoot: optional(header.withdrawalsRoot, hex),
  });
}

function shapeTransaction(transaction: TypedTransaction, index: number, block: Block): Fields {
  const { header } = block;
  return withoutUndefined({
    blockHash: hex(block.hash()),
    blockNumber: quantity(header.number),
    blockTimestamp: quantity(header.timestamp),
    from: transaction.getSenderAddress().toString(),
    gas: quantity(transaction.gasLimit),
    gasPrice: quantity(effectiveGasPrice(transaction, header)),
    ...shapeFees(transaction),
    hash: hex(transaction.hash()),
    input: hex(transaction.data),
    nonce: quantity(transaction.nonce),
    to: transaction.to?.toString() ?? null,
    transactionIndex: quantity(index),
    value: quantity(transaction.value),
    type: quantity(transaction.type),
    accessList: transaction.toJSON().accessList,
    chainId: optional(chainIdOf(transaction), quantity),
    ...shapePayload(transaction),
    ...shapeSignature(transaction),
  });
}

const shapeFees = (transaction: TypedTransaction): Fields => ({
  ...("maxFeePerGas" in transaction && {
    maxFeePerGas: quantity(transaction.maxFeePerGas),
    maxPriorityFeePerGas: quantity(transaction.maxPriorityFeePerGas),
  }),
  ...("maxFeePerBlobGas" in transaction && {
    maxFeePerBlobGas: quantity(transaction.maxFeePerBlobGas),
  }),
});

const shapePayload = (transaction: TypedTransaction): Fields => ({
  ...("blobVersionedHashes" in transaction && {
    blobVersionedHashes: transaction.blobVersionedHashes,
  }),
  ...("authorizationList" in transaction && {
    authorizationList: transaction.authorizationList.map(
      ([chainId, address, nonce, yParity, r, s]) => ({
        chainId: quantity(bytesToBigInt(chainId)),
        address: hex(address),
        nonce: quantity(bytesToBigInt(nonce)),
        yParity: quantity(bytesToBigInt(yParity)),
        r: quantity(bytesToBigInt(r)),
        s: quantity(bytesToBigInt(s)),
      }),
    ),
  }),
});

function shapeSignature(transaction: TypedTransaction): Fields {
  const { v = 0n, r = 0n, s = 0n, type } = transaction;
  const signature = { v: quantity(v), r: quantity(r), s: quantity(s) };
  return type === 0 ? signature : { ...signature, yParity: quantity(v) };
}

/** Legacy transactions have their chain id in `v`, and before EIP-155 none. */
function chainIdOf(transaction: TypedTransaction): bigint | undefined {
  if ("chainId" in transaction) return transaction.chainId;
  const { v = 0n } = transaction;
  return v >= 35n ? (v - 35n) / 2n : undefined;
}

function effectiveGasPrice(transaction: TypedTransaction, header: BlockHeader): bigint {
  if (!("maxFeePerGas" in transaction)) return transaction.gasPrice;
  const wished = transaction.maxPriorityFeePerGas + (header.baseFeePerGas ?? 0n);
  return wished < transaction.maxFeePerGas ? wished : transaction.maxFeePerGas;
}

type ReceiptFields = Fields & { logs: readonly LogFields[] };

function shapeReceipts(
  { block, outcomes }: ExecutedBlock,
  transactions: readonly Fields[],
): readonly ReceiptFields[] {
  let firstLogIndex = 0;
  return block.transactions.flatMap((transaction, index) => {
    const fields = transactions[index];
    const outcome = outcomes[index];
    if (!fields || !outcome) return [];
    const logs = shapeLogs(outcome, fields, firstLogIndex);
    firstLogIndex += logs.length;
    return [
      sorted({
        ...shapeReceipt(transaction, outcome, fields),
        ...blobGas(transaction, block),
        logs,
      }),
    ];
  });
}

function shapeReceipt(
  transaction: TypedTransaction,
  { receipt, totalGasSpent }: RunTxResult,
  fields: Fields,
): Fields {
  const { blockHash, blockNumber, transactionIndex, from, to, type } = fields;
  return {
    blockHash,
    blockNumber,
    contractAddress: transaction.to ? null : createdAddress(String(from), transaction.nonce),
    cumulativeGasUsed: quantity(receipt.cumulativeBlockGasUsed),
    effectiveGasPrice: fields["gasPrice"],
    from,
    gasUsed: quantity(totalGasSpent),
    logsBloom: hex(receipt.bitvector),
    ...("stateRoot" in receipt
      ? { root: hex(receipt.stateRoot) }
      : { status: quantity(receipt.status) }),
    to,
    transactionHash: fields["hash"],
    transactionIndex,
    type,
  };
}

const shapeLogs = ({ receipt }: RunTxResult, transaction: Fields, firstLogIndex: number) =>
  receipt.logs.map(([address, topics, data], offset) => ({
    address: hex(address),
    topics: topics.map((topic) => hex(topic)),
    data: hex(data),
    blockNumber: transaction["blockNumber"],
    transactionHash: transaction["hash"],
    transactionIndex: transaction["transactionIndex"],
    blockHash: transaction["blockHash"],
    blockTimestamp: transaction["blockTimestamp"],
    logIndex: quantity(firstLogIndex + offset),
    removed: false,
  }));

function blobGas(transaction: TypedTransaction, { header }: Block): Fields {
  if (!isBlob4844Tx(transaction)) return {};
  const used = header.common.param("blobGasPerBlob") * BigInt(transaction.numBlobs());
  return { blobGasPrice: quantity(header.getBlobGasPrice()), blobGasUsed: quantity(used) };
}

const createdAddress = (from: string, nonce: bigint): string =>
  createContractAddress(createAddressFromString(from), nonce).toString();

const optional = <T>(value: T | undefined, shape: (value: T) => string): string | undefined =>
  value === undefined ? undefined : shape(value);

const withoutUndefined = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** Go writes maps, which geth's blocks and receipts are, in the order of their keys. */
const sorted = <T extends Fields>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1))) as T;
