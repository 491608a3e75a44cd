// Checks a node's result of a log query against the query: finds results that cannot be true, and puts logs that are
// merely out of order into the order of the chain.
import { ambiguityIn, TOO_DEEP, whyUnreadable } from "../jsonrpc/ambiguity.ts";
import { ElementReader } from "../jsonrpc/element-reader.ts";
import type { Span } from "../jsonrpc/members.ts";
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
 * block or to one of two blocks at one height, is there twice, or two readers may read it differently. Missing logs are
 * not detected. Logs in another order than the chain's are odd, and no mistake; see `inChainOrder`. That order is of
 * blocks, then transactions, then log indexes: on some chains the log index begins anew in each transaction. The
 * gateway does not know the order of an epoch's blocks, so disorder is a mistake there.
 * @param json The node's result; some nodes write null for an empty list.
 */
export function* findLogMistake(json: Buffer, expected: LogExpectation): Work<string | undefined> {
  const found = yield* checkEach(json, expected);
  if (found.kind === "false") return found.reason;
  if (found.kind === "in order") return undefined;
  if (expected.isOfEpochs) return "the logs are not in order, or one is there twice";
  const ordered = yield* putInOrder(json);
  if (!ordered) return TWICE;
  inOrderByGiven.set(json, ordered);
  return undefined;
}

/** Whether these cannot be the logs that the query asks for; see `findLogMistake`. */
export function* refuteLogs(json: Buffer, expected: LogExpectation): Work<boolean> {
  return (yield* findLogMistake(json, expected)) !== undefined;
}

/** Whether `findLogMistake` found these logs odd. @param json The bytes that were checked, not a copy of them. */
export const areLogsOdd = (json: Buffer): boolean => inOrderByGiven.has(json);

/** The logs in chain order, each as the node wrote it. @param json The bytes that were checked, not a copy of them. */
export const inChainOrder = (json: Buffer): Buffer => inOrderByGiven.get(json) ?? json;

/** Callers that share an answer share its bytes, and the answer was checked for the first of them alone. */
const inOrderByGiven = new WeakMap<Buffer, Buffer>();

const TWICE = "a log is there twice";

/** Odd: the logs are out of order, or several have one log index, which nothing proven contradicts. */
type LogVerdict =
  | { readonly kind: "in order" | "odd" }
  | { readonly kind: "false"; readonly reason: string };

const mistake = (reason: string): LogVerdict => ({ kind: "false", reason });

function* checkEach(json: Buffer, expected: LogExpectation): Work<LogVerdict> {
  if (json.toString("latin1", 0, 4) === "null") return { kind: "in order" };
  const { most = Number.POSITIVE_INFINITY } = expected;
  const elements = new ElementReader(json);
  const blocks = new SeenBlocks(expected);
  let before: Given | undefined;
  let beforeAt = { start: 0, end: 0 };
  let isOdd = false;
  let pausedAt = 0;
  for (let count = 0; count <= most && elements.next(); count += 1) {
    const unreadable = whyAmbiguous(json, elements);
    if (unreadable !== undefined) return mistake(unreadable);
    const log = readLog(elements.value, before, expected);
    if (typeof log === "string") return mistake(log);
    if (log.hash !== before?.hash || log.number !== before.number) {
      const contradiction = blocks.whyNot(log);
      if (contradiction !== undefined) return mistake(contradiction);
    }
    if (before && !isBehind(log, before)) {
      if (isSameText(json, beforeAt, elements)) return mistake(TWICE);
      isOdd = true;
    }
    before = log;
    beforeAt = { start: elements.start, end: elements.end };
    if (elements.end - pausedAt < STEP) continue;
    pausedAt = elements.end;
    yield;
  }
  if (elements.isBroken) return mistake("this is no list");
  return { kind: isOdd ? "odd" : "in order" };
}

const isSameText = (json: Buffer, one: Span, other: Span): boolean =>
  json.subarray(one.start, one.end).equals(json.subarray(other.start, other.end));

/** The blocks that logs named so far. Blocks have one number and one hash each, but an epoch has several blocks. */
class SeenBlocks {
  readonly #numberByHash = new Map<string, number>();
  readonly #hashByNumber = new Map<number, string>();
  readonly #isOfEpochs: boolean;

  constructor({ isOfEpochs = false }: LogExpectation) {
    this.#isOfEpochs = isOfEpochs;
  }

