// Checks the answer of a node to a log query against the query: what cannot be its answer.
import { ambiguityIn, TOO_DEEP, whyUnreadable } from "../jsonrpc/ambiguity.ts";
import { ElementReader } from "../jsonrpc/element-reader.ts";
import type { Work } from "../lib/turns.ts";
import { ADDRESS, type LogMatcher, type LogRange } from "./log-filter.ts";
import { isData, isHash, isQuantity, toNumber } from "./values.ts";

export type LogQuestion = {
  readonly matcher: LogMatcher;
  /** Numbers of blocks or epochs, or the hashes of some blocks, in lower case; left out: logs may be anywhere. */
  readonly within?: LogRange | ReadonlySet<string> | undefined;
  /** For an epoch network: addresses have another form, and an epoch has several blocks. */
  readonly isOfEpochs?: boolean;
  /** Logs beyond one more than this are not checked: so many are not answered. */
  readonly most?: number;
};

type Given = {
  /** The number of the block, or the epoch. */
  readonly number: number;
  /** The hash of its block, in lower case, and as it was written. */
  readonly hash: string;
  readonly text: string;
  readonly transaction: number;
  readonly logIndex: number;
};

/** How many bytes are checked between two pauses: a fifth of a millisecond. */
const STEP = 1 << 15;
/** Deeper than any log is nested. */
const LEVELS = 8;

/**
 * Why these cannot be the logs that were asked for: one of them is no log, does not match, is not of these blocks, is
 * out of order or there twice, or two readers may read it differently. It cannot tell whether one is missing.
 * @param json null is how some nodes say that there are none.
 */
export function* findFalse(json: Buffer, question: LogQuestion): Work<string | undefined> {
  if (json.toString("latin1", 0, 4) === "null") return undefined;
  const { most = Number.POSITIVE_INFINITY } = question;
  const elements = new ElementReader(json);
  const seen = new Set<string>();
  let before: Given | undefined;
  let pausedAt = 0;
  for (let count = 0; count <= most && elements.next(); count += 1) {
    const unreadable = whyAmbiguous(json, elements);
    if (unreadable !== undefined) return unreadable;
    const log = readLog(elements.value, before, question);
    if (typeof log === "string") return log;
    const isNewBlock = log.hash !== before?.hash;
    if (isNewBlock && seen.has(log.hash)) return "the logs of a block are not together";
    if (isNewBlock) seen.add(log.hash);
    if (before && !isBehind(log, before, question))
      return "the logs are not in order, or one is there twice";
    before = log;
    if (elements.end - pausedAt < STEP) continue;
    pausedAt = elements.end;
    yield;
  }
  return elements.isBroken ? "this is no list" : undefined;
}

/** Whether they cannot be the logs that were asked for. */
export function* areFalse(json: Buffer, question: LogQuestion): Work<boolean> {
  return (yield* findFalse(json, question)) !== undefined;
}

function whyAmbiguous(
  json: Buffer,
  { start, end, text, value }: ElementReader,
): string | undefined {
  const own = json.subarray(start, end);
  const why = whyUnreadable({ json: own, text, value }, LEVELS);
  return why === TOO_DEEP ? ambiguityIn(own) : why;
}

function readLog(
  log: unknown,
  before: Given | undefined,
  { matcher, within, isOfEpochs }: LogQuestion,
): Given | string {
  if (!isJson(log)) return "something is no log";
  const { address, topics, data, blockHash, transactionHash, transactionIndex, logIndex } = log;
  const number = isOfEpochs ? log["epochNumber"] : log["blockNumber"];
  if (typeof address !== "string" || !(isOfEpochs || isBytes(address, 20)) || !isData(data))
    return "a log without its members";
  const isSame = before !== undefined && blockHash === before.text;
  if (!isHash(transactionHash) || !(isSame || isHash(blockHash))) return "a log without its hashes";
  if (!isQuantity(number) || !isQuantity(transactionIndex) || !isQuantity(logIndex))
    return "a log without its place";
  if (!isTopics(topics)) return "a log without its topics";
  const isByHash = within !== undefined && "has" in within; // of blocks by their hashes, which may have been removed
  const { removed = false } = log;
  if (removed !== false && !(isByHash && removed === true)) return "a log that is removed";
  const given = {
    number: toNumber(number),
    text: blockHash as string,
    hash: isSame ? before.hash : (blockHash as string).toLowerCase(),
    transaction: toNumber(transactionIndex),
    logIndex: toNumber(logIndex),
  };
  if (!isWithin(given, within)) return "a log of another block";
  return matches(matcher, address, topics) ? given : "a log that does not match";
}

const isJson = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isBytes = (value: unknown, length: number): value is string =>
  isData(value) && value.length === 2 + 2 * length;

const isTopics = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length <= 4 && value.every((topic) => isBytes(topic, 32));

const isWithin = ({ number, hash }: Given, within: LogQuestion["within"]): boolean =>
  within === undefined ||
  ("has" in within ? within.has(hash) : number >= within.from && number <= within.to);

function matches(
  { conditions, leastTopics }: LogMatcher,
  address: string,
  topics: readonly string[],
): boolean {
  if (topics.length < leastTopics) return false;
  return conditions.every(({ field, values }) => {
    const value = field === ADDRESS ? address : topics[field - 1];
    return value !== undefined && values.has(value.toLowerCase());
  });
}

/** A number means one block, or an epoch with several. Within a block logs are numbered through all transactions. */
function isBehind(log: Given, before: Given, { isOfEpochs = false }: LogQuestion): boolean {
  if (log.number !== before.number) return log.number > before.number && log.hash !== before.hash;
  if (log.hash !== before.hash) return isOfEpochs;
  return log.logIndex > before.logIndex && log.transaction >= before.transaction;
}
