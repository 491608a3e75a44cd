// Finds the members of a JSON object without parsing it, so that results and ids are passed on with the very bytes
// that arrived.
import { atOnce, type Work } from "../lib/turns.ts";
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "./ascii.ts";
import { MORE, ValueScanner } from "./value-scanner.ts";

/** Whether the JSON has these bytes at `start`. For a few bytes the loop is faster than `compare`. */
export function hasAt(json: Buffer, start: number, bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at += 1) if (json[start + at] !== bytes[at]) return false;
  return true;
}

/** The offsets of a value in the bytes: from `start` up to, not including, `end`. */
export type Span = { readonly start: number; readonly end: number };

/** Bytes. The runtime's own `indexOf`, which pays only for data and blooms, searches the rest of a longer string. */
const SHORT_STRING = 48;
const MAX_DEPTH = 1 << 20;

/**
 * The values of the object that `json` holds, in the order of `names`; undefined for a name that the object lacks. Of
 * members with the same name the last wins, as with JSON.parse.
 *
 * The search checks the nesting completely (each bracket and string is closed by its own kind), so it notices a text
 * that was cut off; it does not check numbers and words.
 *
 * @returns undefined when the bytes are not one well-nested object, or nest deeper than 2^20.
 */
export function findMembers(
  json: Buffer,
  names: readonly string[],
): (Span | undefined)[] | undefined {
  const found: (Span | undefined)[] = names.map(() => undefined);
  let at = skipSpace(json, 0);
  if (json[at] !== OPEN_BRACE) return undefined;
  at = skipSpace(json, at + 1);
  if (json[at] === CLOSE_BRACE) return isEnd(json, at + 1) ? found : undefined;
  for (;;) {
    const keyEnd = json[at] === QUOTE ? skipString(json, at) : -1;
    const key = keyEnd < 0 ? undefined : keyText(json, at, keyEnd);
    if (key === undefined) return undefined;
    at = skipSpace(json, keyEnd);
    if (json[at] !== COLON) return undefined;
    const start = skipSpace(json, at + 1);
    const end = skipValue(json, start);
    if (end < 0) return undefined;
    const name = names.indexOf(key);
    if (name >= 0) found[name] = { start, end };
    at = skipSpace(json, end);
    if (json[at] === CLOSE_BRACE) return isEnd(json, at + 1) ? found : undefined;
    if (json[at] !== COMMA) return undefined;
    at = skipSpace(json, at + 1);
  }
}

/** As `findMembers`, in steps: a long text would keep other calls waiting. */
export function* findLongMembers(
  json: Buffer,
  names: readonly string[],
): Work<(Span | undefined)[] | undefined> {
  const found: (Span | undefined)[] = names.map(() => undefined);
  const isWhole = yield* readMembers(json, function* (key, start) {
    const end = yield* skipLongValue(json, start);
    const name = names.indexOf(key);
    if (name >= 0) found[name] = { start, end };
    return end;
  });
  return isWhole ? found : undefined;
}

/**
 * The elements of the array that `json` holds.
 *
 * @returns undefined when the bytes are not one well-nested array, or nest deeper than 2^20.
 */
export const findElements = (json: Buffer): Span[] | undefined => atOnce(findElementsInSteps(json));

/** As `findElements`, in steps. */
export function* findElementsInSteps(json: Buffer): Work<Span[] | undefined> {
  const list = yield* elementsAt(json, skipSpace(json, 0));
  return list && isEnd(json, list.end) ? list.elements : undefined;
}

/** The span of an array, and the spans of its elements. */
export type List = Span & { readonly elements: Span[] };

/** The array with this name in the object that `json` holds; of several, the last. In steps: the array may be long. */
export function* findList(json: Buffer, name: string): Work<List | undefined> {
  let found: List | undefined;
  const isWhole = yield* readMembers(json, function* (key, start) {
    if (key !== name) return skipValue(json, start);
    found = yield* elementsAt(json, start);
    return found?.end ?? -1;
  });
  return isWhole ? found : undefined;
}

/**
 * The spans of the objects inside the object that `json` holds, with no other object around them, but perhaps arrays.
 * One pass, which reads no names: if a single member contains objects, the spans belong to that member.
 *
 * @param json Valid JSON. In other texts some objects may be missed, or all of them.
 */
export function* findInnerObjects(json: Buffer): Work<Span[]> {
  const found: Span[] = [];
  let at = skipSpace(json, 0) + 1;
  while (at > 0 && at < json.length) {
    const byte = json[at];
    const start = at;
    if (byte === QUOTE) at = skipString(json, at);
    else if (byte === OPEN_BRACE) {
      at = skipNested(json, at);
      found.push({ start, end: at });
      if (found.length % STEP === 0) yield;
    } else at += 1;
  }
  return found;
}

/**
 * Reads the members of the object in steps.
 *
 * @param readValue Returns the offset behind the value that starts at `start`, or -1 to give up.
 * @returns Whether the bytes are one object.
 */
