// The index of logs: the blocks of a segment that have a term, and for each block a directory of its logs with their
// spans and terms. A query reads the index first, and of the receipts only the logs that match.
import { ADDRESS, fieldOfTopic, hashTerm, type LogRange } from "../evm/log-filter.ts";
import { CLOSE_BRACKET, COMMA, QUOTE } from "../jsonrpc/ascii.ts";
import { findInnerObjects, findList, hasAt, type Span } from "../jsonrpc/members.ts";
import type { Work } from "../lib/turns.ts";

export type LogSpan = {
  /** The piece that has the log's receipt. */
  readonly piece: number;
  /** The offset of the log in the items of that piece, in bytes. */
  readonly start: number;
  readonly length: number;
  /** The offset of the address (its 0x) from the start of the log; undefined when the node wrote spaces. */
  readonly addressAt: number | undefined;
  /** The offset of the array of topics from the start of the log; undefined when the node wrote spaces. */
  readonly topicsAt: number | undefined;
  readonly topicCount: number;
};

/** A log as it is written into the directory. */
export type TermedLog = LogSpan & {
  /** The terms of the address and of each topic. */
  readonly terms: readonly number[];
};

/** A log whose span is counted from the start of its receipt. */
export type LocatedLog = Omit<TermedLog, "piece">;

export type ReceiptWithLogs = { readonly json: Buffer; readonly logs: readonly LocatedLog[] };

type ParsedLog = {
  readonly address?: unknown;
  readonly topics?: unknown;
  readonly removed?: unknown;
};

/** How many logs are located between two pauses. */
const STEP = 64;

/** A receipt's JSON. */
type PlacedReceipt = {
  readonly json: Buffer;
  /** The spans of the receipt's inner objects, in a text that has the receipt at `at`; left out: not known yet. */
  readonly inner?: readonly Span[] | undefined;
  readonly at?: number;
};

/** Finds a receipt's logs. @param parsed The same receipt, parsed. @returns undefined when its logs are malformed. */
export function* locateLogs(
  receipt: PlacedReceipt,
  parsed: unknown,
): Work<ReceiptWithLogs | undefined> {
  const { json, at = 0 } = receipt;
  const { logs } = parsed as { logs?: unknown };
  if (!Array.isArray(logs)) return undefined;
  if (logs.length === 0) return { json, logs: [] };
  if (logs.some((log: ParsedLog) => log.removed === undefined))
    return yield* withRemoved(parsed as object, logs);
  // Logs are objects: if the receipt has as many pairs of braces as logs, these pairs are the logs.
  const isInner = receipt.inner?.length === logs.length;
  const elements = isInner ? receipt.inner : yield* spansOfLogs(json, logs.length);
  if (elements?.length !== logs.length) return undefined;
  const from = isInner ? at : 0;
  const spans: LocatedLog[] = [];
  for (const [index, span] of elements.entries()) {
    if (index % STEP === STEP - 1) yield;
    const start = span.start - from;
    const end = span.end - from;
    const termed = termsOf({ json, start, end }, logs[index], isInner);
    if (!termed) return undefined;
    spans.push({ ...termed, start, length: end - start });
  }
  return { json, logs: spans };
}

/** Logs are objects. When the receipt has as many objects as logs, these objects are the logs. */
function* spansOfLogs(receipt: Buffer, count: number): Work<readonly Span[] | undefined> {
  const objects = yield* findInnerObjects(receipt);
  return objects.length === count ? objects : (yield* findList(receipt, "logs"))?.elements;
}

/** Adds `removed` to logs that lack it: the specification's log has it, but some nodes leave it out of receipts. */
function* withRemoved(
  receipt: object,
  logs: readonly ParsedLog[],
): Work<ReceiptWithLogs | undefined> {
  const whole = { ...receipt, logs: logs.map((log) => ({ ...log, removed: false })) };
  return yield* locateLogs({ json: Buffer.from(JSON.stringify(whole)) }, whole);
}

/** @param isPlain Whether the JSON has no escapes. */
function termsOf(
  at: Span & { readonly json: Buffer },
  { address, topics }: ParsedLog,
  isPlain: boolean,
): Pick<TermedLog, "addressAt" | "topicsAt" | "topicCount" | "terms"> | undefined {
  if (typeof address !== "string" || !areTopics(topics)) return undefined;
  const terms = [hashTerm(address, ADDRESS)];
  for (let index = 0; index < topics.length; index += 1)
    terms.push(hashTerm(topics[index] ?? "", fieldOfTopic(index)));
  const offsets = (isPlain && usualOffsets(at, address, topics)) || offsetsIn(at, address, topics);
  return { ...offsets, topicCount: topics.length, terms };
}

type FieldOffsets = Pick<TermedLog, "addressAt" | "topicsAt">;

