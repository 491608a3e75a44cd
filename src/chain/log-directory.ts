// Where each log of a block stands in its receipts, with the terms it is found by: a query reads this
// first, and of the receipts only what matches.
import { ADDRESS, hashTerm, placeOfTopic } from "../evm/log-terms.ts";
import { findElements, findMembers, type Span, textOf } from "../jsonrpc/members.ts";

export type LogPlace = {
  /** Which receipt of the block has it. */
  readonly receipt: number;
  /** Where the log begins among the items of its receipt's piece, in bytes. */
  readonly start: number;
  readonly length: number;
  /** Where the address begins (its 0x), from the start of the log, in bytes. */
  readonly addressAt: number;
  /** Where the array of topics begins; undefined when it is not written without spaces. */
  readonly topicsAt: number | undefined;
  /** The terms of the address and of each topic. */
  readonly terms: readonly number[];
};

/** A receipt, with the places of its logs counted from its own start. */
export type PlacedReceipt = { readonly json: Buffer; readonly logs: readonly LogPlace[] };

/** @returns undefined when it is not a receipt with its logs. */
export function placeLogs(receipt: Buffer): PlacedReceipt | undefined {
  const [logs] = findMembers(receipt, ["logs"]) ?? [];
  const elements = logs && findElements(receipt.subarray(logs.start, logs.end));
  if (!elements) return undefined;
  const places: LogPlace[] = [];
  for (const { start, end } of elements) {
    const log = receipt.subarray(logs.start + start, logs.start + end);
    const [address, topics, removed] = findMembers(log, ["address", "topics", "removed"]) ?? [];
    if (!address || !topics) return undefined;
    if (!removed) return withRemoved(receipt);
    const terms = termsOf(log, address, topics);
    if (!terms) return undefined;
    const isCompact = topics.end - topics.start === compactBytes(terms.length - 1);
    places.push({
      receipt: 0,
      start: logs.start + start,
      length: log.length,
      addressAt: address.start + 1,
      topicsAt: isCompact ? topics.start : undefined,
      terms,
    });
  }
  return { json: receipt, logs: places };
}

/** Specification, log object: `removed` is there. Some nodes leave it out of receipts. */
function withRemoved(receipt: Buffer): PlacedReceipt | undefined {
  const parsed = JSON.parse(receipt.toString("utf8")) as { logs: object[] };
  const logs = parsed.logs.map((log) => ({ ...log, removed: false }));
  return placeLogs(Buffer.from(JSON.stringify({ ...parsed, logs })));
}

function termsOf(log: Buffer, address: Span, topics: Span): number[] | undefined {
  const list = log.subarray(topics.start, topics.end);
  const elements = findElements(list);
  if (!elements || elements.length > MAX_TOPICS) return undefined;
  return [
    hashTerm(hexIn(log, address), ADDRESS),
    ...elements.map((topic, index) => hashTerm(hexIn(list, topic), placeOfTopic(index))),
  ];
}

const hexIn = (json: Buffer, span: Span): string => textOf(json, span).slice(1, -1);

// The directory: ten numbers of 32 bits a log, in the byte order of the machine that keeps the store.

const MAX_TOPICS = 4;
/** A log's numbers stand at these places behind its first. */
export const WORDS = 10;
const [START, LENGTH, RECEIPT, ADDRESS_AT, TOPICS, ADDRESS_TERM] = [0, 1, 2, 3, 4, 5] as const;
export const FIRST_TERM = ADDRESS_TERM;
const NOT_COMPACT = 0x1fffffff;

export function encodeDirectory(logs: readonly LogPlace[]): Buffer {
  const words = new Uint32Array(logs.length * WORDS);
  logs.forEach((log, index) => {
    const at = index * WORDS;
    words[at + START] = log.start;
    words[at + LENGTH] = log.length;
    words[at + RECEIPT] = log.receipt;
    words[at + ADDRESS_AT] = log.addressAt;
    words[at + TOPICS] = (log.topicsAt ?? NOT_COMPACT) * 8 + (log.terms.length - 1);
    words.set(log.terms, at + ADDRESS_TERM);
  });
  return Buffer.from(words.buffer);
}

/** A copy, since what a store gives is neither aligned nor lasting. */
export function decodeDirectory(bytes: Buffer): Uint32Array {
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes);
  return new Uint32Array(copy.buffer);
}

/** One log of a decoded directory. */
export function placeAt(words: Uint32Array, index: number): LogPlace {
  const at = index * WORDS;
  const word = (offset: number): number => words[at + offset] ?? 0;
  const topicCount = word(TOPICS) & 7;
  const topicsAt = word(TOPICS) >>> 3;
  return {
    receipt: word(RECEIPT),
    start: word(START),
    length: word(LENGTH),
    addressAt: word(ADDRESS_AT),
    topicsAt: topicsAt === NOT_COMPACT ? undefined : topicsAt,
    terms: [...words.subarray(at + ADDRESS_TERM, at + ADDRESS_TERM + 1 + topicCount)],
  };
}

export const topicCountAt = (words: Uint32Array, index: number): number =>
  (words[index * WORDS + TOPICS] ?? 0) & 7;

// `["0x…64 digits","0x…"]`: what nodes write, so that a topic's place follows from its position.

const TOPIC_BYTES = 66;
const compactBytes = (topics: number): number =>
  topics === 0 ? 2 : 1 + topics * (TOPIC_BYTES + 3);

/** The address of a log, as the node wrote it. @param log The JSON of the log. */
export const addressIn = (log: Buffer, { addressAt }: LogPlace): string =>
  log.toString("latin1", addressAt, addressAt + 42);

/** The topics of a log, as the node wrote them. */
export function topicsIn(log: Buffer, { topicsAt, terms }: LogPlace): string[] {
  if (topicsAt === undefined) {
    return (JSON.parse(log.toString("utf8")) as { topics: string[] }).topics;
  }
  return terms.slice(1).map((_, index) => {
    const at = topicsAt + 2 + index * (TOPIC_BYTES + 3);
    return log.toString("latin1", at, at + TOPIC_BYTES);
  });
}
