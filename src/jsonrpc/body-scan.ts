// Looks over a body before it is parsed: how deep it nests, and how many members a batch has. Parsing is
// what costs; this is one pass over the bytes, and it ends where a bound is passed.
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "./ascii.ts";

export type BodyBounds = {
  /** Levels of arrays and objects, the outermost included. */
  readonly depth: number;
  /** Members of a batch. */
  readonly members: number;
};

export type BodyVerdict = "within bounds" | "too deep" | "too many members";

/** Beyond this a string is searched by the runtime's own `indexOf`. */
const SHORT_STRING = 48;

/** Takes a body as it comes, in one piece or in several. What is no JSON at all is left to the parser. */
export class BodyScan {
  /** Of the brackets that are open. */
  #depth = 0;
  /** Of a batch, those behind a comma. */
  #furtherMembers = 0;
  /** undefined before the first bracket. */
  #isBatch: boolean | undefined;
  #isInString = false;
  /** The next byte belongs to an escape. */
  #isEscaped = false;
  readonly #bounds: BodyBounds;

  constructor(bounds: BodyBounds) {
    this.#bounds = bounds;
  }

  /**
   * @param marks Is filled with the places of a batch's own brackets and commas.
   * @returns What is known of the body with these bytes, which follow those that were taken before.
   */
  take(bytes: Buffer, marks?: number[]): BodyVerdict {
    const { length } = bytes;
    if (length === 0) return "within bounds";
    const { depth: deepest, members } = this.#bounds;
    let depth = this.#depth;
    let at = this.#isEscaped ? 1 : 0;
    this.#isEscaped = false;
    if (this.#isInString) at = this.#skipString(bytes, at);
    while (at < length) {
      const byte = bytes[at];
      at += 1;
      if (byte === QUOTE) {
        at = this.#skipString(bytes, at);
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        this.#isBatch ??= byte === OPEN_BRACKET;
        depth += 1;
        if (depth > deepest) return "too deep";
        if (depth === 1) marks?.push(at - 1);
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        depth -= 1;
        if (depth === 0) marks?.push(at - 1);
      } else if (depth === 1 && byte === COMMA && this.#isBatch) {
        this.#furtherMembers += 1;
        if (this.#furtherMembers >= members) return "too many members";
        marks?.push(at - 1);
      }
    }
    this.#depth = depth;
    return "within bounds";
  }

  /** The place behind the string's closing quote, or the end of these bytes. */
  #skipString(bytes: Buffer, from: number): number {
    const { length } = bytes;
    const soon = Math.min(from + SHORT_STRING, length);
    for (let at = from; at < soon; at += 1) {
      const byte = bytes[at];
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) {
        this.#isInString = false;
        return at + 1;
      }
    }
    return this.#skipLongString(bytes, from);
  }

  #skipLongString(bytes: Buffer, from: number): number {
    const { length } = bytes;
    for (let at = from; ; ) {
      const quote = bytes.indexOf(QUOTE, at);
      const end = quote < 0 ? length : quote;
      // What follows is escaped by an odd number of backslashes. `at` stands behind whole escapes.
      let backslashes = 0;
      while (end - backslashes > at && bytes[end - backslashes - 1] === BACKSLASH) backslashes += 1;
      const isEscaped = backslashes % 2 === 1;
      this.#isInString = quote < 0 || isEscaped;
      if (quote < 0) this.#isEscaped = isEscaped;
      if (!this.#isInString) return quote + 1;
      if (quote < 0) return length;
      at = quote + 1;
    }
  }
}
