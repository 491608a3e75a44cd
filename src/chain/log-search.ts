// Log queries over the stored blocks: the index names the blocks that may have matching logs, their
// directories name the logs that may match, and only those are read and compared.
import { ADDRESS, type LogMatcher, type LogRange } from "../evm/log-filter.ts";
import type { Work } from "../lib/turns.ts";
import type { BlockTables } from "./block-tables.ts";
import {
  addressIn,
  allBlocks,
  type BlockSet,
  findLogSpans,
  intersect,
  type LogSpan,
  noBlocks,
  numbersIn,
  segmentOf,
  topicsIn,
  unite,
} from "./log-index.ts";
import { LogSelection } from "./log-selection.ts";
import { itemsOf, type PartReader } from "./stored-block.ts";

export type LogQuery = {
  readonly matcher: LogMatcher;
  readonly range: LogRange;
  /** The most logs that the caller accepts. One more is enough to know that there are too many. */
  readonly most: number;
};

/**
 * Searches canonical blocks, with a pause after each. @returns The matching logs, or when there are too many at least
 * one more than `most`; undefined when a block of the range left the store. Heights without a block have no logs.
 */
export function* searchLogs(
  { matcher, range, most }: LogQuery,
  { store }: { store: BlockTables },
): Work<LogSelection | undefined> {
  const found = new LogSelection({ store });
  for (let segment = segmentOf(range.from); segment <= segmentOf(range.to); segment += 1) {
    const candidates = candidatesOf(matcher, segment, store);
    for (const number of candidates ? numbersIn(candidates, segment, range) : []) {
      const hash = store.hashBytesAt(number);
      if (!hash && number < (store.tail ?? Number.POSITIVE_INFINITY)) return undefined;
      if (!hash) continue;
      selectLogs({ number, hash }, { matcher, store }, found);
      if (found.count > most) return found;
      yield;
    }
  }
  return found;
}

/** Adds the matching logs of one block. */
export function selectLogs(
  block: { readonly number: number; readonly hash: string | Buffer },
  { matcher, store }: { matcher: LogMatcher; store: PartReader },
  found: LogSelection,
): void {
  if (matcher.conditions.length === 0) {
    // Without conditions all logs match. The receipts are read only when the logs turn out to be few.
    const directory = store.part(block.hash, "logs");
    if (directory?.length)
      found.addAll({ ...block, hash: bytesOf(block.hash) }, directory, matcher.leastTopics);
    return;
  }
  let hasBegun = false;
  const spans = spansOf(block.hash, { matcher, store });
  visitLogs(block.hash, spans, { matcher, store }, (span, log) => {
    if (!hasBegun) found.beginBlock(block.number, bytesOf(block.hash));
    hasBegun = true;
    found.add(span, log);
  });
}

const bytesOf = (hash: string | Buffer): Buffer =>
  typeof hash === "string" ? Buffer.from(hash.slice(2), "hex") : hash;

/** The blocks of a segment that may have matching logs; undefined when no block has any. */
function candidatesOf(
  { conditions }: LogMatcher,
  segment: number,
  store: Pick<BlockTables, "postings">,
): BlockSet | undefined {
  let candidates: BlockSet | undefined;
  for (const { terms } of conditions) {
    let having: BlockSet | undefined;
    for (const term of terms) {
      const postings = store.postings(segment, term);
      if (!postings) continue;
      having ??= noBlocks();
      unite(having, postings);
    }
    if (!having) return undefined;
    if (candidates) intersect(candidates, having);
    else candidates = having;
  }
  return candidates ?? allBlocks();
}

/** The matching logs of one block, in order. */
export function logsOfBlock(
  hash: string | Buffer,
  matcher: LogMatcher,
  store: PartReader,
): Buffer[] {
  const found: Buffer[] = [];
  const parts = { matcher, store };
  // The logs are copied, since the store's bytes are valid only until the next read.
  visitLogs(hash, spansOf(hash, parts), parts, (_, log) => found.push(Buffer.from(log)));
  return found;
}

type Searched = { readonly matcher: LogMatcher; readonly store: PartReader };

/** The spans of a block's logs that may match, in order. */
function spansOf(hash: string | Buffer, { matcher, store }: Searched): readonly LogSpan[] {
  const directory = store.part(hash, "logs");
  if (!directory || directory.length === 0) return [];
  return findLogSpans(directory, (words, firstTerm, topics) =>
    mayMatch(words, { firstTerm, topics }, matcher),
  );
}

function visitLogs(
  hash: string | Buffer,
  spans: readonly LogSpan[],
  { matcher, store }: Searched,
  visit: (span: LogSpan, log: Buffer) => void,
): void {
  let piece = -1;
  let items: Buffer | undefined;
  for (const span of spans) {
    if (!items || span.piece !== piece) {
      const bytes = store.part(hash, "receipts", span.piece);
      if (!bytes) return;
      items = itemsOf(bytes);
      piece = span.piece;
    }
    const log = items.subarray(span.start, span.start + span.length);
    if (matches(log, span, matcher)) visit(span, log);
  }
}

/** Compares the terms alone: `false` is certain, `true` must still be checked. */
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

function matches(log: Buffer, span: LogSpan, { conditions }: LogMatcher): boolean {
  let topics: readonly string[] | undefined;
  for (const condition of conditions) {
    let value: string | undefined;
    if (condition.field === ADDRESS) value = addressIn(log, span);
    else {
      topics ??= topicsIn(log, span);
      value = topics[condition.field - 1];
    }
    if (value === undefined || !condition.values.has(value.toLowerCase())) return false;
  }
  return true;
}
