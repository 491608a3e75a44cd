// Which entries of the log index new blocks add to.
import type { BlockRecord } from "./block-record.ts";
import { SEGMENT_BLOCKS, segmentOf } from "./postings.ts";
import { termKey } from "./store-keys.ts";

/** Each term of the blocks' logs with the places it gets, segment by segment. */
export function placesByTerm(
  records: readonly BlockRecord[],
): Iterable<{ key: Buffer; places: number[] }> {
  const found = new Map<number, { key: Buffer; places: number[] }>();
  for (const { outline, logs } of records) {
    const segment = segmentOf(outline.number);
    const place = outline.number % SEGMENT_BLOCKS;
    for (const term of new Set(logs.flatMap(({ terms }) => terms))) {
      const name = segment * 2 ** 32 + term; // below 2^53: there are fewer than 2^21 segments
      const entry = found.get(name);
      if (entry) entry.places.push(place);
      else found.set(name, { key: Buffer.from(termKey(segment, term)), places: [place] });
    }
  }
  return found.values();
}
