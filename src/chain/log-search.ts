// Log queries over the stored blocks: the index names the blocks that may have matching logs, their
// directories name the logs that may match, and only those are read and compared.
import { ADDRESS, type LogMatcher, type LogRange } from "../evm/log-filter.ts";
import type { JsonSource } from "../jsonrpc/raw-json.ts";
import type { Turns } from "../lib/turns.ts";
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
import { itemsOf, type PartReader, PIECE_ITEMS } from "./stored-block.ts";

/**
 * The logs of canonical blocks that match, up to one more than `most`: enough to know that there are too many.
 *
 * @returns undefined when a block of the range is not in the store.
 */
export async function searchLogs(
  query: { readonly matcher: LogMatcher; readonly range: LogRange; readonly most: number },
  parts: { store: BlockTables; turns: Pick<Turns, "isOver" | "next"> },
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
  { matcher, store }: { matcher: LogMatcher; store: PartReader },
  found: LogSelection,
): void {
  let hasBegun = false;
  visitLogs(block.hash, { matcher, store }, (span, log) => {
    if (!hasBegun) found.beginBlock(block.number, bytesOf(block.hash));
    hasBegun = true;
    found.add(span, log);
  });
}

const bytesOf = (hash: string | Buffer): Buffer =>
  typeof hash === "string" ? Buffer.from(hash.slice(2), "hex") : hash;

/** The blocks of a segment that may have matching logs; undefined when none has. */
function candidatesOf(
  { conditions }: LogMatcher,
  segment: number,
  store: Pick<BlockTables, "postings">,
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
  store: PartReader,
): Buffer[] {
  const found: Buffer[] = [];
  // The store's bytes do not last.
  visitLogs(hash, { matcher, store }, (_, log) => found.push(Buffer.from(log)));
  return found;
}

