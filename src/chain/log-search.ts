// Log queries over the stored blocks: the index names the blocks that may have matching logs, their
// directories name the logs that may match, and only those are read and compared.
import { ADDRESS, type LogMatcher, type LogRange } from "../evm/log-filter.ts";
import type { Turns } from "../lib/turns.ts";
import { itemsOf, PIECE_ITEMS } from "./block-record.ts";
import type { BlockStore } from "./block-store.ts";
import { addressIn, findPlaces, type LogPlace, topicsIn } from "./log-directory.ts";
import { LogSelection } from "./log-selection.ts";
import {
  allBlocks,
  type BlockSet,
  intersect,
  noBlocks,
  numbersIn,
  segmentOf,
  unite,
} from "./postings.ts";

/**
 * The logs of canonical blocks that match, up to one more than `most`: enough to know that there are too many.
 *
 * @returns undefined when a block of the range is not in the store.
 */
export async function searchLogs(
  query: { readonly matcher: LogMatcher; readonly range: LogRange; readonly most: number },
  parts: { store: BlockStore; turns: Pick<Turns, "isOver" | "next"> },
): Promise<LogSelection | undefined> {
  const { matcher, range, most } = query;
  const { store, turns } = parts;
  const found = new LogSelection({ store });
  for (let segment = segmentOf(range.from); segment <= segmentOf(range.to); segment += 1) {
    const candidates = candidatesOf(matcher, segment, store);
    for (const number of candidates ? numbersIn(candidates, segment, range) : []) {
      const hash = store.hashBytesAt(number);
      if (!hash) return undefined;
      selectLogs({ number, hash }, { matcher, store }, found);
      if (found.count > most) return found;
      if (turns.isOver) await turns.next();
    }
  }
  return found;
}

/** Adds the matching logs of one block. */
export function selectLogs(
  block: { readonly number: number; readonly hash: string | Buffer },
  { matcher, store }: { matcher: LogMatcher; store: Pick<BlockStore, "part"> },
  found: LogSelection,
): void {
  let hasBegun = false;
  visitLogs(block.hash, { matcher, store }, (place, log) => {
    if (!hasBegun) found.beginBlock(block.number, bytesOf(block.hash));
    hasBegun = true;
    found.add(place, log);
  });
}

const bytesOf = (hash: string | Buffer): Buffer =>
  typeof hash === "string" ? Buffer.from(hash.slice(2), "hex") : hash;

/** The blocks of a segment that may have matching logs; undefined when none has. */
function candidatesOf(
  { conditions }: LogMatcher,
  segment: number,
  store: Pick<BlockStore, "postings">,
): BlockSet | undefined {
  const candidates = allBlocks();
  for (const { terms } of conditions) {
    const having = noBlocks();
    let isEmpty = true;
    for (const term of terms) {
      const postings = store.postings(segment, term);
      if (!postings) continue;
      unite(having, postings);
      isEmpty = false;
    }
    if (isEmpty) return undefined;
    intersect(candidates, having);
  }
  return candidates;
}

/** The matching logs of one block, in order. */
export function logsOfBlock(
  hash: string | Buffer,
  matcher: LogMatcher,
  store: Pick<BlockStore, "part">,
): Buffer[] {
  const found: Buffer[] = [];
  // The store's bytes do not last.
  visitLogs(hash, { matcher, store }, (_, log) => found.push(Buffer.from(log)));
  return found;
}

function visitLogs(
  hash: string | Buffer,
  { matcher, store }: { matcher: LogMatcher; store: Pick<BlockStore, "part"> },
  visit: (place: LogPlace, log: Buffer) => void,
): void {
  const directory = store.part(hash, "logs");
  if (!directory || directory.length === 0) return;
  const places = findPlaces(directory, (words, firstTerm, topics) =>
    mayMatch(words, { firstTerm, topics }, matcher),
  );
  let piece = -1;
  let items: Buffer = directory;
  for (const place of places) {
    const wanted = Math.floor(place.receipt / PIECE_ITEMS);
    if (wanted !== piece) {
      const bytes = store.part(hash, "receipts", wanted);
      if (!bytes) return;
      items = itemsOf(bytes);
      piece = wanted;
    }
    const log = items.subarray(place.start, place.start + place.length);
    if (matches(log, place, matcher)) visit(place, log);
  }
}

/** By the terms alone: a yes is to be checked, a no is one. */
function mayMatch(
  words: Uint32Array,
  { firstTerm, topics }: { firstTerm: number; topics: number },
  { conditions, leastTopics }: LogMatcher,
): boolean {
  if (topics < leastTopics) return false;
  for (const { field, terms } of conditions) {
    if (!terms.has(words[firstTerm + field] ?? 0)) return false;
  }
  return true;
}

function matches(log: Buffer, place: LogPlace, { conditions }: LogMatcher): boolean {
  let topics: readonly string[] | undefined;
  for (const condition of conditions) {
    let value: string | undefined;
    if (condition.field === ADDRESS) value = addressIn(log, place);
    else {
      topics ??= topicsIn(log, place);
      value = topics[condition.field - 1];
    }
    if (value === undefined || !condition.values.has(value.toLowerCase())) return false;
  }
  return true;
}
