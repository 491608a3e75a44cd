// The hash of a header, from Frontier to the newest fork, and of headers with fields not known here.
import { keccak256 } from "../evm/keccak.ts";
import { isAbsent, type Json, sameHex } from "./json.ts";
import { RlpWriter } from "./rlp-writer.ts";

/** keccak of the RLP of a header; undefined when the header's fields cannot be encoded. */
export function headerHash(header: Json): string | undefined {
  const bytes = encodeHeader(header, []);
  return bytes && keccak256(bytes);
}

/** The encoding that has the hash: the standard one, or one with unknown fields at its end. */
export function encodingOfHash(header: Json, hash: unknown): Uint8Array | undefined {
  for (const appended of [[], ...runsOf(unknownMembers(header))]) {
    const bytes = encodeHeader(header, appended);
    if (!bytes) return undefined;
    if (sameHex(keccak256(bytes), hash)) return bytes;
  }
  return undefined;
}

/** Whether the header may be hashed in a way not known here: it lacks a field, or has others. */
export const mayBeForeign = (header: Json): boolean =>
  baseFields.some(([name]) => isAbsent(header[name])) ||
  Object.keys(header).some((name) => !standardMembers.has(name));

type Field = readonly [name: string, bytes: number | "quantity" | "data"];

const baseFields: readonly Field[] = [
  ["parentHash", 32],
  ["sha3Uncles", 32],
  ["miner", 20],
  ["stateRoot", 32],
  ["transactionsRoot", 32],
  ["receiptsRoot", 32],
  ["logsBloom", 256],
  ["difficulty", "quantity"],
  ["number", "quantity"],
  ["gasLimit", "quantity"],
  ["gasUsed", "quantity"],
  ["timestamp", "quantity"],
  ["extraData", "data"],
  ["mixHash", 32],
  ["nonce", 8],
];

/** In the order in which the forks appended them. */
const laterFields: readonly Field[] = [
  ["baseFeePerGas", "quantity"], // EIP-1559
  ["withdrawalsRoot", 32], // EIP-4895
  ["blobGasUsed", "quantity"], // EIP-4844
  ["excessBlobGas", "quantity"],
  ["parentBeaconBlockRoot", 32], // EIP-4788
  ["requestsHash", 32], // EIP-7685
  ["blockAccessListHash", 32], // EIP-7928
  ["slotNumber", "quantity"], // EIP-7843
];

/** Members that are no field of a header, and say nothing about how it is hashed. */
const derivedMembers = [
  "hash",
  "size",
  "totalDifficulty",
  "transactions",
  "uncles",
  "withdrawals",
  "l1BlockNumber", // Arbitrum, out of mixHash and extraData
  "sendCount",
  "sendRoot",
  "milliTimestamp", // BNB Smart Chain, out of mixHash
];

const standardMembers: ReadonlySet<string> = new Set([
  ...[...baseFields, ...laterFields].map(([name]) => name),
  ...derivedMembers,
]);

function encodeHeader(header: Json, appended: readonly string[]): Uint8Array | undefined {
  const writer = new RlpWriter();
  writer.list(() => {
    for (const field of baseFields) writeField(writer, header, field);
    for (const field of laterFields)
      if (!isAbsent(header[field[0]])) writeField(writer, header, field);
    // A number has no leading zeros, so only an odd number of digits tells it from bytes.
    for (const text of appended)
      if (text.length % 2 === 1) writer.quantity(text);
      else writer.data(text);
  });
  return writer.since(0);
}

function writeField(writer: RlpWriter, header: Json, [name, kind]: Field): void {
  const value = header[name];
  if (kind === "quantity") writer.quantity(value);
  else if (kind === "data") writer.data(value);
  else writer.data(value, kind);
}

/** The first few, so that the tries stay few as well. */
const unknownMembers = (header: Json): string[] =>
  Object.entries(header)
    .filter(([name]) => !standardMembers.has(name))
    .map(([, value]) => value)
    .filter((value) => typeof value === "string")
    .filter((value) => value.length < 4096 && /^0x[0-9a-f]*$/i.test(value))
    .slice(0, 6);

/** All that stand next to each other, at most 21: among new fields may be derived ones. */
const runsOf = (texts: readonly string[]): string[][] =>
  texts.flatMap((_, from) =>
    texts.slice(from).map((_last, index) => texts.slice(from, from + index + 1)),
  );
