// The encoding of a signed transaction, as its hash and the transactions root cover it.
import { isAbsent, isJson, type Json } from "./json.ts";
import type { RlpWriter } from "./rlp-writer.ts";

/** The number of the type when its encoding is known, else undefined; nodes of old leave it out. */
export function knownType(type: unknown): number | undefined {
  if (isAbsent(type)) return 0;
  const known = typeof type === "string" ? typesByText.indexOf(type) : -1;
  return known < 0 ? undefined : known;
}

/** Bridges and rollups put transactions into blocks that nobody signed; no rule here is about them. */
export const isSigned = ({ r, s }: Json): boolean => !(isZero(r) && isZero(s));

/** Undefined when the type or a field is not as in Ethereum. */
export function encodeTransaction(transaction: Json, writer: RlpWriter): Uint8Array | undefined {
  const type = knownType(transaction["type"]);
  if (type === undefined || !isSigned(transaction)) return undefined;
  writer.rewind(0);
  if (type > 0) writer.raw(Uint8Array.of(type));
  writer.list(() => writeFields[type]?.(writer, transaction));
  const bytes = writer.since(0);
  return bytes && Uint8Array.from(bytes);
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

// EIP-1559, and what later types put before the signature
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
