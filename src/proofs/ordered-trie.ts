// Computes the root of a Merkle Patricia trie that maps rlp(0), rlp(1), … to the items of a list, as in headers for
// transactions, receipts and withdrawals. The trie itself is not kept.
import { keccak256, keccakBytes } from "../evm/keccak.ts";
import { eachInSteps, type Work } from "../lib/turns.ts";
import { RlpWriter } from "./rlp-writer.ts";

/** The hash of the RLP of an empty string: the root of an empty list. */
export const EMPTY_ROOT = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";

/** The root as DATA, computed in steps, since there may be very many items. */
export function* hashTrie(items: readonly Uint8Array[]): Work<string> {
  if (items.length === 0) return EMPTY_ROOT;
  const writer = new RlpWriter();
  yield* writeNode(writer, yield* entriesOf(items), 0);
  // The items are bytes, so nothing in the result can be invalid.
  return keccak256(writer.since(0) ?? EMPTY);
}

type Entry = { readonly path: readonly number[]; readonly value: Uint8Array };

/** The entries in the order of their paths: 1 to 127, then 0 (its RLP is 0x80), then the rest. */
function* entriesOf(items: readonly Uint8Array[]): Work<Entry[]> {
  const entries: Entry[] = [];
  yield* eachInSteps(items, (value, index) => {
    if (index > 0) entries.push({ path: pathOf(index), value });
  });
  const [first] = items;
  if (first) entries.splice(127, 0, { path: pathOf(0), value: first });
  return entries;
}

/** The paths of the first items, which are the same in each block. Most blocks have no more items. */
const knownPaths: (readonly number[] | undefined)[] = [];
const MOST_KNOWN = 1024;

function pathOf(index: number): readonly number[] {
  if (index >= MOST_KNOWN) return madePath(index);
  knownPaths[index] ??= madePath(index);
  return knownPaths[index];
}

function madePath(index: number): number[] {
  if (index === 0) return [8, 0];
  const hex = index.toString(16);
  const nibbles = Array.from(hex.length % 2 === 0 ? hex : `0${hex}`, (digit) =>
    Number.parseInt(digit, 16),
  );
  return index < 0x80 ? nibbles : [8, nibbles.length / 2, ...nibbles];
}

/** Writes the node over `entries`, whose paths agree in the first `depth` nibbles. */
function* writeNode(writer: RlpWriter, entries: readonly Entry[], depth: number): Work<void> {
  const [first] = entries;
  const last = entries.at(-1);
  if (!first || !last) return;
  // The entries are sorted, so all of them share the nibbles that the first and the last share.
  const fork = first.path.findIndex((nibble, index) => nibble !== last.path[index]);
  if (first === last) return writeLeaf(writer, first, depth);
  if (fork === depth) return yield* writeBranch(writer, entries, depth);
  const start = writer.position;
  writer.bytes(compactPath(first.path.slice(depth, fork), EXTENSION));
  const reference = writer.position;
  yield* writeBranch(writer, entries, fork);
  toReference(writer, reference);
  writer.enlist(start);
}

const writeLeaf = (writer: RlpWriter, { path, value }: Entry, depth: number): void =>
  writer.list(() => {
    writer.bytes(compactPath(path.slice(depth), LEAF));
    writer.bytes(value);
  });

function* writeBranch(writer: RlpWriter, entries: readonly Entry[], depth: number): Work<void> {
  const start = writer.position;
  let from = 0;
  for (let nibble = 0; nibble < 16; nibble += 1) {
    let to = from;
    while (entries[to]?.path[depth] === nibble) to += 1;
    const reference = writer.position;
    if (from === to) writer.bytes(EMPTY);
    else {
      yield* writeNode(writer, entries.slice(from, to), depth + 1);
      toReference(writer, reference);
    }
    from = to;
  }
  writer.bytes(EMPTY); // no path ends in a branch, as no RLP is a prefix of another
  writer.enlist(start);
  yield;
}

/** Turns the node written from `start` on into a reference: the node itself if shorter than a hash, else its hash. */
function toReference(writer: RlpWriter, start: number): void {
  if (writer.position - start < 32) return;
  const hash = keccakBytes(writer.since(start) ?? EMPTY);
  writer.rewind(start);
  writer.bytes(hash);
}

const EMPTY = new Uint8Array();
const LEAF = 0x20;
const EXTENSION = 0x00;

/** The path after a prefix with its kind and parity (Yellow Paper, appendix C). */
function compactPath(nibbles: readonly number[], kind: number): Uint8Array {
  const [first = 0, ...others] = nibbles;
  const isOdd = nibbles.length % 2 === 1;
  const rest = isOdd ? others : nibbles;
  const bytes = new Uint8Array(1 + rest.length / 2);
  bytes[0] = isOdd ? kind | 0x10 | first : kind;
  for (let index = 0; index < rest.length; index += 2)
    bytes[1 + index / 2] = ((rest[index] ?? 0) << 4) | (rest[index + 1] ?? 0);
  return bytes;
}