const ADDRESS_FIRST = Buffer.from('{"address":"');
const THEN_TOPICS = Buffer.from('","topics":[');

/**
 * Finds the address and the topics of a log that begins with them, without spaces, as most nodes write it. In a text
 * without escapes their lengths show where they stand. @returns undefined for a log that does not begin so.
 */
function usualOffsets(
  { json, start }: Span & { readonly json: Buffer },
  { length }: string,
  topics: readonly string[],
): FieldOffsets | undefined {
  const addressAt = ADDRESS_FIRST.length;
  const behind = addressAt + length;
  if (!hasAt(json, start, ADDRESS_FIRST) || !hasAt(json, start + behind, THEN_TOPICS))
    return undefined;
  const topicsAt = behind + THEN_TOPICS.length - 1;
  let at = start + topicsAt;
  for (let index = 0; index < topics.length; index += 1) {
    if (json[at + 1] !== QUOTE || json[at + 2 + TOPIC_BYTES] !== QUOTE) return undefined;
    at += TOPIC_BYTES + 3;
    if (index < topics.length - 1 && json[at] !== COMMA) return undefined;
  }
  return json[topics.length > 0 ? at : at + 1] === CLOSE_BRACKET
    ? { addressAt, topicsAt }
    : undefined;
}

function offsetsIn(
  { json, start, end }: Span & { readonly json: Buffer },
  address: string,
  topics: readonly string[],
): FieldOffsets {
  const log = json.toString("latin1", start, end);
  return {
    addressAt: offsetOfText(log, `"address":"${address}"`, '"address":"'.length),
    topicsAt: offsetOfText(log, `"topics":${JSON.stringify(topics)}`, '"topics":'.length),
  };
}

const areTopics = (topics: unknown): topics is string[] =>
  Array.isArray(topics) &&
  topics.length <= MAX_TOPICS &&
  topics.every((topic) => typeof topic === "string" && topic.length === TOPIC_BYTES);

/** The offset of the value, if the node wrote the value without spaces, as most nodes do. */
function offsetOfText(log: string, text: string, before: number): number | undefined {
  const at = log.indexOf(text);
  return at < 0 ? undefined : at + before;
}

// The directory: ten 32-bit numbers for each log, in the byte order of the machine that has the store.

const MAX_TOPICS = 4;
/** How many numbers a log has, and the index of each number. */
const WORDS = 10;
const [START, LENGTH, PIECE, ADDRESS_AT, TOPICS, ADDRESS_TERM] = [0, 1, 2, 3, 4, 5] as const;
const NOWHERE = 0x1fffffff;

export function encodeDirectory(logs: readonly TermedLog[]): Buffer {
  const words = new Uint32Array(logs.length * WORDS);
  logs.forEach((log, index) => {
    const at = index * WORDS;
    words[at + START] = log.start;
    words[at + LENGTH] = log.length;
    words[at + PIECE] = log.piece;
    words[at + ADDRESS_AT] = log.addressAt ?? NOWHERE;
    words[at + TOPICS] = (log.topicsAt ?? NOWHERE) * 8 + log.topicCount;
    words.set(log.terms, at + ADDRESS_TERM);
  });
  return Buffer.from(words.buffer);
}

/** Directories are copied here before they are read: numbers must be aligned, and the bytes of a store are not. */
let scratch = new Uint32Array(WORDS * 512);

/** Visits the logs of an encoded directory that have at least `leastTopics` topics, without an object for each log. */
export function eachLogSpan(
  directory: Buffer,
  leastTopics: number,
  visit: (piece: number, start: number, length: number) => void,
): void {
  const { words, end } = wordsOf(directory);
  for (let at = 0; at < end; at += WORDS)
    if (((words[at + TOPICS] ?? 0) & 7) >= leastTopics)
      visit(words[at + PIECE] ?? 0, words[at + START] ?? 0, words[at + LENGTH] ?? 0);
}

/** How many logs an encoded directory has. */
export const logsIn = (directory: Buffer): number => directory.length / (4 * WORDS);

function wordsOf(directory: Buffer): { readonly words: Uint32Array; readonly end: number } {
  if (directory.length > scratch.byteLength) scratch = new Uint32Array(directory.length / 2);
  directory.copy(new Uint8Array(scratch.buffer));
  return { words: scratch, end: directory.length / 4 };
}

/**
 * The logs of an encoded directory that may match, judged by their terms alone.
 * @param mayMatch Gets terms, the index of the address's term (the topics' terms follow), and the number of topics.
 */
