// Reads a JSON document that is larger than memory should hold: the elements of one array in it are
// handed out one by one as their bytes arrive, and only the rest is kept.

import { CLOSE_BRACE, COLON, COMMA, isSpace, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "./ascii.ts";
import { ArrayReader } from "./element-stream-array.ts";
import { GrowingBytes } from "./element-stream-bytes.ts";
import { BROKEN, ValueScanner } from "./element-stream-value.ts";

export type ElementStreamOptions = {
  /** Where the array is, e.g. ["result", "structLogs"]: members of objects from the top. */
  readonly path: readonly string[];
  /** Of one element, and of all that is not an element, in bytes. */
  readonly maxElementBytes: number;
  readonly maxRestBytes: number;
};

type KeyPlace = "behind brace" | "behind comma" | "in key" | "behind key";
type Place = KeyPlace | "before value" | "in value" | "behind value" | "in array" | "at end";

export class ElementStream {
  readonly #path: readonly string[];
  readonly #array: ArrayReader;
  readonly #value = new ValueScanner();
  readonly #rest: GrowingBytes;
  /** From here on the current chunk is still to go to the rest; undefined within the array, which never does. */
  #restFrom: number | undefined = 0;
  #keyStartInRest = 0;
  #place: Place = "before value";
  /** How many objects are open, all of them on the path: others are passed over as one value. */
  #depth = 0;
  /** Whether the keys down to the value that comes next are those of the path. */
  #isOnPath = true;
  #isBroken = false;

  /** @param onElement Gets the parsed element; false: the others are of no use and are only skipped. */
  constructor(options: ElementStreamOptions, onElement: (element: unknown) => boolean) {
    this.#path = options.path;
    this.#array = new ArrayReader(options, onElement);
    this.#rest = new GrowingBytes(options.maxRestBytes);
  }

  /** What it takes in memory, in bytes. */
  get heldBytes(): number {
    return this.#array.heldBytes + this.#rest.heldBytes;
  }

  /** @returns false when the document is malformed or too large: further chunks are of no use. */
  add(chunk: Buffer): boolean {
    if (this.#isBroken) return false;
    let at = 0;
    while (at >= 0 && at < chunk.length) at = this.#step(chunk, at);
    this.#isBroken = at === BROKEN || !this.#keep(chunk, chunk.length);
    if (this.#restFrom !== undefined) this.#restFrom = 0;
    return !this.#isBroken;
  }

  /**
   * The document with `[]` in place of the array. Its nesting is sound; its numbers, words and what
   * stands within the values off the path are not checked further.
   *
   * @returns undefined when it was cut off, malformed, too large, or neither an object nor an array.
   */
  finish(): Buffer | undefined {
    return this.#place === "at end" && !this.#isBroken ? this.#rest.view() : undefined;
  }

  /** The place to go on from, MORE or BROKEN. */
  #step(chunk: Buffer, at: number): number {
    if (this.#place === "in array") return this.#endArray(this.#array.read(chunk, at));
    if (this.#place === "in value") return this.#endValue(this.#value.scan(chunk, at));
    if (this.#place === "in key") return this.#endKey(chunk, this.#value.scan(chunk, at));
    return isSpace(chunk[at] ?? 0) ? at + 1 : this.#takeToken(chunk, at);
  }

  #takeToken(chunk: Buffer, at: number): number {
    const byte = chunk[at] ?? 0;
    const place = this.#place;
    if (place === "before value") return this.#beginValue(chunk, at);
    if (byte === QUOTE && (place === "behind brace" || place === "behind comma")) {
      this.#keyStartInRest = this.#rest.length + at - (this.#restFrom ?? at);
      return this.#goTo("in key", this.#value.begin(byte) ? at : BROKEN);
    }
    if (byte === COLON && place === "behind key") return this.#goTo("before value", at + 1);
    if (byte === COMMA && place === "behind value") return this.#goTo("behind comma", at + 1);
    if (byte === CLOSE_BRACE && (place === "behind brace" || place === "behind value")) {
      this.#depth -= 1;
      return this.#endValue(at + 1);
    }
    return BROKEN;
  }

  #beginValue(chunk: Buffer, at: number): number {
    const byte = chunk[at] ?? 0;
    if (this.#isOnPath && byte === OPEN_BRACE && this.#depth < this.#path.length) {
      this.#depth += 1;
      return this.#goTo("behind brace", at + 1);
    }
    if (this.#isOnPath && byte === OPEN_BRACKET && this.#depth === this.#path.length) {
      if (!this.#keep(chunk, at + 1)) return BROKEN;
      this.#restFrom = undefined;
      this.#array.begin();
      return this.#goTo("in array", at + 1);
    }
    if (this.#depth === 0 && byte !== OPEN_BRACE && byte !== OPEN_BRACKET) return BROKEN;
    return this.#goTo("in value", this.#value.begin(byte) ? at : BROKEN);
  }

  #endArray(end: number): number {
    if (end >= 0) this.#restFrom = end - 1; // from its closing bracket
    return this.#endValue(end);
  }

  #endValue(end: number): number {
    return end < 0 ? end : this.#goTo(this.#depth === 0 ? "at end" : "behind value", end);
  }

  #endKey(chunk: Buffer, end: number): number {
    if (end < 0) return end;
    if (!this.#keep(chunk, end)) return BROKEN;
    try {
      // A key may spell itself with escapes: "\u0069d" is "id".
      const key: unknown = JSON.parse(this.#rest.view(this.#keyStartInRest).toString("utf8"));
      this.#isOnPath = key === this.#path[this.#depth - 1];
    } catch {
      return BROKEN;
    }
    return this.#goTo("behind key", end);
  }

  #goTo(place: Place, at: number): number {
    this.#place = place;
    return at;
  }

  /** Takes the chunk up to `end` into the rest, where it belongs there. False: too large. */
  #keep(chunk: Buffer, end: number): boolean {
    if (this.#restFrom === undefined) return true;
    const from = this.#restFrom;
    this.#restFrom = end;
    return this.#rest.append(chunk, from, end);
  }
}
