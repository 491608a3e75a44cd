// Reads a JSON document that is too large for memory, in chunks cut anywhere: hands out the elements of one array in it
// one by one as their bytes arrive, and keeps only the rest of the document.
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "./ascii.ts";
import { isSpace, type Span } from "./members.ts";
import { BROKEN, MORE, ValueScanner } from "./value-scanner.ts";

export type ElementStreamOptions = {
  /** The member names from the top down to the array, e.g. ["result", "structLogs"]. */
  readonly path: readonly string[];
  /** The maximum size, in bytes, of one element, and of everything that is not an element. */
  readonly maxElementBytes: number;
  readonly maxRestBytes: number;
};

type OnElement = (element: unknown, start: number, end: number) => boolean;

type KeyState = "behind brace" | "behind comma" | "in key" | "behind key";
type State = KeyState | "before value" | "in value" | "behind value" | "in array" | "at end";

export class ElementStream {
  readonly #path: readonly string[];
  readonly #array: ArrayReader;
  readonly #value = new ValueScanner();
  readonly #rest: GrowingBytes;
  /** The rest still lacks the chunk's bytes from this offset on. Undefined within the array, which the rest omits. */
  #restFrom: number | undefined = 0;
  #keyStartInRest = 0;
  #state: State = "before value";
  /** How many objects are open. All of them are on the path: an object off the path is skipped as one value. */
  #depth = 0;
  /** Whether the keys down to the next value are those of the path. */
  #isOnPath = true;
  #isBroken = false;

  /** The number of bytes before the current chunk. */
  #passed = 0;
  /** The span of the array that was read last. */
  #arrayAt: Span = { start: 0, end: 0 };

  /**
   * @param onElement Gets the parsed element and its span in the document; if it returns false, the stream skips all
   *   further elements.
   */
  constructor(options: ElementStreamOptions, onElement: OnElement) {
    this.#path = options.path;
    this.#array = new ArrayReader(options, onElement);
    this.#rest = new GrowingBytes(options.maxRestBytes);
  }

  /** The memory that the stream takes, in bytes. */
  get heldBytes(): number {
    return this.#array.heldBytes + this.#rest.heldBytes;
  }

  /** The span of the array that was read last, including its brackets. */
  get arrayAt(): Span {
    return this.#arrayAt;
  }

