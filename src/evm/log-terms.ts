// What logs are found by: an address or a topic in its position, as a number short enough to index.

/** Which part of a log a term speaks of: its address, or the topic in one of four positions. */
export type TermPlace = 0 | 1 | 2 | 3 | 4;
export const ADDRESS: TermPlace = 0;
export const placeOfTopic = (position: number): TermPlace => (position + 1) as TermPlace;

/**
 * 32 bits of a value in its place. Not one to one: whoever finds something by it compares the value
 * itself. Without regard to case, since callers may write hex digits in either.
 */
export function hashTerm(value: string, place: TermPlace): number {
  return mix(value, 0x811c9dc5 ^ place) >>> 0;
}

/** FNV-1a over the hex digits; `| 0x20` makes letters lower-case and leaves digits what they are. */
function mix(value: string, seed: number): number {
  let hash = seed;
  for (let at = 2; at < value.length; at += 1) {
    hash = Math.imul(hash ^ (value.charCodeAt(at) | 0x20), 0x01000193);
  }
  // FNV's low bits of equal-length inputs are weak: mixed once more.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}
