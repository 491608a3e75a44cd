// Checks transactions, receipts and logs against the roots and the bloom of the header.

import { keccak256 } from "../evm/keccak.ts";
import { eachInSteps, type Work } from "../lib/turns.ts";
import { BlockBloom, hasBitsBeyond } from "./bloom.ts";
import {
  compare,
  differs,
  isAbsent,
  isJson,
  type Json,
  type PartProof,
  proven,
  sameHex,
  shown,
  unproven,
} from "./json.ts";
import { hashTrie } from "./ordered-trie.ts";
import { RlpWriter } from "./rlp-writer.ts";

/** A whole transaction, or its hash alone, which proves nothing. */
export type Transaction = Json | string;

export type BlockLists = {
  readonly block: Json;
  readonly transactions: readonly Transaction[];
  readonly receipts: readonly Json[] | undefined;
};

/** Items checked between two pauses: well under a millisecond's work. */
const STEP = 64;

/** Also reports whether some transaction has a type unknown to Ethereum, or no signature. */
export function* checkTransactions(
  transactions: readonly Transaction[],
  block: Json,
  isForeignHeader: boolean,
): Work<{ partProof: PartProof; hasForeign: boolean }> {
  const writer = new RlpWriter();
  const encoded: Uint8Array[] = [];
  let hasForeign = false;
  for (const [index, transaction] of transactions.entries()) {
    if (index % STEP === STEP - 1) yield;
    if (typeof transaction === "string") continue;
    hasForeign ||= isForeignTransaction(transaction);
    const bytes = encodeTransaction(transaction, writer);
    if (!bytes) continue;
    encoded.push(bytes);
    if (!sameHex(transaction["hash"], keccak256(bytes)))
      return {
        partProof: differs(`transaction ${index} does not have its hash`, isForeignHeader),
        hasForeign,
      };
  }
  const isWhole = encoded.length === transactions.length;
  const partProof = isWhole
    ? compare(block["transactionsRoot"], yield* hashTrie(encoded), isForeignHeader)
    : unproven;
  return { partProof, hasForeign };
}

/** Whether the transaction is of Optimism, Arbitrum, Polygon or another network whose bridge puts it into blocks. */
export const isForeignTransaction = (transaction: Json): boolean =>
  knownType(transaction["type"]) === undefined || !isSigned(transaction);

export function* checkReceipts(
  { block, transactions, receipts }: BlockLists,
  isForeign: boolean,
): Work<PartProof> {
  if (!receipts) return unproven;
  const writer = new RlpWriter();
  const encoded: Uint8Array[] = [];
  for (const [index, receipt] of receipts.entries()) {
    if (index % STEP === STEP - 1) yield;
    const type = knownType(typeOf(receipt, transactions[index]));
    if (type === undefined) return unproven;
    const bytes = yield* encodeReceipt(receipt, type, writer);
    if (!bytes) return differs(`receipt ${index} cannot be encoded`, isForeign);
    encoded.push(bytes);
  }
  return compare(block["receiptsRoot"], yield* hashTrie(encoded), isForeign);
}

/** The receipt's type, or that of its transaction: old nodes write receipts without a type. */
function typeOf({ type }: Json, transaction: Transaction | undefined): unknown {
  if (!isAbsent(type) || typeof transaction === "string") return type;
  return transaction?.["type"];
}

export function* checkBloom(
  block: Json,
  receipts: readonly Json[] | undefined,
  isForeign: boolean,
): Work<PartProof> {
  if (!receipts) return unproven;
  const bloom = new BlockBloom();
  let partProof = proven;
  for (const [index, receipt] of receipts.entries()) {
    if (index % STEP === STEP - 1) yield;
    const computed = yield* bloom.add(receipt["logs"]);
    const one = compareBloom(receipt["logsBloom"], computed, `receipt ${index}`, isForeign);
    if (one.kind === "failed") return one;
    if (one.kind === "unproven") partProof = unproven;
  }
  const whole = compareBloom(block["logsBloom"], bloom.ofBlock(), "block", isForeign);
  return whole.kind === "proven" ? partProof : whole;
}

/** On some networks blooms lack some logs, but no bloom may contain logs that do not exist. */
function compareBloom(
  stated: unknown,
  computed: string,
  owner: string,
  isForeign: boolean,
): PartProof {
  if (sameHex(stated, computed)) return proven;
  const reason = `the bloom of the ${owner} is not that of its logs: ${shown(stated)}`;
  return differs(reason, isForeign && !hasBitsBeyond(stated, computed));
}

// The encoding of a signed transaction that its hash and the transactions root cover.

/** The number of a type whose encoding is known, else undefined. Old nodes leave the type out. */
function knownType(type: unknown): number | undefined {
  if (isAbsent(type)) return 0;
  const known = typeof type === "string" ? typesByText.indexOf(type) : -1;
  return known < 0 ? undefined : known;
}

/** Bridges and rollups put unsigned transactions into blocks, to which the rules here do not apply. */
const isSigned = ({ r, s }: Json): boolean => !(isZero(r) && isZero(s));