export function findLogSpans(
  directory: Buffer,
  mayMatch: (words: Uint32Array, firstTerm: number, topics: number) => boolean,
): LogSpan[] {
  const { words, end } = wordsOf(directory);
  const spans: LogSpan[] = [];
  for (let at = 0; at < end; at += WORDS) {
    const topics = words[at + TOPICS] ?? 0;
    if (!mayMatch(words, at + ADDRESS_TERM, topics & 7)) continue;
    spans.push({
      piece: words[at + PIECE] ?? 0,
      start: words[at + START] ?? 0,
      length: words[at + LENGTH] ?? 0,
      addressAt: offsetIn(words[at + ADDRESS_AT] ?? 0),
      topicsAt: offsetIn(topics >>> 3),
      topicCount: topics & 7,
    });
  }
  return spans;
}

/** Visits the terms of all logs of an encoded directory. */
export function eachTerm(directory: Buffer, visit: (term: number) => void): void {
  const { words, end } = wordsOf(directory);
  for (let at = 0; at < end; at += WORDS) {
    const behind = at + ADDRESS_TERM + 1 + ((words[at + TOPICS] ?? 0) & 7);
    for (let term = at + ADDRESS_TERM; term < behind; term += 1) visit(words[term] ?? 0);
  }
}

const offsetIn = (offset: number): number | undefined => (offset === NOWHERE ? undefined : offset);

// The length of a topic, 0x and 64 digits. In `["0x…","0x…"]` three more bytes lead to the next topic.
const TOPIC_BYTES = 66;

/** The address of a log, as the node wrote it. @param log The JSON of the log. */
export const addressIn = (log: Buffer, { addressAt }: LogSpan): string =>
  addressAt === undefined
    ? (JSON.parse(log.toString("utf8")) as { address: string }).address
    : log.toString("latin1", addressAt, log.indexOf(QUOTE, addressAt));

/** The topics of a log, as the node wrote them. */
export function topicsIn(log: Buffer, { topicsAt, topicCount }: LogSpan): string[] {
  if (topicsAt === undefined) {
    return (JSON.parse(log.toString("utf8")) as { topics: string[] }).topics;
  }
  return Array.from({ length: topicCount }, (_, index) => {
    const at = topicsAt + 2 + index * (TOPIC_BYTES + 3);
    return log.toString("latin1", at, at + TOPIC_BYTES);
  });
}

// Postings: the blocks of a segment that have a term, as a list of positions, or as a bitmap when there are many blocks.

/** How many blocks a segment of the log index has. A segment begins at a multiple of this number. */
export const SEGMENT_BLOCKS = 4096;

export const segmentOf = (number: number): number => Math.floor(number / SEGMENT_BLOCKS);

const BITMAP_BYTES = SEGMENT_BLOCKS / 8;
const BITMAP_WORDS = SEGMENT_BLOCKS / 32;
/** Up to this length a list of 16-bit numbers is shorter than a bitmap. */
const LONGEST_LIST = BITMAP_BYTES / 2 - 1;

/** A set of blocks of one segment: one bit for each block. */
export type BlockSet = Uint32Array;

export const noBlocks = (): BlockSet => new Uint32Array(BITMAP_WORDS);
export const allBlocks = (): BlockSet => new Uint32Array(BITMAP_WORDS).fill(0xffffffff);

/** Adds blocks to a term's postings. @param positions Numbers within the segment, each once, in any order. */
export function addPositions(postings: Buffer | undefined, positions: readonly number[]): Buffer {
  const present = postings?.length ?? 0;
  if (present < BITMAP_BYTES && present / 2 + positions.length <= LONGEST_LIST) {
    const list = Buffer.allocUnsafe(present + positions.length * 2);
    postings?.copy(list);
    for (const [index, position] of positions.entries())
      list.writeUInt16LE(position, present + index * 2);
    return list;
  }
  const set = noBlocks();
  if (postings) unite(set, postings);
  for (const position of positions) setBit(set, position);
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

/** Removes the blocks from `set` that are not in `other`. */
export function intersect(set: BlockSet, other: BlockSet): void {
  for (let word = 0; word < BITMAP_WORDS; word += 1) {
    set[word] = (set[word] ?? 0) & (other[word] ?? 0);
  }
}

/** The numbers from `from` to `to` (both included) that are in the set of this segment, in ascending order. */
export function* numbersIn(
  set: BlockSet,
  segment: number,
  { from, to }: LogRange,
): Generator<number> {
  const base = segment * SEGMENT_BLOCKS;
  const last = Math.min(to - base, SEGMENT_BLOCKS - 1);
  for (let position = Math.max(0, from - base); position <= last; position += 1) {
    const word = set[position >>> 5] ?? 0;
    if (word === 0)
      position |= 31; // none of these 32 blocks
    else if ((word >>> (position & 31)) & 1) yield base + position;
  }
}

const setBit = (set: BlockSet, position: number): void => {
  set[position >>> 5] = (set[position >>> 5] ?? 0) | (1 << (position & 31));
};
