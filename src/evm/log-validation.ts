// Checks a node's result of a log query against the query, and finds results that cannot be true.
import { ambiguityIn, TOO_DEEP, whyUnreadable } from "../jsonrpc/ambiguity.ts";
import { ElementReader } from "../jsonrpc/element-reader.ts";
import type { Work } from "../lib/turns.ts";
import { ADDRESS, type LogMatcher, type LogRange } from "./log-filter.ts";
import { isData, isHash, isQuantity, toNumber } from "./values.ts";

export type LogExpectation = {
  readonly matcher: LogMatcher;
  /** The numbers of blocks or epochs, or the hashes of blocks in lower case; left out: any block. */
  readonly within?: LogRange | ReadonlySet<string> | undefined;
  /** For an epoch network: addresses have another format, and an epoch has several blocks. */
  readonly isOfEpochs?: boolean;
  /** The most logs that callers are answered. Logs beyond one more than this are not checked. */
  readonly most?: number;
};

type Given = {
  /** The number of the block, or the epoch. */
  readonly number: number;
  /** The hash of the log's block, in lower case; `text` is the hash as the node wrote it. */
  readonly hash: string;
  readonly text: string;
  readonly transaction: number;
  readonly logIndex: number;
};

/** Bytes checked between two pauses: a fifth of a millisecond. */
const STEP = 1 << 15;
/** Levels. No valid log nests deeper. */
const LEVELS = 8;

/**
 * Why these cannot be the logs that the query asks for: an element is not a log, does not match, belongs to another
 * block, is out of order or repeated, or two readers may read it differently. Missing logs are not detected.
 * @param json The node's result; some nodes write null for an empty list.
 */
export function* findLogMistake(json: Buffer, expected: LogExpectation): Work<string | undefined> {
  if (json.toString("latin1", 0, 4) === "null") return undefined;
  const { most = Number.POSITIVE_INFINITY } = expected;
  const elements = new ElementReader(json);
  const seen = new Set<string>();
  let before: Given | undefined;
  let pausedAt = 0;
  for (let count = 0; count <= most && elements.next(); count += 1) {
    const unreadable = whyAmbiguous(json, elements);
    if (unreadable !== undefined) return unreadable;
    const log = readLog(elements.value, before, expected);
    if (typeof log === "string") return log;
    const isNewBlock = log.hash !== before?.hash;
    if (isNewBlock && seen.has(log.hash)) return "the logs of a block are not together";
    if (isNewBlock) seen.add(log.hash);
    if (before && !isBehind(log, before, expected))
      return "the logs are not in order, or one is there twice";
    before = log;
    if (elements.end - pausedAt < STEP) continue;
    pausedAt = elements.end;
    yield;
  }
  return elements.isBroken ? "this is no list" : undefined;
}

/** Whether these cannot be the logs that the query asks for; see `findLogMistake`. */
export function* areLogsInvalid(json: Buffer, expected: LogExpectation): Work<boolean> {
  return (yield* findLogMistake(json, expected)) !== undefined;
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
  { matcher, within, isOfEpochs }: LogExpectation,
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
  const isByHash = within !== undefined && "has" in within; // a block asked for by its hash may be off the chain
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

const isWithin = ({ number, hash }: Given, within: LogExpectation["within"]): boolean =>
  within === undefined ||
  ("has" in within ? within.has(hash) : number >= within.from && number <= within.to);

/** Whether a log with this address and these topics matches. */
export function matches(
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

/** Blocks have one number each, but an epoch has several blocks. Log indexes rise through a block's transactions. */
function isBehind(log: Given, before: Given, { isOfEpochs = false }: LogExpectation): boolean {
  if (log.number !== before.number) return log.number > before.number && log.hash !== before.hash;
  if (log.hash !== before.hash) return isOfEpochs;
  return log.logIndex > before.logIndex && log.transaction >= before.transaction;
}