/** The bytes that the transaction's hash covers; undefined when its type or a field is not as in Ethereum. */
export function encodeTransaction(transaction: Json, writer: RlpWriter): Uint8Array | undefined {
  const type = knownType(transaction["type"]);
  if (type === undefined || !isSigned(transaction)) return undefined;
  writer.rewind(0);
  if (type > 0) writer.raw(Uint8Array.of(type));
  writer.list(() => writeFields[type]?.(writer, transaction));
  const bytes = writer.since(0);
  return bytes && new Uint8Array(bytes); // `Uint8Array.from` takes four times as long
}

const typesByText = ["0x0", "0x1", "0x2", "0x3", "0x4"];

type Write = (writer: RlpWriter, transaction: Json) => void;

const writeLegacy: Write = (writer, transaction) => {
  writer.quantity(transaction["nonce"]);
  writer.quantity(transaction["gasPrice"]);
  writeCall(writer, transaction);
  writer.quantity(transaction["v"]);
  writer.quantity(transaction["r"]);
  writer.quantity(transaction["s"]);
};

// EIP-2930
const writeWithAccessList: Write = (writer, transaction) => {
  writer.quantity(transaction["chainId"]);
  writer.quantity(transaction["nonce"]);
  writer.quantity(transaction["gasPrice"]);
  writeCall(writer, transaction);
  writeAccessList(writer, transaction["accessList"]);
  writeSignature(writer, transaction);
};

// EIP-1559, and the fields that later types put before the signature
const writeWithFees =
  (writeMore: Write): Write =>
  (writer, transaction) => {
    writer.quantity(transaction["chainId"]);
    writer.quantity(transaction["nonce"]);
    writer.quantity(transaction["maxPriorityFeePerGas"]);
    writer.quantity(transaction["maxFeePerGas"]);
    writeCall(writer, transaction);
    writeAccessList(writer, transaction["accessList"]);
    writeMore(writer, transaction);
    writeSignature(writer, transaction);
  };

// EIP-4844
const writeBlobs: Write = (writer, transaction) => {
  writer.quantity(transaction["maxFeePerBlobGas"]);
  writer.listOf(transaction["blobVersionedHashes"], (hash) => writer.data(hash, 32));
};

// EIP-7702
const writeAuthorizations: Write = (writer, transaction) =>
  writer.listOf(transaction["authorizationList"], (item) => {
    const authorization = isJson(item) ? item : {};
    writer.list(() => {
      writer.quantity(authorization["chainId"]);
      writer.data(authorization["address"], 20);
      writer.quantity(authorization["nonce"]);
      writeSignature(writer, authorization);
    });
  });

const writeFields: readonly Write[] = [
  writeLegacy,
  writeWithAccessList,
  writeWithFees(() => {}),
  writeWithFees(writeBlobs),
  writeWithFees(writeAuthorizations),
];

function writeCall(writer: RlpWriter, { gas, to, value, input, data }: Json): void {
  writer.quantity(gas);
  if (isAbsent(to)) writer.data("0x");
  else writer.data(to, 20);
  writer.quantity(value);
  writer.data(isAbsent(input) ? data : input);
}

const writeAccessList = (writer: RlpWriter, accessList: unknown): void =>
  writer.listOf(accessList, (item) => {
    const { address, storageKeys } = isJson(item) ? item : {};
    writer.list(() => {
      writer.data(address, 20);
      writer.listOf(storageKeys, (key) => writer.data(key, 32));
    });
  });

function writeSignature(writer: RlpWriter, { yParity, v, r, s }: Json): void {
  writer.quantity(isAbsent(yParity) ? v : yParity);
  writer.quantity(r);
  writer.quantity(s);
}

const isZero = (text: unknown): boolean =>
  isAbsent(text) || (typeof text === "string" && text.length <= 66 && /^0x0*$/.test(text));

// The encoding of a receipt that the receipts root covers.

/** @returns undefined when a field cannot be encoded. */
export function* encodeReceipt(
  receipt: Json,
  type: number,
  writer: RlpWriter,
): Work<Uint8Array | undefined> {
  const { logs } = receipt;
  if (!Array.isArray(logs)) return undefined;
  writer.rewind(0);
  if (type > 0) writer.raw(Uint8Array.of(type));
  const start = writer.position;
  writeOutcome(receipt, writer);
  writer.quantity(receipt["cumulativeGasUsed"]);
  writer.data(receipt["logsBloom"], 256);
  const firstLog = writer.position;
  yield* eachInSteps(logs, (log) => writeLog(isJson(log) ? log : {}, writer));
  writer.enlist(firstLog);
  writer.enlist(start);
  const bytes = writer.since(0);
  return bytes && new Uint8Array(bytes); // `Uint8Array.from` takes four times as long
}

/** Before Byzantium the state root after the transaction; since then the status. */
function writeOutcome({ root, status }: Json, writer: RlpWriter): void {
  if (isAbsent(root) || root === "0x") writer.quantity(status);
  else writer.data(root, 32);
}

const writeLog = ({ address, topics, data }: Json, writer: RlpWriter): void =>
  writer.list(() => {
    writer.data(address, 20);
    writer.listOf(topics, (topic) => writer.data(topic, 32));
    writer.data(data);
  });
