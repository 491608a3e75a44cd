// Encodes transactions and receipts as the transactions root and the receipts root cover them.

import type { BlockRules } from "../evm/chains/block-rules.ts";
import type { Field, TransactionForm } from "../evm/chains/encoding.ts";
import { keccak256 } from "../evm/keccak.ts";
import { eachInSteps, type Work } from "../lib/turns.ts";
import { isAbsent, isJson, type Json, sameHex } from "./json.ts";
import { RlpWriter } from "./rlp-writer.ts";
import { memberOf, writeAccessList, writeFields } from "./write-fields.ts";

/** The number of one of Ethereum's types, else undefined. Old nodes leave the type out. */
export function ethereumType(type: unknown): number | undefined {
  if (isAbsent(type)) return 0;
  const known = typeof type === "string" ? typesByText.indexOf(type) : -1;
  return known < 0 ? undefined : known;
}

const typesByText = ["0x0", "0x1", "0x2", "0x3", "0x4"];

/** Bridges and rollups put unsigned transactions into blocks. */
export const isSigned = ({ r, s }: Json): boolean => !(isZero(r) && isZero(s));

const isZero = (text: unknown): boolean =>
  isAbsent(text) || (typeof text === "string" && text.length <= 66 && /^0x0*$/.test(text));

/** The bytes that the transaction's hash covers; undefined when its type or a field is not as in Ethereum. */
export function encodeTransaction(transaction: Json, writer: RlpWriter): Uint8Array | undefined {
  const type = ethereumType(transaction["type"]);
  if (type === undefined) return undefined;
  writer.rewind(0);
  if (type > 0) writer.raw(Uint8Array.of(type));
  writer.list(() => writeByType[type]?.(writer, transaction));
  const bytes = writer.since(0);
  return bytes && new Uint8Array(bytes); // `Uint8Array.from` takes four times as long
}

/** The bytes that have the transaction's hash by one of the chain's own forms; undefined when none has it. */
export function encodeByForms(
  transaction: Json,
  { transactions }: Pick<BlockRules, "transactions">,
  writer: RlpWriter,
): Uint8Array | undefined {
  const { hash } = transaction;
  for (const form of formsOf(transaction, transactions)) {
    const bytes = encodeByForm(transaction, form, writer);
    if (bytes && sameHex(keccak256(bytes), hash)) return bytes;
  }
  return undefined;
}

/** Whether the transaction has what one of the chain's own forms of its type needs. */
export const canBeEncoded = (
  transaction: Json,
  { transactions }: Pick<BlockRules, "transactions">,
): boolean => {
  const writer = new RlpWriter();
  return formsOf(transaction, transactions).some(
    (form) => encodeByForm(transaction, form, writer) !== undefined,
  );
};

/** The forms of the transaction's type that the chain has besides Ethereum's. */
export const formsOf = (
  { type }: Json,
  transactions: BlockRules["transactions"],
): readonly TransactionForm[] => {
  const name = nameOfType(type);
  return Object.hasOwn(transactions, name) ? (transactions[name] ?? []) : [];
};

function encodeByForm(
  transaction: Json,
  { fields, hasTypeByte = true }: TransactionForm,
  writer: RlpWriter,
): Uint8Array | undefined {
  const type = typeByteOf(transaction["type"]);
  if (hasTypeByte && type === undefined) return undefined;
  writer.rewind(0);
  if (hasTypeByte) writer.raw(Uint8Array.of(type ?? 0));
  writer.list(() => writeFields(writer, transaction, fields));
  const bytes = writer.since(0);
  return bytes && new Uint8Array(bytes);
}

/** The text of a type as the rules name it; an empty text is no type. */
export function nameOfType(type: unknown): string {
  if (isAbsent(type)) return "0x0";
  return typeof type === "string" ? type : "";
}

/** The number of a type (EIP-2718); undefined when the value is none. */
export function typeByteOf(type: unknown): number | undefined {
  if (isAbsent(type)) return 0;
  return typeof type === "string" && /^0x[0-7]?[0-9a-f]$/.test(type) ? Number(type) : undefined;
}

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

// EIP-7702. Substrate's Frontier writes the chain id as a number, and the signature as an object.
const writeAuthorizations: Write = (writer, transaction) =>
  writer.listOf(transaction["authorizationList"], (item) => {
    const authorization = isJson(item) ? item : {};
    const { signature } = authorization;
    writer.list(() => {
      writeFields(writer, authorization, authorizationFields);
      if (isJson(signature)) writeFields(writer, signature, nestedSignature);
      else writeSignature(writer, authorization);
    });
  });

const authorizationFields: readonly Field[] = [
  ["chainId|chain_id", "step"],
  ["address", 20],
  ["nonce", "quantity"],
];
const nestedSignature: readonly Field[] = [
  ["odd_y_parity", "flag"],
  ["r", "quantity"],
  ["s", "quantity"],
];

const writeByType: readonly Write[] = [
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

function writeSignature(writer: RlpWriter, { yParity, v, r, s }: Json): void {
  writer.quantity(isAbsent(yParity) ? v : yParity);
  writer.quantity(r);
  writer.quantity(s);
}

/**
 * @param type.more The fields that the type has behind the logs; they are written if the receipt has the last of them.
 * @returns undefined when a field cannot be encoded.
 */
export function* encodeReceipt(
  receipt: Json,
  { byte, more = [] }: { readonly byte: number; readonly more?: readonly Field[] | undefined },
  writer: RlpWriter,
): Work<Uint8Array | undefined> {
  const { logs } = receipt;
  if (!Array.isArray(logs)) return undefined;
  writer.rewind(0);
  if (byte > 0) writer.raw(Uint8Array.of(byte));
  const start = writer.position;
  writeOutcome(receipt, writer);
  writer.quantity(receipt["cumulativeGasUsed"]);
  writer.data(receipt["logsBloom"], 256);
  const firstLog = writer.position;
  yield* eachInSteps(logs, (log) => writeLog(isJson(log) ? log : {}, writer));
  writer.enlist(firstLog);
  const last = more.at(-1);
  if (last && !isAbsent(memberOf(receipt, last[0]))) writeFields(writer, receipt, more);
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