function* readMembers(
  json: Buffer,
  readValue: (key: string, start: number) => Work<number>,
): Work<boolean> {
  let at = skipSpace(json, 0);
  if (json[at] !== OPEN_BRACE) return false;
  at = skipSpace(json, at + 1);
  if (json[at] === CLOSE_BRACE) return isEnd(json, at + 1);
  while (json[at] === QUOTE) {
    const keyEnd = skipString(json, at);
    const key = keyEnd < 0 ? undefined : keyText(json, at, keyEnd);
    if (key === undefined) return false;
    at = skipSpace(json, keyEnd);
    if (json[at] !== COLON) return false;
    at = yield* readValue(key, skipSpace(json, at + 1));
    if (at < 0) return false;
    at = skipSpace(json, at);
    if (json[at] === CLOSE_BRACE) return isEnd(json, at + 1);
    if (json[at] !== COMMA) return false;
    at = skipSpace(json, at + 1);
  }
  return false;
}

/** Bytes between two pauses: scanning them takes a tenth of a millisecond. */
const BYTES_STEP = 1 << 16;

/** As `skipValue`, in steps. */
function* skipLongValue(json: Buffer, start: number): Work<number> {
  const value = new ValueScanner();
  if (!value.begin(json[start] ?? 0)) return -1;
  for (let from = start; from < json.length; from += BYTES_STEP) {
    const end = value.scan(json.subarray(from, from + BYTES_STEP), 0);
    if (end >= 0) return from + end;
    if (end !== MORE) return -1;
    yield;
  }
  return -1;
}

/** Elements between two pauses. */
const STEP = 64;

function* elementsAt(json: Buffer, start: number): Work<List | undefined> {
  const elements: Span[] = [];
  if (json[start] !== OPEN_BRACKET) return undefined;
  let at = skipSpace(json, start + 1);
  if (json[at] === CLOSE_BRACKET) return { start, end: at + 1, elements };
  for (;;) {
    const end = skipValue(json, at);
    if (end < 0) return undefined;
    elements.push({ start: at, end });
    if (elements.length % STEP === 0) yield;
    at = skipSpace(json, end);
    if (json[at] === CLOSE_BRACKET) return { start, end: at + 1, elements };
    if (json[at] !== COMMA) return undefined;
    at = skipSpace(json, at + 1);
  }
}

export const textOf = (json: Buffer, span: Span): string =>
  json.toString("utf8", span.start, span.end);

/** @returns undefined when the key has a broken escape. */
function keyText(json: Buffer, start: number, end: number): string | undefined {
  const raw = json.toString("utf8", start + 1, end - 1);
  if (!raw.includes("\\")) return raw;
  try {
    // A key may contain escapes: "\u0069d" is "id".
    return String(JSON.parse(json.toString("utf8", start, end)));
  } catch {
    return undefined;
  }
}

const isEnd = (json: Buffer, at: number): boolean => skipSpace(json, at) >= json.length;

export const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

export function skipSpace(json: Buffer, from: number): number {
  let at = from;
  for (;;) {
    if (!isSpace(json[at])) return at;
    at += 1;
  }
}

/** @returns The offset behind the value that starts at `at`, or -1 when the value is malformed or cut off. */
export function skipValue(json: Buffer, at: number): number {
  const first = json[at];
  if (first === QUOTE) return skipString(json, at);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return skipNested(json, at);
  return skipScalar(json, at);
}

function skipScalar(json: Buffer, from: number): number {
  let at = from;
  for (; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte <= 0x20 || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET) break;
    if (byte === QUOTE || byte === OPEN_BRACE || byte === OPEN_BRACKET || byte === COLON) return -1;
  }
  return at > from ? at : -1;
}

/** @returns The offset behind the closing quote of the string that opens at `open`, or -1. */
export function skipString(json: Buffer, open: number): number {
  const { length } = json;
  let at = open + 1;
  const soon = Math.min(at + SHORT_STRING, length);
  while (at < soon) {
    const byte = json[at];
    if (byte === QUOTE) return at + 1;
    at += byte === BACKSLASH ? 2 : 1;
  }
  return skipLongString(json, at);
}

function skipLongString(json: Buffer, from: number): number {
  let at = from;
  for (;;) {
    const quote = at < json.length ? json.indexOf(QUOTE, at) : -1;
    if (quote < 0) return -1;
    // An odd number of backslashes before a quote escapes it. No escape reaches across `at`.
    let backslashes = 0;
    while (quote - backslashes > at && json[quote - backslashes - 1] === BACKSLASH)
      backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

/** For each open bracket, the byte that closes it. Grows with the depth; no call reads an earlier call's bytes. */
let closers = new Uint8Array(1024);

function deepen(): void {
  const wider = new Uint8Array(closers.length * 2);
  wider.set(closers);
  closers = wider;
}

/** @returns The offset behind the array or object that opens at `open`, or -1. Large results pass through this loop. */
function skipNested(json: Buffer, open: number): number {
  const { length } = json;
  let depth = 0;
  let at = open;
  while (at < length) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) {
      at = skipString(json, at);
      if (at < 0) return -1;
      continue;
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (depth === MAX_DEPTH) return -1;
      if (depth === closers.length) deepen();
      closers[depth] = byte + 2; // in ASCII, `]` is two after `[`, and `}` two after `{`
      depth += 1;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1;
      if (closers[depth] !== byte) return -1;
      if (depth === 0) return at + 1;
    }
    at += 1;
  }
  return -1;
}
