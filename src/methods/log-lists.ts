// Joins and counts lists of logs, and of other objects, that are already JSON, without parsing them; refuses lists with
// too many logs. Few logs become one text; many logs are read from the store while they are sent.
import type { LogSelection } from "../chain/log-selection.ts";
import type { LogRange } from "../evm/log-filter.ts";
import { isQuantity, toNumber, toQuantity } from "../evm/values.ts";
import { COMMA, OPEN_BRACE } from "../jsonrpc/ascii.ts";
import { findElements, findMembers, textOf } from "../jsonrpc/members.ts";
import {
  type AnswerJson,
  assembleJson,
  type JsonSource,
  type RawJson,
} from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";

/** Logs in chain order: the logs themselves, or their positions in the store. */
export type LogRun = readonly Buffer[] | LogSelection;

export const isSelection = (run: LogRun): run is LogSelection => !Array.isArray(run);

/** The bytes of stored logs that the price of a call covers, and those that one compute unit pays for beyond them. */
const COVERED_BYTES = 262_144;
const BYTES_OF_A_UNIT = 65_536;

/** The price of stored logs beyond that of the call, in compute units. */
export const unitsOfLogs = ({ length }: Pick<LogSelection, "length">): number =>
  Math.max(0, Math.ceil((length - COVERED_BYTES) / BYTES_OF_A_UNIT));

/** One array of the values. @param before An array of objects, which come first. */
export function joinJson(values: readonly RawJson[], before?: Buffer): RawJson {
  if (values.length === 0) return before ?? "[]";
  const pieces = values.map((value) => (typeof value === "string" ? Buffer.from(value) : value));
  return joined(before ? [...insideOf(before), ...pieces] : pieces);
}

/** One array of the elements of several arrays of objects. */
export function joinArrays(arrays: readonly Buffer[]): Buffer {
  const [only] = arrays;
  if (only && arrays.length === 1) return only;
  const whole = joined(arrays.flatMap(insideOf));
  return typeof whole === "string" ? Buffer.from(whole) : whole;
}

/** The bytes between the brackets of an array; none for an empty array. */
const insideOf = (array: Buffer): Buffer[] =>
  array.includes(OPEN_BRACE)
    ? [array.subarray(array.indexOf("[") + 1, array.lastIndexOf("]"))]
    : [];

function joined(pieces: readonly Buffer[]): RawJson {
  if (pieces.length === 0) return "[]";
  const bytes = pieces.reduce((sum, piece) => sum + piece.length + 1, 1);
  return assembleJson(bytes, (into) => {
    let at = into.write("[");
    for (const piece of pieces) {
      at += piece.copy(into, at);
      into[at] = COMMA;
      at += 1;
    }
    into.write("]", at - 1);
  });
}

/** One array of the logs. @param before An array of logs, which come first. */
export function joinLogs(found: LogSelection, before?: Buffer): AnswerJson {
  if (found.fewRuns) return joinJson(found.fewRuns, before);
  const [inside] = before ? insideOf(before) : [];
  return new ManyLogs(inside ? [[inside], found] : [found]);
}

/** Joins the runs in their order. */
export function joinRuns(runs: readonly LogRun[]): AnswerJson {
  const all = runs.map((run) => (isSelection(run) ? run.fewRuns : run));
  const isFew = all.every((logs) => logs !== undefined);
  return isFew ? joinJson(all.flat()) : new ManyLogs(runs);
}

const SEPARATOR = Buffer.from(",");
const OPEN = Buffer.from("[");
const CLOSE = Buffer.from("]");

class ManyLogs implements JsonSource {
  readonly length: number;
  /** No run is empty. */
  readonly #runs: readonly LogRun[];

  constructor(runs: readonly LogRun[]) {
    this.#runs = runs;
    const commas = runs.length - 1;
    this.length = runs.reduce((sum, run) => sum + lengthOf(run), OPEN.length + commas + 1);
  }

  get heldBytes(): number {
    return this.#runs.reduce(
      (sum, run) => sum + (isSelection(run) ? run.heldBytes : lengthOf(run)),
      0,
    );
  }

  *chunks(): Generator<Buffer> {
    for (const [index, run] of this.#runs.entries()) {
      yield index === 0 ? OPEN : SEPARATOR;
      if (isSelection(run)) yield* run.chunks();
      else yield Buffer.from(joinJson(run)).subarray(OPEN.length, -CLOSE.length);
    }
    yield CLOSE;
  }
}

/** The bytes of a run with commas between the logs. */
const lengthOf = (run: LogRun): number =>
  isSelection(run) ? run.length : run.reduce((sum, { length }) => sum + length, run.length - 1);

/**
 * Throws for more logs than allowed, and proposes a range with no more. No query can split a block, so a range of one
 * block may have any number of logs.
 * @param logs A node's JSON array, in chain order.
 */
export function refuseTooMany(logs: Buffer, { from, to }: LogRange, limit: number): void {
  if (from === to || countLogs(logs, limit) <= limit) return;
  const firstTooMany = findElements(logs)?.[limit];
  const number = firstTooMany && blockNumberOf(logs.subarray(firstTooMany.start, firstTooMany.end));
  if (number === undefined) throw errors.upstreamsFailed(); // the counted name is in no log
  // A range that ends before the block of the first log too many has at most `limit` logs.
  const last = Math.min(to, Math.max(from, number - 1));
  throw errors.tooManyLogs(limit, { from: toQuantity(from), to: toQuantity(last) });
}

const BLOCK_NUMBER = Buffer.from('"blockNumber"');

/**
 * How many logs a JSON array has; stops counting beyond `limit`. Counts the name `blockNumber`, which every log has,
 * and which no string of a log can contain with its quotes.
 */
export function countLogs(json: Buffer, limit = Number.POSITIVE_INFINITY): number {
  let count = 0;
  for (let at = json.indexOf(BLOCK_NUMBER); at >= 0 && count <= limit; count += 1) {
    at = json.indexOf(BLOCK_NUMBER, at + 1);
  }
  return count;
}

/** The number of a log's block; undefined when the bytes are no log of a block. */
export function blockNumberOf(log: Buffer): number | undefined {
  const [span] = findMembers(log, ["blockNumber"]) ?? [];
  const number = span && textOf(log, span).slice(1, -1);
  return isQuantity(number) ? toNumber(number) : undefined;
}
