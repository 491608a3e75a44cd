// Computes a signed transaction's hash from its bytes: the hash is then known even if sending fails.
import { keccak256 } from "./keccak.ts";

export type SignedHash = {
  readonly hash: string;
  /** false: only some network knows the transaction type, and may hash it differently. */
  readonly isCertain: boolean;
};

/** @param data The signed transaction, as DATA. For malformed bytes the hash is meaningless. */
export function hashOfSigned(data: string): SignedHash {
  const bytes = Buffer.from(data.slice(2), "hex");
  const [first = 0] = bytes;
  const hashed = first === BLOB_TYPE ? withoutBlobs(bytes) : bytes;
  return { hash: keccak256(hashed), isCertain: first >= LIST || STANDARD_TYPES.has(first) };
}

/** EIP-2930, 1559, 4844, 7702. A legacy transaction, without a type, begins with an RLP list prefix. */
const STANDARD_TYPES: ReadonlySet<number> = new Set([1, 2, 3, 4]);
const BLOB_TYPE = 3;

const SHORT = 0x80;
const LIST = 0xc0;

/**
 * EIP-4844 and EIP-7594: a transaction is sent in a list with its blobs and their proofs, but its hash covers only the
 * transaction. A transaction without blobs is recognised by its first item, the chain id, which is not a list.
 */
function withoutBlobs(bytes: Buffer): Buffer {
  const envelope = itemAt(bytes, 1);
  if (!envelope?.isList) return bytes;
  const transaction = itemAt(bytes, envelope.start);
  if (!transaction?.isList) return bytes;
  return Buffer.concat([bytes.subarray(0, 1), bytes.subarray(envelope.start, transaction.end)]);
}

type Item = {
  readonly isList: boolean;
  /** The offset of the item's content. */
  readonly start: number;
  readonly end: number;
};

/** The bounds of the RLP item at an offset; undefined when the item ends beyond the bytes. */
function itemAt(bytes: Buffer, position: number): Item | undefined {
  const first = bytes[position];
  if (first === undefined) return undefined;
  if (first < SHORT) return { isList: false, start: position, end: position + 1 };
  const isList = first >= LIST;
  const size = first - (isList ? LIST : SHORT);
  const digits = Math.max(0, size - 55); // bytes of the length field
  const start = position + 1 + digits;
  // No transaction is long enough for a length field of more than six bytes.
  if (digits > 6 || start > bytes.length) return undefined;
  const length = digits === 0 ? size : bytes.readUIntBE(position + 1, digits);
  const end = start + length;
  return end <= bytes.length ? { isList, start, end } : undefined;
}
