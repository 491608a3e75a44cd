// Reads the elements of a JSON array as values, one after the other. Where possible, only the runtime's own search and
// parser look at the bytes.
import { isAscii } from "node:buffer";
import type { Work } from "../lib/turns.ts";
import { isWrittenOnce } from "./ambiguity.ts";
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
} from "./ascii.ts";
import { ElementStream } from "./element-stream.ts";
import { type List, type Span, skipSpace, skipValue } from "./members.ts";
import { parsed } from "./raw-json.ts";

/** For an object without inner objects, such as a log or a transfer, no other code looks at the bytes. */
export class ElementReader {
  /** The last element: its span, its text and its value; the value is undefined if the text is not JSON. */
  start = 0;
  end = 0;
  text = "";
  value: unknown;
  /** Whether the bytes are not one array. Reliable once `next` has returned false. */
  isBroken = false;
  /** The offset of the next comma, or of the array's end; before the first element, of the opening bracket. */
  #at: number;
  #isFirst = true;
  readonly #json: Buffer;

  constructor(json: Buffer) {
    this.#json = json;
    this.#at = skipSpace(json, 0);
    this.isBroken = json[this.#at] !== OPEN_BRACKET;
  }

  /** Reads the next element. @returns false when there is none. */
  next(): boolean {
    if (this.isBroken) return false;
    const json = this.#json;
    const at = this.#isFirst ? skipSpace(json, this.#at + 1) : this.#at;
    if (json[at] === CLOSE_BRACKET && (this.#isFirst || at === this.#at)) return this.#close(at);
    if (!this.#isFirst && json[at] !== COMMA) return this.#break();
    this.start = this.#isFirst ? at : skipSpace(json, at + 1);
    this.#isFirst = false;
    if (!this.#readFlat() && !this.#readAny()) return this.#break();
    this.#at = skipSpace(json, this.end);
    return true;
  }

  /**
   * Takes the text up to the first closing brace for the element. If that text parses as an object, it is the element:
   * no JSON object is the beginning of another one.
   */
  #readFlat(): boolean {
    if (this.#json[this.start] !== OPEN_BRACE) return false;
    this.end = this.#json.indexOf(CLOSE_BRACE, this.start) + 1;
    return this.end > 0 && this.#parse();
  }

  #readAny(): boolean {
    this.end = skipValue(this.#json, this.start);
    if (this.end >= 0) this.#parse();
    return this.end >= 0;
  }

  #parse(): boolean {
    this.text = this.#json.toString("utf8", this.start, this.end);
    this.value = parsed(this.text);
    return this.value !== undefined;
  }

  #close(at: number): false {
    this.isBroken = skipSpace(this.#json, at + 1) < this.#json.length;
    return false;
  }

  #break(): false {
    this.isBroken = true;
    return false;
  }
}

export type ParsedList =
  | {
      readonly kind: "parsed";
      /** The value of the text, with an empty array in place of the array that was looked for. */
      readonly around: unknown;
      readonly elements: readonly unknown[];
      /** The spans. If several arrays have the path, the elements of all of them, and the span of the last array. */
      readonly at: PlacedList;
    }
  /** The array has more elements than allowed; the parser stopped there. */
  | { readonly kind: "too many" }
  | { readonly kind: "malformed" };

export type PlacedList = List & {
  /**
   * For each element, the spans of the pairs of braces one level inside it. They are the spans of its inner objects if
   * it has as many; otherwise some of the braces stand in strings. Left out if the reader did not look for them.
   */
  readonly inner?: readonly (readonly Span[])[];
  /** Whether all readers understand the whole text alike (`ambiguity.ts`); false: unknown. */
  readonly isClear: boolean;
};

/** Bytes between two pauses: parsing them takes less than a millisecond. */
const STEP = 1 << 16;

/**
 * Parses a long text in steps: first the elements of one array in it, one by one, then the text around the array.
 *
 * @param options.path See `ElementStreamOptions`. @param options.most The number of elements allowed.
 */
export function* parseList(
  json: Buffer,
  options: { readonly path: readonly string[]; readonly most: number },
): Work<ParsedList> {
  return (yield* parsePlainList(json, options)) ?? (yield* parseAnyList(json, options));
}

function* parseAnyList(
  json: Buffer,
  { path, most }: { readonly path: readonly string[]; readonly most: number },
): Work<ParsedList> {
  const elements: unknown[] = [];
  const spans: Span[] = [];
  const stream = new ElementStream(
    { path, maxElementBytes: json.length, maxRestBytes: json.length },
    (element, start, end) => {
      elements.push(element);
      spans.push({ start, end });
      return elements.length <= most;
    },
  );
  for (let at = 0; at < json.length; at += STEP) {
    if (!stream.add(json.subarray(at, at + STEP))) return { kind: "malformed" };
    if (elements.length > most) return { kind: "too many" };
    yield;
  }
  const rest = stream.finish();
  const around = rest && parsed(rest);
  if (around === undefined) return { kind: "malformed" };
  const at = { ...stream.arrayAt, elements: spans, isClear: false };
  return { kind: "parsed", around, elements, at };
}

/** Bytes; in a longer text, the search for characters that are not plain would take too long. */
const LONGEST_PLAIN = 1 << 24;

/**
 * As `parseAnyList`, for a list as nodes write it: of objects without spaces between them, in ASCII without escapes.
 * The runtime's own search finds the ends of the objects.
 *
 * Braces in strings do no harm: each candidate element must parse, and no JSON object is the beginning of another one.
 * Without escapes, the quoted name of the list occurs only as a member name or as a whole string.
 *
 * @returns undefined when the text is written in another way, or is not JSON.
 */
function* parsePlainList(
  json: Buffer,
  { path, most }: { readonly path: readonly string[]; readonly most: number },
): Work<ParsedList | undefined> {
  if (path.length > 1 || json.length > LONGEST_PLAIN) return undefined;
  if (!isAscii(json) || json.includes(BACKSLASH)) return undefined;
  const start = startOfList(json, path[0]);
  if (start < 0) return undefined;
  const elements: unknown[] = [];
  const spans: Span[] = [];
  const inner: Span[][] = [];
  let isClear = true;
  const reader = new PlainObjects(json);
  let at = start + 1;
  let pauseAt = at + STEP;
  while (json[at] !== CLOSE_BRACKET) {
    if (!reader.read(at)) return undefined;
    elements.push(reader.value);
    if (elements.length > most) return { kind: "too many" };
    spans.push({ start: at, end: reader.end });
    inner.push(reader.pairs);
    isClear &&= isWrittenOnce(reader.value, reader.end - at);
    at = reader.end;
    if (json[at] === CLOSE_BRACKET) break;
    if (json[at] !== COMMA || json[at + 1] !== OPEN_BRACE) return undefined;
    at += 1;
    if (at < pauseAt) continue;
    pauseAt = at + STEP;
    yield;
  }
  const end = at + 1;
  const rest = json.toString("latin1", 0, start + 1) + json.toString("latin1", at);
  const around = parsed(rest);
  if (around === undefined || !isListIn(around, path[0])) return undefined;
  isClear &&= isWrittenOnce(around, rest.length);
  return { kind: "parsed", around, elements, at: { start, end, elements: spans, inner, isClear } };
}

/** The offset of the list's opening bracket; -1 when it is uncertain. */
function startOfList(json: Buffer, name: string | undefined): number {
  if (name === undefined) return json[0] === OPEN_BRACKET ? 0 : -1;
  const quoted = JSON.stringify(name);
  const at = json.indexOf(quoted, 0, "latin1");
  const start = at + quoted.length + 1;
  const isList = at >= 0 && json[start - 1] === COLON && json[start] === OPEN_BRACKET;
  return isList && json.indexOf(quoted, start, "latin1") < 0 ? start : -1;
}

const isListIn = (around: unknown, name: string | undefined): boolean =>
  Array.isArray(name === undefined ? around : (around as Readonly<Record<string, unknown>>)[name]);

/** Bytes that are decoded to a string at a time, unless one object is longer. Each large string is a new allocation. */
const WINDOW = 1 << 16;

/** Reads the objects of a text in ASCII without escapes, at rising offsets. */
class PlainObjects {
  /** The last object, the offset behind it, and the pairs of braces inside it; empty if some pairs contain others. */
  value: unknown;
  end = -1;
  pairs: Span[] = [];
  /** The offset at which `#text` begins in the bytes, and the next braces in `#text`. */
  #from = 0;
  #text = "";
  #open = -1;
  #close = -1;
  readonly #json: Buffer;

  constructor(json: Buffer) {
    this.#json = json;
  }

  /** @returns Whether an object begins at `start` and was read. */
  read(start: number): boolean {
    if (this.#json[start] !== OPEN_BRACE) return false;
    let end = this.#findEnd(start);
    for (let bytes = WINDOW; end < 0 && !this.#isLast; bytes *= 2) {
      this.#text = this.#json.toString("latin1", start, start + bytes);
      this.#from = start;
      this.#open = this.#text.indexOf("{");
      this.#close = this.#text.indexOf("}");
      end = this.#findEnd(start);
    }
    if (end < 0) return false;
    this.end = end;
    this.value = parsed(this.#text.slice(start - this.#from, end - this.#from));
    return this.value !== undefined;
  }

  get #isLast(): boolean {
    return this.#from + this.#text.length === this.#json.length;
  }

  /** The offset behind the object that begins at `start`; -1 when none begins there, or none ends within `#text`. */
  #findEnd(start: number): number {
    const text = this.#text;
    const from = this.#from;
    this.pairs = [];
    if (this.#open !== start - from) return -1;
    let depth = 0;
    let opened = 0;
    let innerAt = 0;
    for (;;) {
      const at = this.#close;
      if (at < 0) return -1;
      if (this.#open >= 0 && this.#open < at) {
        depth += 1;
        opened += 1;
        if (depth === 2) innerAt = this.#open;
        this.#open = text.indexOf("{", this.#open + 1);
        continue;
      }
      this.#close = text.indexOf("}", at + 1);
      depth -= 1;
      if (depth === 1) this.pairs.push({ start: from + innerAt, end: from + at + 1 });
      if (depth > 0) continue;
      if (this.pairs.length + 1 !== opened) this.pairs = [];
      return from + at + 1;
    }
  }
}