  /** Why the log's block cannot stand beside the others; remembers the block. */
  whyNot({ number, hash }: Given): string | undefined {
    const known = this.#numberByHash.get(hash);
    if (known !== undefined && known !== number) return "two blocks of one hash";
    this.#numberByHash.set(hash, number);
    if (this.#isOfEpochs)
      return known === undefined ? undefined : "the logs of a block are not together";
    const other = this.#hashByNumber.get(number);
    if (other !== undefined && other !== hash) return "two blocks at one height";
    this.#hashByNumber.set(number, hash);
    return undefined;
  }
}

type Position = Pick<Given, "number" | "transaction" | "logIndex"> & Span;

/** How many logs are sorted, and how many are merged or copied, between two pauses. */
const SORTED_AT_ONCE = 1_024;

/**
 * One array of the same logs in chain order; of logs with the same position the order stays. The bytes of each log stay.
 * @returns undefined when a log is there twice, in the same bytes.
 */
function* putInOrder(json: Buffer): Work<Buffer | undefined> {
  const logs = yield* sortInSteps(yield* positionsIn(json));
  const pieces: Buffer[] = [OPEN];
  for (const [index, log] of logs.entries()) {
    const before = logs[index - 1];
    if (before && comparePositions(before, log) === 0 && isSameText(json, before, log))
      return undefined;
    if (before) pieces.push(SEPARATOR);
    pieces.push(json.subarray(log.start, log.end));
    if (index % SORTED_AT_ONCE === 0) yield;
  }
  pieces.push(CLOSE);
  return Buffer.concat(pieces);
}

const [OPEN, SEPARATOR, CLOSE] = ["[", ",", "]"].map((text) => Buffer.from(text)) as [
  Buffer,
  Buffer,
  Buffer,
];

function* positionsIn(json: Buffer): Work<Position[]> {
  const elements = new ElementReader(json);
  const logs: Position[] = [];
  let pausedAt = 0;
  while (elements.next()) {
    const { start, end, value } = elements;
    logs.push({ ...positionOf(value), start, end });
    if (end - pausedAt < STEP) continue;
    pausedAt = end;
    yield;
  }
  return logs;
}

/** Logs beyond the most that are answered were not checked: those without a position come last. */
function positionOf(log: unknown): Omit<Position, keyof Span> {
  const { blockNumber, transactionIndex, logIndex } = isJson(log) ? log : {};
  const [number, transaction, index] = [blockNumber, transactionIndex, logIndex].map((value) =>
    isQuantity(value) ? toNumber(value) : Number.MAX_SAFE_INTEGER,
  ) as [number, number, number];
  return { number, transaction, logIndex: index };
}

const comparePositions = (a: Position, b: Position): number =>
  a.number - b.number || a.transaction - b.transaction || a.logIndex - b.logIndex;

/** Sorts short runs, and merges runs until one is left, so that no step takes long. */
function* sortInSteps(logs: readonly Position[]): Work<readonly Position[]> {
  let runs: Position[][] = [];
  for (let at = 0; at < logs.length; at += SORTED_AT_ONCE) {
    runs.push(logs.slice(at, at + SORTED_AT_ONCE).sort(comparePositions));
    yield;
  }
  while (runs.length > 1) {
    const merged: Position[][] = [];
    for (let at = 0; at < runs.length; at += 2)
      merged.push(yield* mergeInSteps(runs[at] ?? [], runs[at + 1] ?? []));
    runs = merged;
  }
  return runs[0] ?? [];
}

/** @param older Its logs come first where the positions are the same. */
function* mergeInSteps(older: Position[], newer: Position[]): Work<Position[]> {
  const merged: Position[] = [];
  let [left, right] = [0, 0];
  while (left < older.length || right < newer.length) {
    const [one, other] = [older[left], newer[right]];
    const next = !other || (one && comparePositions(one, other) <= 0) ? one : other;
    if (next === one) left += 1;
    else right += 1;
    merged.push(next as Position);
    if (merged.length % SORTED_AT_ONCE === 0) yield;
  }
  return merged;
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

/** Whether the log comes after the other. Blocks of one epoch may come in any order. */
function isBehind(log: Given, before: Given): boolean {
  if (log.number !== before.number) return log.number > before.number;
  if (log.hash !== before.hash) return true;
  if (log.transaction !== before.transaction) return log.transaction > before.transaction;
  return log.logIndex > before.logIndex;
}
