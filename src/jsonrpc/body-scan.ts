// Checks a body before it is parsed: how deep it nests, and how many members a batch has. Parsing is expensive; this
// scan is one pass over the bytes, which ends when a bound is exceeded.
import { CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "./ascii.ts";
import { StringScanner } from "./value-scanner.ts";

export type BodyBounds = {
  /** Levels of arrays and objects, including the outermost. */
  readonly depth: number;
  /** Members of a batch. */
  readonly members: number;
};

export type BodyVerdict = "within bounds" | "too deep" | "too many members";

/** Takes a body in one piece or several. The parser, not the scan, detects bodies that are not JSON. */
export class BodyScan {
  /** How many brackets are open. */
  #depth = 0;
  /** How many members of a batch came after a comma. */
  #furtherMembers = 0;
  /** undefined before the first bracket. */
  #isBatch: boolean | undefined;
  readonly #string = new StringScanner();
  readonly #bounds: BodyBounds;

  constructor(bounds: BodyBounds) {
    this.#bounds = bounds;
  }

  /**
   * Scans the next bytes of the body.
   *
   * @param marks Receives the offsets of a batch's own brackets and commas.
   * @returns The verdict on all bytes so far.
   */
  take(bytes: Buffer, marks?: number[]): BodyVerdict {
    const { length } = bytes;
    if (length === 0) return "within bounds";
    const { depth: deepest, members } = this.#bounds;
    let depth = this.#depth;
    let at = this.#string.isInString ? this.#string.scan(bytes, 0) : 0;
    while (at >= 0 && at < length) {
      const byte = bytes[at];
      at += 1;
      if (byte === QUOTE) {
        at = this.#string.scan(bytes, at);
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
}
