// Which blocks of a segment have a term: a short list of places, or a bitmap when they are many.

/** The log index is kept in segments of so many blocks, beginning at its multiples. */
export const SEGMENT_BLOCKS = 4096;

export const segmentOf = (number: number): number => Math.floor(number / SEGMENT_BLOCKS);

const BITMAP_BYTES = SEGMENT_BLOCKS / 8;
const BITMAP_WORDS = SEGMENT_BLOCKS / 32;
/** Up to here a list of 16-bit numbers is shorter. It is never as long as a bitmap. */
const LONGEST_LIST = BITMAP_BYTES / 2 - 1;

/** A set of blocks of one segment, one bit a block. */
export type BlockSet = Uint32Array;

export const noBlocks = (): BlockSet => new Uint32Array(BITMAP_WORDS);
export const allBlocks = (): BlockSet => new Uint32Array(BITMAP_WORDS).fill(0xffffffff);

/** Adds places to what a term has. @param places Numbers within the segment, each once, in any order. */
export function addPlaces(postings: Buffer | undefined, places: readonly number[]): Buffer {
  const present = postings?.length ?? 0;
  if (present < BITMAP_BYTES && present / 2 + places.length <= LONGEST_LIST) {
    const list = Buffer.allocUnsafe(present + places.length * 2);
    postings?.copy(list);
    for (const [index, place] of places.entries()) list.writeUInt16LE(place, present + index * 2);
    return list;
  }
  const set = noBlocks();
  if (postings) unite(set, postings);
  for (const place of places) setBit(set, place);
  return Buffer.from(set.buffer);
}

/** Adds the blocks of `postings` to `set`. */
export function unite(set: BlockSet, postings: Buffer): void {
  if (postings.length < BITMAP_BYTES) {
    for (let at = 0; at < postings.length; at += 2) setBit(set, postings.readUInt16LE(at));
    return;
  }
  for (let word = 0; word < BITMAP_WORDS; word += 1) {
    set[word] = (set[word] ?? 0) | postings.readUInt32LE(word * 4);
  }
}

/** Leaves in `set` what is in `other` too. */
export function intersect(set: BlockSet, other: BlockSet): void {
  for (let word = 0; word < BITMAP_WORDS; word += 1) {
    set[word] = (set[word] ?? 0) & (other[word] ?? 0);
  }
}

/** The numbers from `from` to `to` (both included) that are in the set of this segment, rising. */
export function* numbersIn(
  set: BlockSet,
  segment: number,
  { from, to }: { from: number; to: number },
): Generator<number> {
  const base = segment * SEGMENT_BLOCKS;
  const last = Math.min(to - base, SEGMENT_BLOCKS - 1);
  for (let place = Math.max(0, from - base); place <= last; place += 1) {
    const word = set[place >>> 5] ?? 0;
    if (word === 0)
      place |= 31; // nothing in these 32
    else if ((word >>> (place & 31)) & 1) yield base + place;
  }
}

const setBit = (set: BlockSet, place: number): void => {
  set[place >>> 5] = (set[place >>> 5] ?? 0) | (1 << (place & 31));
};