  /** @returns false when the document is malformed or too large: further chunks are useless. */
  add(chunk: Buffer): boolean {
    if (this.#isBroken) return false;
    let at = 0;
    while (at >= 0 && at < chunk.length) at = this.#step(chunk, at);
    this.#isBroken = at === BROKEN || !this.#keep(chunk, chunk.length);
    if (this.#restFrom !== undefined) this.#restFrom = 0;
    this.#passed += chunk.length;
    return !this.#isBroken;
  }

  /**
   * The document with `[]` in place of the array. Its nesting is sound; its numbers and words, and the content of
   * values off the path, are not checked.
   *
   * @returns undefined when the document was cut off, malformed, too large, or neither an object nor an array.
   */
  finish(): Buffer | undefined {
    return this.#state === "at end" && !this.#isBroken ? this.#rest.view() : undefined;
  }

  /** @returns The offset to go on from, MORE or BROKEN. */
  #step(chunk: Buffer, at: number): number {
    if (this.#state === "in array")
      return this.#endArray(this.#array.read(chunk, at, this.#passed));
    if (this.#state === "in value") return this.#endValue(this.#value.scan(chunk, at));
    if (this.#state === "in key") return this.#endKey(chunk, this.#value.scan(chunk, at));
    return isSpace(chunk[at] ?? 0) ? at + 1 : this.#takeToken(chunk, at);
  }

  #takeToken(chunk: Buffer, at: number): number {
    const byte = chunk[at] ?? 0;
    const state = this.#state;
    if (state === "before value") return this.#beginValue(chunk, at);
    if (byte === QUOTE && (state === "behind brace" || state === "behind comma")) {
      this.#keyStartInRest = this.#rest.length + at - (this.#restFrom ?? at);
      return this.#goTo("in key", this.#value.begin(byte) ? at : BROKEN);
    }
    if (byte === COLON && state === "behind key") return this.#goTo("before value", at + 1);
    if (byte === COMMA && state === "behind value") return this.#goTo("behind comma", at + 1);
    if (byte === CLOSE_BRACE && (state === "behind brace" || state === "behind value")) {
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
      this.#arrayAt = { start: this.#passed + at, end: 0 };
      this.#array.begin();
      return this.#goTo("in array", at + 1);
    }
    if (this.#depth === 0 && byte !== OPEN_BRACE && byte !== OPEN_BRACKET) return BROKEN;
    return this.#goTo("in value", this.#value.begin(byte) ? at : BROKEN);
  }

  #endArray(end: number): number {
    if (end >= 0) {
      this.#restFrom = end - 1; // from the array's closing bracket on
      this.#arrayAt = { start: this.#arrayAt.start, end: this.#passed + end };
    }
    return this.#endValue(end);
  }

  #endValue(end: number): number {
    return end < 0 ? end : this.#goTo(this.#depth === 0 ? "at end" : "behind value", end);
  }

  #endKey(chunk: Buffer, end: number): number {
    if (end < 0) return end;
    if (!this.#keep(chunk, end)) return BROKEN;
    try {
      // A key may contain escapes: "\u0069d" is "id".
      const key: unknown = JSON.parse(this.#rest.view(this.#keyStartInRest).toString("utf8"));
      this.#isOnPath = key === this.#path[this.#depth - 1];
    } catch {
      return BROKEN;
    }
    return this.#goTo("behind key", end);
  }

  #goTo(state: State, at: number): number {
    this.#state = state;
    return at;
  }

  /** Appends the chunk up to `end` to the rest, unless within the array. @returns false when the rest is too large. */
  #keep(chunk: Buffer, end: number): boolean {
    if (this.#restFrom === undefined) return true;
    const from = this.#restFrom;
    this.#restFrom = end;
    return this.#rest.append(chunk, from, end);
  }
}

type ArrayState = "behind bracket" | "behind comma" | "in element" | "behind element" | "skipping";

/** Reads one JSON array, an element at a time. */
class ArrayReader {
  readonly #onElement: OnElement;
  readonly #maxElementBytes: number;
  /** The bytes of an element that began in an earlier chunk; empty if the element began in this chunk. */
  readonly #begun: GrowingBytes;
  readonly #value = new ValueScanner();
  #isWanted = true;
  #state: ArrayState = "behind bracket";

  constructor(options: { readonly maxElementBytes: number }, onElement: OnElement) {
    this.#maxElementBytes = options.maxElementBytes;
    this.#begun = new GrowingBytes(options.maxElementBytes);
    this.#onElement = onElement;
  }

  /** The memory that the reader takes, in bytes. */
  get heldBytes(): number {
    return this.#begun.heldBytes;
  }

  /** Must be called behind the opening bracket of each array. */
  begin(): void {
    if (this.#isWanted) this.#state = "behind bracket";
    else this.#skip();
  }

  /** @returns The offset behind the array, MORE or BROKEN. @param passed The number of bytes before the chunk. */
  read(chunk: Buffer, from: number, passed: number): number {
    let at = from;
    while (at >= 0 && at < chunk.length) {
      if (this.#state === "skipping") return this.#value.scan(chunk, at);
      const byte = chunk[at] ?? 0;
      if (this.#state === "in element") {
        at = this.#readElement(chunk, at, passed);
      } else if (isSpace(byte)) {
        at += 1;
      } else if (byte === CLOSE_BRACKET && this.#state !== "behind comma") {
        return at + 1;
      } else if (this.#state === "behind element") {
        if (byte !== COMMA) return BROKEN;
        this.#state = "behind comma";
        at += 1;
      } else {
        if (!this.#value.begin(byte)) return BROKEN;
        this.#state = "in element";
      }
    }
    return at < 0 ? at : MORE;
  }

  #readElement(chunk: Buffer, from: number, passed: number): number {
    const end = this.#value.scan(chunk, from);
    if (end === BROKEN) return BROKEN;
    if (end === MORE) return this.#begun.append(chunk, from, chunk.length) ? MORE : BROKEN;
    const start = passed + from - this.#begun.length;
    const text = this.#takeText(chunk, from, end);
    if (text === undefined) return BROKEN;
    let element: unknown;
    try {
      element = JSON.parse(text);
    } catch {
      return BROKEN;
    }
    this.#isWanted = this.#onElement(element, start, passed + end);
    if (this.#isWanted) this.#state = "behind element";
    else this.#skip();
    return end;
  }

  /** @returns undefined when the element is too large. */
  #takeText(chunk: Buffer, from: number, end: number): string | undefined {
    if (this.#begun.length === 0) {
      return end - from > this.#maxElementBytes ? undefined : chunk.toString("utf8", from, end);
    }
    if (!this.#begun.append(chunk, from, end)) return undefined;
    const text = this.#begun.view().toString("utf8");
    this.#begun.clear();
    return text;
  }

  #skip(): void {
    this.#value.beginInArray();
    this.#state = "skipping";
  }
}

const FIRST_CAPACITY = 1024;

/** Collects bytes piece by piece, up to a limit, in one buffer that grows. */
class GrowingBytes {
  readonly #maxBytes: number;
  #buffer = Buffer.alloc(0);
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** The memory that the buffer takes, in bytes. */
  get heldBytes(): number {
    return this.#buffer.length;
  }

  /** @returns false when the bytes would exceed the limit; then nothing is appended. */
  append(chunk: Buffer, start: number, end: number): boolean {
    const length = this.#length + end - start;
    if (length > this.#maxBytes) return false;
    if (length > this.#buffer.length) this.#widen(length);
    chunk.copy(this.#buffer, this.#length, start, end);
    this.#length = length;
    return true;
  }

  /** The content from an offset on. Valid until the next change. */
  view(from = 0): Buffer {
    return this.#buffer.subarray(from, this.#length);
  }

  /** Removes the content, and keeps the buffer for the next content. */
  clear(): void {
    this.#length = 0;
  }

  #widen(needed: number): void {
    const doubled = Math.min(this.#maxBytes, this.#buffer.length * 2);
    const wider = Buffer.allocUnsafe(Math.max(needed, doubled, FIRST_CAPACITY));
    this.#buffer.copy(wider, 0, 0, this.#length);
    this.#buffer = wider;
  }
}
