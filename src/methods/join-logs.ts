// The answer to a log query: a few logs as one text, many as they are sent.
import type { LogSelection } from "../chain/log-selection.ts";
import { OPEN_BRACE } from "../jsonrpc/ascii.ts";
import type { AnswerJson, JsonSource } from "../jsonrpc/raw-json.ts";
import { joinJson } from "./join-json.ts";
import { isSelection, type LogRun } from "./newest-logs.ts";

/** @param before An array of logs, which come first. */
export function joinLogs(found: LogSelection, before?: Buffer): AnswerJson {
  if (found.few) return joinJson(found.few, before);
  const hasLogs = before?.includes(OPEN_BRACE);
  const inside = hasLogs && before?.subarray(before.indexOf("[") + 1, before.lastIndexOf("]"));
  return new ManyLogs(inside ? [[inside], found] : [found]);
}

/** In their order. */
export function joinRuns(runs: readonly LogRun[]): AnswerJson {
  const all = runs.map((run) => (isSelection(run) ? run.few : run));
  const isFew = all.every((logs) => logs !== undefined);
  return isFew ? joinJson(all.flat()) : new ManyLogs(runs);
}

const COMMA = Buffer.from(",");
const OPEN = Buffer.from("[");
const CLOSE = Buffer.from("]");

class ManyLogs implements JsonSource {
  readonly length: number;
  /** None is empty. */
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
      yield index === 0 ? OPEN : COMMA;
      if (isSelection(run)) yield* run.chunks();
      else yield Buffer.from(joinJson(run)).subarray(OPEN.length, -CLOSE.length);
    }
    yield CLOSE;
  }
}

/** With commas between them, in bytes. */
const lengthOf = (run: LogRun): number =>
  isSelection(run) ? run.length : run.reduce((sum, { length }) => sum + length, run.length - 1);
