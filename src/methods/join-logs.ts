// The answer to a log query: a few logs as one text, many as they are sent.
import type { LogSelection } from "../chain/log-selection.ts";
import { OPEN_BRACE } from "../jsonrpc/ascii.ts";
import type { AnswerJson, JsonSource } from "../jsonrpc/envelope.ts";
import { joinJson } from "./join-json.ts";

/** @param before An array of logs, which come first. */
export function joinLogs(found: LogSelection, before?: Buffer): AnswerJson {
  return found.few ? joinJson(found.few, before) : new ManyLogs(found, before);
}

const COMMA = Buffer.from(",");
const OPEN = Buffer.from("[");
const CLOSE = Buffer.from("]");

class ManyLogs implements JsonSource {
  readonly #found: LogSelection;
  readonly #before: readonly Buffer[];

  constructor(found: LogSelection, before: Buffer | undefined) {
    this.#found = found;
    const hasLogs = before?.includes(OPEN_BRACE);
    const inside = hasLogs && before?.subarray(before.indexOf("[") + 1, before.lastIndexOf("]"));
    this.#before = inside ? [OPEN, inside, COMMA] : [OPEN];
  }

  get length(): number {
    return this.#beforeBytes + this.#found.length + CLOSE.length;
  }

  get heldBytes(): number {
    return this.#beforeBytes + this.#found.heldBytes;
  }

  *chunks(): Generator<Buffer> {
    yield* this.#before;
    yield* this.#found.chunks();
    yield CLOSE;
  }

  get #beforeBytes(): number {
    return this.#before.reduce((sum, { length }) => sum + length, 0);
  }
}
