// The encodings that make a generated block valid: RLP, Keccak, ordered tries and blooms, written apart from the
// product's own so that neither can hide a mistake of the other.
import { RLP } from "@ethereumjs/rlp";
import { createKeccak } from "hash-wasm";

const hasher = await createKeccak(256);

export const keccak = (bytes: Uint8Array): Buffer =>
  Buffer.from(hasher.init().update(bytes).digest("binary"));

export const rlp = (value: unknown): Buffer => Buffer.from(RLP.encode(value as never));

export const bytesOf = (hex: string): Buffer => Buffer.from(hex.slice(2), "hex");
export const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString("hex")}`;

/** A number without leading zero bytes, as RLP requires. */
export function minimal(hex: string): Buffer {
  const digits = hex.slice(2).replace(/^0+/, "");
  return Buffer.from(digits.length % 2 ? `0${digits}` : digits, "hex");
}

type Leaf = { readonly path: readonly number[]; readonly value: Buffer };

/** The root of the trie that has each item under the RLP of its index. */
export function listRoot(items: readonly Buffer[]): string {
  const leaves = items.map((value, index) => ({ path: nibblesOf(rlp(index)), value }));
  return hexOf(keccak(leaves.length === 0 ? rlp("") : nodeOf(leaves, 0)));
}

const nibblesOf = (key: Buffer): number[] => [...key].flatMap((byte) => [byte >> 4, byte & 15]);

/** The RLP of the node that holds these leaves, whose paths agree up to `depth`. */
function nodeOf(leaves: readonly Leaf[], depth: number): Buffer {
  const [first] = leaves;
  if (!first) return rlp("");
  if (leaves.length === 1) return rlp([compact(first.path.slice(depth), true), first.value]);
  let shared = depth;
  while (
    leaves.every(({ path }) => path[shared] !== undefined && path[shared] === first.path[shared])
  )
    shared += 1;
  if (shared > depth) {
    return rlp([
      compact(first.path.slice(depth, shared), false),
      reference(nodeOf(leaves, shared)),
    ]);
  }
  const children = Array.from({ length: 16 }, (_, nibble) => {
    const below = leaves.filter(({ path }) => path[depth] === nibble);
    return below.length === 0 ? Buffer.alloc(0) : reference(nodeOf(below, depth + 1));
  });
  // No RLP of an index is the beginning of another, so no leaf ends in a branch.
  return rlp([...children, Buffer.alloc(0)]);
}

/** A node inside another: itself when it is short, otherwise its hash. */
const reference = (node: Buffer): unknown => (node.length < 32 ? RLP.decode(node) : keccak(node));

function compact(nibbles: readonly number[], isLeaf: boolean): Buffer {
  const flag = (isLeaf ? 2 : 0) + (nibbles.length % 2);
  const all = nibbles.length % 2 ? [flag, ...nibbles] : [flag, 0, ...nibbles];
  const bytes = Buffer.alloc(all.length / 2);
  for (let at = 0; at < bytes.length; at += 1)
    bytes[at] = ((all[2 * at] ?? 0) << 4) | (all[2 * at + 1] ?? 0);
  return bytes;
}

const bloomBits = new Map<string, readonly number[]>();

/** Sets the three bits of a value. */
export function addToBloom(bloom: Buffer, value: string): void {
  let bits = bloomBits.get(value);
  if (!bits) {
    const hash = keccak(bytesOf(value));
    bits = [0, 2, 4].map((at) => hash.readUInt16BE(at) & 2047);
    if (bloomBits.size < 100_000) bloomBits.set(value, bits);
  }
  for (const bit of bits) {
    const at = 255 - (bit >> 3);
    bloom[at] = (bloom[at] ?? 0) | (1 << (bit & 7));
  }
}
