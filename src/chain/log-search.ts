// Log queries over the stored blocks: the index names the blocks that may have matching logs, their
// directories name the logs that may match, and only those are read and compared.
import type { LogMatcher } from "../evm/log-matcher.ts";
import { ADDRESS } from "../evm/log-terms.ts";
import type { Clock } from "../lib/clock.ts";
import { itemsOf, PIECE_ITEMS } from "./block-record.ts";
import type { BlockStore } from "./block-store.ts";
import { addressIn, findPlaces, type LogPlace, topicsIn } from "./log-directory.ts";
import {
  allBlocks,
  type BlockSet,
  intersect,
  noBlocks,
  numbersIn,
  segmentOf,
  unite,
} from "./postings.ts";

export type LogRange = { readonly from: number; readonly to: number };

/** Logs in chain order, as JSON. */
export type FoundLogs = { readonly logs: readonly Buffer[]; readonly numbers: readonly number[] };

/** After so much work without a pause, others get their turn, in milliseconds. */
const TURN_MS = 4;

/**
 * The logs of canonical blocks that match, up to one more than `most`: enough to know that there are too many.
 *
 * @returns undefined when a block of the range is not in the store.
 */
export async function searchLogs(
  query: { readonly matcher: LogMatcher; readonly range: LogRange; readonly most: number },
  parts: { store: BlockStore; clock: Clock },
): Promise<FoundLogs | undefined> {
  const { matcher, range, most } = query;
  const { store, clock } = parts;
  const logs: Buffer[] = [];
  const numbers: number[] = [];
  let turnEndsAt = clock.now() + TURN_MS;
  for (let segment = segmentOf(range.from); segment <= segmentOf(range.to); segment += 1) {
    const candidates = candidatesOf(matcher, segment, store);
    for (const number of candidates ? numbersIn(candidates, segment, range) : []) {
      const hash = store.hashBytesAt(number);
      if (!hash) return undefined;
      for (const log of logsOfBlock(hash, matcher, store)) {
        logs.push(log);
        numbers.push(number);
      }
      if (logs.length > most) return { logs, numbers };
      if (clock.now() < turnEndsAt) continue;
      await clock.yield();
      turnEndsAt = clock.now() + TURN_MS;
    }
  }
  return { logs, numbers };
}

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
  const directory = store.part(hash, "logs");
  if (!directory || directory.length === 0) return [];
  const places = findPlaces(directory, (words, firstTerm, topics) =>
    mayMatch(words, { firstTerm, topics }, matcher),
  );
  const found: Buffer[] = [];
  let piece = -1;
  let items: Buffer = directory;
  for (const place of places) {
    const wanted = Math.floor(place.receipt / PIECE_ITEMS);
    if (wanted !== piece) {
      const bytes = store.part(hash, "receipts", wanted);
      if (!bytes) return found;
      items = itemsOf(bytes);
      piece = wanted;
    }
    const log = items.subarray(place.start, place.start + place.length);
    if (matches(log, place, matcher)) found.push(Buffer.from(log)); // the store's bytes do not last
  }
  return found;
}

/** By the terms alone: a yes is to be checked, a no is one. */
function mayMatch(
  words: Uint32Array,
  { firstTerm, topics }: { firstTerm: number; topics: number },
  { conditions, leastTopics }: LogMatcher,
): boolean {
  if (topics < leastTopics) return false;
  for (const { place, terms } of conditions) {
    if (!terms.has(words[firstTerm + place] ?? 0)) return false;
  }
  return true;
}

function matches(log: Buffer, place: LogPlace, { conditions }: LogMatcher): boolean {
  let topics: readonly string[] | undefined;
  for (const condition of conditions) {
    let value: string | undefined;
    if (condition.place === ADDRESS) value = addressIn(log, place);
    else {
      topics ??= topicsIn(log, place);
      value = topics[condition.place - 1];
    }
    if (value === undefined || !condition.values.has(value.toLowerCase())) return false;
  }
  return true;
}
