// Where each log of a block stands in its receipts, with the terms it is found by: a query reads this
// first, and of the receipts only what matches.
import { ADDRESS, hashTerm, placeOfTopic } from "../evm/log-terms.ts";
import { findElements, findMembers } from "../jsonrpc/members.ts";

export type LogPlace = {
  /** Which receipt of the block has it. */
  readonly receipt: number;
  /** Where the log begins among the items of its receipt's piece, in bytes. */
  readonly start: number;
  readonly length: number;
  /** Where the address begins (its 0x), from the start of the log; undefined when it is written with spaces. */
  readonly addressAt: number | undefined;
  /** Where the array of topics begins; undefined likewise. */
  readonly topicsAt: number | undefined;
  /** The terms of the address and of each topic. */
  readonly terms: readonly number[];
};

/** A receipt, with the places of its logs counted from its own start. */
export type PlacedReceipt = { readonly json: Buffer; readonly logs: readonly LogPlace[] };

type ParsedLog = {
  readonly address?: unknown;
  readonly topics?: unknown;
  readonly removed?: unknown;
};

/**
 * @param parsed The same receipt, parsed.
 * @returns undefined when it is not a receipt with its logs.
 */
export function placeLogs(receipt: Buffer, parsed: unknown): PlacedReceipt | undefined {
  const { logs } = parsed as { logs?: unknown };
  if (!Array.isArray(logs)) return undefined;
  if (logs.length === 0) return { json: receipt, logs: [] };
  if (logs.some((log: ParsedLog) => log.removed === undefined))
    return withRemoved(parsed as object, logs);
  const [span] = findMembers(receipt, ["logs"]) ?? [];
  const elements = span && findElements(receipt.subarray(span.start, span.end));
  if (!span || elements?.length !== logs.length) return undefined;
  const places: LogPlace[] = [];
  for (const [index, element] of elements.entries()) {
    const start = span.start + element.start;
    const log = receipt.subarray(start, span.start + element.end);
    const place = placeOf(log, logs[index]);
    if (!place) return undefined;
    places.push({ ...place, receipt: 0, start, length: log.length });
  }
  return { json: receipt, logs: places };
}

/** Specification, log object: `removed` is there. Some nodes leave it out of receipts. */
function withRemoved(receipt: object, logs: readonly ParsedLog[]): PlacedReceipt | undefined {
  const whole = { ...receipt, logs: logs.map((log) => ({ ...log, removed: false })) };
  return placeLogs(Buffer.from(JSON.stringify(whole)), whole);
}

function placeOf(
  log: Buffer,
  { address, topics }: ParsedLog,
): Pick<LogPlace, "addressAt" | "topicsAt" | "terms"> | undefined {
  if (typeof address !== "string" || !areTopics(topics)) return undefined;
  const terms = [
    hashTerm(address, ADDRESS),
    ...topics.map((topic, index) => hashTerm(topic, placeOfTopic(index))),
  ];
  return {
    addressAt: placeOfText(log, `"address":"${address}"`, '"address":"'.length),
    topicsAt: placeOfText(log, `"topics":${JSON.stringify(topics)}`, '"topics":'.length),
    terms,
  };
}

const areTopics = (topics: unknown): topics is string[] =>
  Array.isArray(topics) &&
  topics.length <= MAX_TOPICS &&
  topics.every((topic) => typeof topic === "string" && topic.length === TOPIC_BYTES);

/** Where the value stands when it is written without spaces, as nodes do. */
function placeOfText(log: Buffer, text: string, before: number): number | undefined {
  const at = log.indexOf(text, 0, "latin1");
  return at < 0 ? undefined : at + before;
}

// The directory: ten numbers of 32 bits a log, in the byte order of the machine that keeps the store.

const MAX_TOPICS = 4;
/** A log's numbers stand at these places behind its first. */
export const WORDS = 10;
const [START, LENGTH, RECEIPT, ADDRESS_AT, TOPICS, ADDRESS_TERM] = [0, 1, 2, 3, 4, 5] as const;
export const FIRST_TERM = ADDRESS_TERM;
const NOWHERE = 0x1fffffff;

export function encodeDirectory(logs: readonly LogPlace[]): Buffer {
  const words = new Uint32Array(logs.length * WORDS);
  logs.forEach((log, index) => {
    const at = index * WORDS;
    words[at + START] = log.start;
    words[at + LENGTH] = log.length;
    words[at + RECEIPT] = log.receipt;
    words[at + ADDRESS_AT] = log.addressAt ?? NOWHERE;
    words[at + TOPICS] = (log.topicsAt ?? NOWHERE) * 8 + (log.terms.length - 1);
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
  const someplace = (offset: number): number | undefined =>
    offset === NOWHERE ? undefined : offset;
  return {
    receipt: word(RECEIPT),
    start: word(START),
    length: word(LENGTH),
    addressAt: someplace(word(ADDRESS_AT)),
    topicsAt: someplace(word(TOPICS) >>> 3),
    terms: [...words.subarray(at + ADDRESS_TERM, at + ADDRESS_TERM + 1 + topicCount)],
  };
}

export const topicCountAt = (words: Uint32Array, index: number): number =>
  (words[index * WORDS + TOPICS] ?? 0) & 7;

// Of `["0x…64 digits","0x…"]` a topic's place follows from its position.
const TOPIC_BYTES = 66;

/** The address of a log, as the node wrote it. @param log The JSON of the log. */
export const addressIn = (log: Buffer, { addressAt }: LogPlace): string =>
  addressAt === undefined
    ? (JSON.parse(log.toString("utf8")) as { address: string }).address
    : log.toString("latin1", addressAt, addressAt + 42);

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
