// Finds the end of a JSON string, or of any JSON value, in chunks that are cut anywhere. A scanner keeps the nesting,
// and whether it is in a string, but no bytes.

import { BACKSLASH, CLOSE_BRACE, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "./ascii.ts";

/** The only bit in which, in ASCII, a brace differs from the bracket of the same direction. */
const BRACE_BIT = 0x20;
/** Bytes. The runtime's own `indexOf` searches the rest of a longer string; a trace's memory words are shorter. */
const SHORT_STRING = 80;
const MAX_DEPTH = 1 << 20;

/** In place of an offset: the value continues in the next chunk. */
export const MORE = -1;
/** In place of an offset: no further byte can make the value valid. */
export const BROKEN = -2;

export class StringScanner {
  /** Whether the bytes so far end within a string. */
  isInString = false;
  /** Whether the next byte of the string belongs to an escape that has begun. */
  #isEscaped = false;

  /** @param from Behind the opening quote, or the chunk's start. @returns The offset behind the string, or MORE. */
  scan(chunk: Buffer, from: number): number {
    const { length } = chunk;
    let at = this.#isEscaped ? from + 1 : from;
    this.#isEscaped = false;
    this.isInString = false;
    const soon = Math.min(at + SHORT_STRING, length);
    while (at < soon) {
      const byte = chunk[at];
      if (byte === QUOTE) return at + 1;
      at += byte === BACKSLASH ? 2 : 1;
    }
    while (at < length) {
      const quote = chunk.indexOf(QUOTE, at);
      const end = quote < 0 ? length : quote;
      const isEscaped = endsInEscape(chunk, at, end);
      if (quote >= 0 && !isEscaped) return quote + 1;
      at = isEscaped ? end + 1 : end;
    }
    this.isInString = true;
    this.#isEscaped = at > length;
    return MORE;
  }

  /** Prepares the scanner for bytes that begin outside of strings. */
  reset(): void {
    this.isInString = false;
    this.#isEscaped = false;
  }
}

export class ValueScanner {
  #isScalar = false;
  readonly #string = new StringScanner();
  #depth = 0;
  /** For each open bracket, the byte that closes it. */
  #closers = new Uint8Array(64);

  /**
   * Must be called with the first byte of each value; `scan` begins with the same byte.
   *
   * @returns false when no value begins with this byte.
   */
  begin(first: number): boolean {
    this.#string.reset();
    this.#depth = 0;
    this.#isScalar = first !== QUOTE && first !== OPEN_BRACE && first !== OPEN_BRACKET;
    return !this.#isScalar || isScalarStart(first);
  }

  /** Replaces `begin` when only the rest of an array, behind its opening bracket, is scanned. */
  beginInArray(): void {
    this.begin(OPEN_BRACKET);
    this.#open(OPEN_BRACKET);
  }

  /** @returns The offset behind the value, MORE or BROKEN. */
  scan(chunk: Buffer, from: number): number {
    if (this.#isScalar) return scanScalar(chunk, from);
    let at = from;
    if (this.#string.isInString) {
      at = this.#string.scan(chunk, at);
      if (at < 0 || this.#depth === 0) return at;
    }
    return this.#scanNested(chunk, at);
  }

  /** This loop passes over all bytes of large results. */
  #scanNested(chunk: Buffer, from: number): number {
    const { length } = chunk;
    let at = from;
    while (at < length) {
      const byte = chunk[at] ?? 0;
      at += 1;
      if (byte === QUOTE) {
        at = this.#string.scan(chunk, at);
        if (at < 0 || this.#depth === 0) return at;
      } else if ((byte | BRACE_BIT) === OPEN_BRACE) {
        if (!this.#open(byte)) return BROKEN;
      } else if ((byte | BRACE_BIT) === CLOSE_BRACE) {
        this.#depth -= 1;
        if (this.#closers[this.#depth] !== byte) return BROKEN;
        if (this.#depth === 0) return at;
      }
    }
    return MORE;
  }

  #open(byte: number): boolean {
    if (this.#depth === MAX_DEPTH) return false;
    if (this.#depth === this.#closers.length) {
      const wider = new Uint8Array(this.#closers.length * 2);
      wider.set(this.#closers);
      this.#closers = wider;
    }
    this.#closers[this.#depth] = byte + 2; // in ASCII, `]` is two after `[`, and `}` two after `{`
    this.#depth += 1;
    return true;
  }
}

/** Whether an odd number of backslashes escapes the byte at `end`. No escape may reach across `from`. */
function endsInEscape(chunk: Buffer, from: number, end: number): boolean {
  let backslashes = 0;
  while (end - backslashes > from && chunk[end - backslashes - 1] === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}

const isScalarStart = (byte: number): boolean =>
  byte === 0x2d || (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7a);

function scanScalar(chunk: Buffer, from: number): number {
  for (let at = from; at < chunk.length; at += 1) {
    const byte = chunk[at] ?? 0;
    if (byte <= 0x20 || byte === COMMA || (byte | BRACE_BIT) === CLOSE_BRACE) return at;
    if (byte === QUOTE || byte === COLON || (byte | BRACE_BIT) === OPEN_BRACE) return BROKEN;
  }
  return MORE;
}
