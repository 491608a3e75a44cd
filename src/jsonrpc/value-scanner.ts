// Finds the end of a JSON string, or of any JSON value, when its bytes come in chunks that are cut anywhere. It keeps
// the nesting and whether it is in a string, never the bytes.

import { BACKSLASH, CLOSE_BRACE, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "./ascii.ts";

/** In ASCII only this bit differs between a brace and the bracket of the same direction. */
const BRACE_BIT = 0x20;
/** A longer string is searched by the runtime's own `indexOf`; the words of memory are shorter. */
const SHORT_STRING = 80;
const MAX_DEPTH = 1 << 20;

/** Instead of an end: the value goes on in the next chunk. */
export const MORE = -1;
/** Instead of an end: no further byte can make it valid. */
export const BROKEN = -2;

export class StringScanner {
  /** Whether the bytes so far end within a string. */
  isInString = false;
  /** In a string: whether the next byte belongs to an escape that has begun. */
  #isEscaped = false;

  /** The offset behind the closing quote, or MORE. `from` is behind the opening quote, or where the next chunk begins. */
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

  /** The next bytes begin outside of strings. */
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
   * To be called with the first byte of each value, which is then the first to be scanned.
   *
   * @returns false when no value begins so.
   */
  begin(first: number): boolean {
    this.#string.reset();
    this.#depth = 0;
    this.#isScalar = first !== QUOTE && first !== OPEN_BRACE && first !== OPEN_BRACKET;
    return !this.#isScalar || isScalarStart(first);
  }

  /** Instead of `begin`, for the rest of an array after its opening bracket. */
  beginInArray(): void {
    this.begin(OPEN_BRACKET);
    this.#open(OPEN_BRACKET);
  }

  /** The offset behind the value, MORE or BROKEN. */
  scan(chunk: Buffer, from: number): number {
    if (this.#isScalar) return scanScalar(chunk, from);
    let at = from;
    if (this.#string.isInString) {
      at = this.#string.scan(chunk, at);
      if (at < 0 || this.#depth === 0) return at;
    }
    return this.#scanNested(chunk, at);
  }

  /** This loop runs over the bytes of large answers. */
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
    this.#closers[this.#depth] = byte + 2; // in ASCII, both closing brackets come two after their opening one
    this.#depth += 1;
    return true;
  }
}

/** Whether the byte at `end` is escaped: by an odd number of backslashes. `from` is behind whole escapes. */
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