function visitLogs(
  hash: string | Buffer,
  { matcher, store }: { matcher: LogMatcher; store: PartReader },
  visit: (span: LogSpan, log: Buffer) => void,
): void {
  const directory = store.part(hash, "logs");
  if (!directory || directory.length === 0) return;
  const spans = findLogSpans(directory, (words, firstTerm, topics) =>
    mayMatch(words, { firstTerm, topics }, matcher),
  );
  let piece = -1;
  let items: Buffer = directory;
  for (const span of spans) {
    const wanted = Math.floor(span.receipt / PIECE_ITEMS);
    if (wanted !== piece) {
      const bytes = store.part(hash, "receipts", wanted);
      if (!bytes) return;
      items = itemsOf(bytes);
      piece = wanted;
    }
    const log = items.subarray(span.start, span.start + span.length);
    if (matches(log, span, matcher)) visit(span, log);
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

// Logs that were found in stored blocks: where they stand, and themselves as long as they are few. Many are
// read again when they are sent, by the hash of their block: what another chain has at its number does not matter.

/** In bytes: up to here the logs are kept, and need not be read again. */
const WORTH_KEEPING = 131_072;
const CHUNK = 65_536;
const HASH_WORDS = 8;
const COMMA = Buffer.from(",");

export class LogSelection implements JsonSource {
  /** For each block its number and its hash; for each log its block, receipt, start and length. */
  #blocks = new Words(1 + HASH_WORDS);
  readonly #spans = new Words(4);
  #copies: Buffer[] | undefined = [];
  #bytes = 0;
  readonly #store: PartReader;

  constructor(parts: { readonly store: PartReader }) {
    this.#store = parts.store;
  }

  /** Logs come in chain order; those that are added next are of this block. */
  beginBlock(number: number, hash: Buffer): void {
    const words = Array.from({ length: HASH_WORDS }, (_, word) => hash.readUInt32BE(word * 4));
    this.#blocks.push([number, ...words]);
  }

  /** @param log Bytes that last for this turn only. */
  add({ receipt, start, length }: LogSpan, log: Buffer): void {
    this.#spans.push([this.#blocks.count - 1, receipt, start, length]);
    this.#bytes += length;
    if (this.#bytes > WORTH_KEEPING) this.#copies = undefined;
    this.#copies?.push(Buffer.from(log));
  }

  get count(): number {
    return this.#spans.count;
  }

  /** The number of the block of the log at this index. */
  numberOf(log: number): number {
    return this.#blocks.at(this.#spans.at(log, 0), 0);
  }

  /** The logs themselves, if they are few. */
  get few(): readonly Buffer[] | undefined {
    return this.#copies;
  }

  /** Of the logs with commas between them, in bytes. */
  get length(): number {
    return this.#bytes + Math.max(0, this.count - 1);
  }

  get heldBytes(): number {
    return this.#blocks.heldBytes + this.#spans.heldBytes + (this.#copies ? this.#bytes : 0);
  }

  /** Those from one index up to another. They are read again, unless these here are few. */
  slice(from: number, to: number): LogSelection {
    const part = new LogSelection({ store: this.#store });
    part.#blocks = this.#blocks;
    for (let index = from; index < to; index += 1) {
      const row = [0, 1, 2, 3].map((column) => this.#spans.at(index, column));
      part.#spans.push(row);
      part.#bytes += row[3] ?? 0;
    }
    part.#copies = this.#copies?.slice(from, to);
    return part;
  }

  /** Few logs are many beside others: from now on they are read again, too. */
  dropCopies(): void {
    this.#copies = undefined;
  }

  /** All logs, however many. @throws When a block has left the store. */
  all(): readonly Buffer[] {
    if (this.#copies) return this.#copies;
    const reader = new LogReader(this.#store);
    return Array.from({ length: this.count }, (_, index) => Buffer.from(this.#read(index, reader)));
  }

  /** The logs with commas between them. @throws When a block has left the store. */
  *chunks(): Generator<Buffer> {
    let reader = new LogReader(this.#store);
    let chunk = Buffer.allocUnsafe(CHUNK);
    let filled = 0;
    for (let index = 0; index < this.count; index += 1) {
      const bytes = this.#spans.at(index, 3) + 1;
      if (filled + bytes > chunk.length) {
        if (filled > 0) yield chunk.subarray(0, filled);
        reader = new LogReader(this.#store); // what was read before does not last over a yield
        chunk = Buffer.allocUnsafe(Math.max(CHUNK, bytes));
        filled = 0;
      }
      if (index > 0) filled += COMMA.copy(chunk, filled);
      filled += this.#read(index, reader).copy(chunk, filled);
    }
    if (filled > 0) yield chunk.subarray(0, filled);
  }

  #read(index: number, reader: LogReader): Buffer {
    const spans = this.#spans;
    const block = spans.at(index, 0);
    const piece = Math.floor(spans.at(index, 1) / PIECE_ITEMS);
    if (!reader.has(block, piece)) reader.read(block, piece, this.#hashOf(block));
    const start = spans.at(index, 2);
    return reader.items.subarray(start, start + spans.at(index, 3));
  }

  #hashOf(block: number): Buffer {
    const hash = Buffer.allocUnsafe(HASH_WORDS * 4);
    for (let word = 0; word < HASH_WORDS; word += 1)
      hash.writeUInt32BE(this.#blocks.at(block, 1 + word), word * 4);
    return hash;
  }
}

/** Reads a piece of receipts once for all of its logs. For one turn. */
class LogReader {
  items: Buffer = Buffer.alloc(0);
  #block = -1;
  #piece = -1;
  readonly #store: PartReader;

  constructor(store: PartReader) {
    this.#store = store;
  }

  has(block: number, piece: number): boolean {
    return block === this.#block && piece === this.#piece;
  }

  read(block: number, piece: number, hash: Buffer): void {
    const bytes = this.#store.part(hash, "receipts", piece);
    if (!bytes) throw new Error("a block left the store while its logs were sent");
    this.items = itemsOf(bytes);
    this.#block = block;
    this.#piece = piece;
  }
}

/** Rows of numbers of 32 bits. */
class Words {
  #words = new Uint32Array(0);
  #rows = 0;
  readonly #width: number;

  constructor(width: number) {
    this.#width = width;
  }

  get count(): number {
    return this.#rows;
  }

  get heldBytes(): number {
    return this.#words.byteLength;
  }

  at(row: number, column: number): number {
    return this.#words[row * this.#width + column] ?? 0;
  }

  push(row: readonly number[]): void {
    const at = this.#rows * this.#width;
    if (at + this.#width > this.#words.length) {
      const larger = new Uint32Array(Math.max(16 * this.#width, this.#words.length * 2));
      larger.set(this.#words);
      this.#words = larger;
    }
    this.#words.set(row, at);
    this.#rows += 1;
  }
}
