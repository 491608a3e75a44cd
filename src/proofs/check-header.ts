// Checks a header against its hash, and the short lists that the header covers: withdrawals and uncles.

import { keccak256 } from "../evm/keccak.ts";
import { isHash } from "../evm/values.ts";
import { eachInSteps, type Work } from "../lib/turns.ts";
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

/**
 * The state of knowledge about a network's headers. `known`: a header was proven. `unknown`: none was seen yet, so a
 * header with further fields may have an encoding of its own. `foreign`: headers are known to hash differently.
 */
export type HeaderEncoding = "known" | "unknown" | "foreign";

export function checkHeader(block: Json, encoding: HeaderEncoding): PartProof {
  const { hash } = block;
  if (encodingOfHash(block, hash)) return proven;
  const computed = headerHash(block) ?? "no header that can be hashed";
  const mayDiffer = encoding === "foreign" || (encoding === "unknown" && mayBeForeign(block));
  const isForeign = mayDiffer && isHash(hash);
  return differs(`says ${shown(hash)}, is ${computed}`, isForeign);
}

export function* checkWithdrawals(
  { block, withdrawals }: { block: Json; withdrawals: unknown },
  { isForeignHeader, hasForeign }: { isForeignHeader: boolean; hasForeign: boolean },
): Work<PartProof> {
  const { withdrawalsRoot } = block;
  const isEmpty = Array.isArray(withdrawals) && withdrawals.length === 0;
  if (isAbsent(withdrawalsRoot))
    return isEmpty || isAbsent(withdrawals)
      ? proven
      : differs("withdrawals in a block without root", isForeignHeader);
  const computed = yield* withdrawalsRootOf(withdrawals);
  if (computed === undefined) return differs("a root without its withdrawals", isForeignHeader);
  // Optimism's Isthmus fork puts the storage root of its bridge into this field, and has no withdrawals.
  return compare(withdrawalsRoot, computed, isForeignHeader || (hasForeign && isEmpty));
}

export function checkUncles(
  { uncles, sha3Uncles }: Json,
  headers: readonly Json[] | undefined,
  isForeign: boolean,
): PartProof {
  if (!Array.isArray(uncles)) return differs("no list of uncles", isForeign);
  if (uncles.length > 0 && headers === undefined)
    return sameHex(sha3Uncles, NO_UNCLES)
      ? differs("uncles where there are none", isForeign)
      : unproven;
  const computed = unclesHashOf(headers ?? [], uncles);
  if (computed === undefined) return differs("an uncle without its header", isForeign);
  return compare(sha3Uncles, computed, isForeign);
}

/** The keccak hash of the RLP of an empty list. */
const NO_UNCLES = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347";

// The lists that a header covers besides transactions and receipts: withdrawals and uncles.

/** @returns undefined when the value is not a list of withdrawals (EIP-4895). */
function* withdrawalsRootOf(withdrawals: unknown): Work<string | undefined> {
  if (!Array.isArray(withdrawals)) return undefined;
  const encoded: Uint8Array[] = [];
  yield* eachInSteps(withdrawals, (withdrawal: unknown) => {
    const bytes = encodeWithdrawal(withdrawal);
    if (bytes) encoded.push(bytes);
  });
  return encoded.length === withdrawals.length ? yield* hashTrie(encoded) : undefined;
}

function encodeWithdrawal(withdrawal: unknown): Uint8Array | undefined {
  if (!isJson(withdrawal)) return undefined;
  const writer = new RlpWriter();
  writer.list(() => {
    writer.quantity(withdrawal["index"]);
    writer.quantity(withdrawal["validatorIndex"]);
    writer.data(withdrawal["address"], 20);
    writer.quantity(withdrawal["amount"]);
  });
  return writer.since(0);
}

/** @returns undefined unless each header has the hash that the block names. */
function unclesHashOf(headers: readonly Json[], hashes: readonly unknown[]): string | undefined {
  if (headers.length !== hashes.length) return undefined;
  const encoded = headers
    .map((header, index) => {
      const isThatOne = isJson(header) && sameHex(header["hash"], hashes[index]);
      return isThatOne ? encodingOfHash(header, hashes[index]) : undefined;
    })
    .filter((bytes) => bytes !== undefined);
  if (encoded.length !== headers.length) return undefined;
  const writer = new RlpWriter();
  writer.list(() => {
    for (const bytes of encoded) writer.raw(bytes);
  });
  const list = writer.since(0);
  return list && keccak256(list);
}

// The hash of a header, from Frontier to the newest fork, and of headers with unknown fields.

/** The keccak hash of a header's RLP; undefined when the header's fields cannot be encoded. */
export function headerHash(header: Json): string | undefined {
  const bytes = encodeHeader(header, []);
  return bytes && keccak256(bytes);
}

/** The encoding that has the hash: the standard one, or one with unknown fields appended. */
function encodingOfHash(header: Json, hash: unknown): Uint8Array | undefined {
  for (const appended of [[], ...runsOf(unknownMembers(header))]) {
    const bytes = encodeHeader(header, appended);
    if (!bytes) return undefined;
    if (sameHex(keccak256(bytes), hash)) return bytes;
  }
  return undefined;
}

/** Whether the network may hash the header in an unknown way: the header lacks a field, or has further ones. */
const mayBeForeign = (header: Json): boolean =>
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

/** In the order in which forks appended them. */
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

/** Members that are not header fields, and do not affect the hash. */
const derivedMembers = [
  "hash",
  "size",
  "totalDifficulty",
  "transactions",
  "uncles",
  "withdrawals",
  "l1BlockNumber", // Arbitrum: derived from mixHash and extraData
  "sendCount",
  "sendRoot",
  "milliTimestamp", // BNB Smart Chain: derived from mixHash
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
    // Only an odd number of digits shows that a text is a number, which has no leading zeros, and not bytes.
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

/** The hex values of unknown members; only the first six, to limit the attempts. */
const unknownMembers = (header: Json): string[] =>
  Object.entries(header)
    .filter(([name]) => !standardMembers.has(name))
    .map(([, value]) => value)
    .filter((value) => typeof value === "string")
    .filter((value) => value.length < 4096 && /^0x[0-9a-f]*$/i.test(value))
    .slice(0, 6);

/** All runs of neighbours, at most 21, because derived members may stand among new fields. */
const runsOf = (texts: readonly string[]): string[][] =>
  texts.flatMap((_, from) =>
    texts.slice(from).map((_last, index) => texts.slice(from, from + index + 1)),
  );
