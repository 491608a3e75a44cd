// Reads, in one pass, calls of the shape that nearly all have: an object with the members of a call, each once, in
// ASCII without escapes, or an array of such objects. request.ts reads all other bodies; a test checks that both
// readers read the same.
import { isAscii } from "node:buffer";
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "./ascii.ts";

export type CallMessage = {
  readonly kind: "call";
  /** The JSON text of the id as the caller wrote it, so that the response echoes it byte for byte. */
  readonly id: string;
  readonly method: string;
  readonly params: readonly unknown[];
  /** Why a node may read other parameters than the gateway does. */
  readonly ambiguity?: string | undefined;
  /** The message as the caller wrote it; see paramsJsonOf. */
  readonly json: Buffer;
  /** The offsets of the parameters' text in `json`, if already known. */
  readonly paramsStart?: number | undefined;
  readonly paramsEnd?: number | undefined;
};

/** Specification, request envelope: "Default 0". */
export const DEFAULT_ID = "0";

/**
 * Bytes. The full reader parses a larger call: there the runtime's own parser is as fast, and strings sliced from a
 * body keep the whole body in memory.
 */
const MOST = 4_096;
/** Characters: V8 copies a shorter slice of a string, instead of keeping the whole string. */
const COPIED = 13;
/** The deepest level of arrays and objects in the parameters, and the most members of one object. */
const DEEPEST = 4;
const MOST_MEMBERS = 10;

const SPACE = 0x20;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
/** Digits: JavaScript represents an integer of this length exactly. */
const SHORT_NUMBER = 15;

/** Characters that make a string need decoding, or make it invalid. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: strings may not have them
const UNUSUAL = /[\\\x00-\x1f]/;

/** @returns undefined for a body that is not a plain call, whether valid or not. */
export function readPlainCall(json: Buffer): CallMessage | undefined {
  if (json.length > MOST || !isAscii(json)) return undefined;
  const text = json.toString("latin1");
  return UNUSUAL.test(text) ? undefined : new PlainReader(text, json).lone();
}

/**
 * Reads a batch in one pass.
 *
 * @param most The maximum number of members.
 * @returns undefined for a batch that is invalid or larger, or has a member that is not a plain call.
 */
export function readPlainBatch(body: Buffer, most: number): CallMessage[] | undefined {
  if (body[0] !== OPEN_BRACKET || !isAscii(body)) return undefined;
  const text = body.toString("latin1");
  return UNUSUAL.test(text) ? undefined : new PlainReader(text, body, true).batch(most);
}

const VERSION = '"jsonrpc"';
const ID = '"id"';
const METHOD = '"method"';
const PARAMS = '"params"';
const MEMBER_NAMES = [VERSION, ID, METHOD, PARAMS];

/** Stands in place of a value that is not plain. */
const OTHER = Symbol("not plain");

class PlainReader {
  #at = 0;
  readonly #text: string;
  readonly #body: Buffer;
  readonly #isBatch: boolean;
  #lastMethod: { readonly written: string; readonly name: string } | undefined;

  /** @param isBatch The strings that are read must not keep the text in memory, because it may be long. */
  constructor(text: string, body: Buffer, isBatch = false) {
    this.#text = text;
    this.#body = body;
    this.#isBatch = isBatch;
  }

  lone(): CallMessage | undefined {
    const call = this.#call();
    this.#skipSpaces();
    return this.#at === this.#text.length ? call : undefined;
  }

  batch(most: number): CallMessage[] | undefined {
    const calls: CallMessage[] = [];
    this.#at = 1; // behind the bracket
    do {
      const call = calls.length < most ? this.#call() : undefined;
      if (!call) return undefined;
      calls.push(call);
    } while (this.#skips(COMMA));
    if (!this.#skips(CLOSE_BRACKET)) return undefined;
    this.#skipSpaces();
    return this.#at === this.#text.length ? calls : undefined;
  }

  #call(): CallMessage | undefined {
    let id: string | undefined;
    let method: string | undefined;
    let params: readonly unknown[] | undefined;
    let [paramsStart, paramsEnd] = [0, 0];
    let hasVersion = false;
    this.#skipSpaces();
    const begin = this.#isBatch ? this.#at : 0;
    if (!this.#skips(OPEN_BRACE)) return undefined;
    do {
      const name = this.#memberName();
      if (!name || !this.#skips(COLON)) return undefined;
      this.#skipSpaces();
      const start = this.#at;
      if (name === VERSION && !hasVersion) {
        hasVersion = this.#skipWord('"2.0"');
        if (!hasVersion) return undefined;
      } else if (name === ID && id === undefined) {
        if (!this.#skipId()) return undefined;
        id = this.#cut(start, this.#at);
      } else if (name === METHOD && method === undefined) {
        method = this.#method();
        if (method === undefined) return undefined;
      } else if (name === PARAMS && params === undefined) {
        const list = this.#skips(OPEN_BRACKET) ? this.#array(1) : OTHER;
        if (list === OTHER) return undefined;
        params = list;
        paramsStart = start - begin;
        paramsEnd = this.#at - begin;
      } else return undefined;
    } while (this.#skips(COMMA));
    if (!this.#skips(CLOSE_BRACE)) return undefined;
    if (!hasVersion || method === undefined) return undefined;
    return {
      kind: "call",
      id: id ?? DEFAULT_ID,
      method,
      params: params ?? [],
      ambiguity: undefined,
      json: this.#isBatch ? this.#body.subarray(begin, this.#at) : this.#body,
      paramsStart: params && paramsStart,
      paramsEnd: params && paramsEnd,
    };
  }

  /** @returns The name in its quotes; undefined for a name that a call does not have. */
  #memberName(): string | undefined {
    this.#skipSpaces();
    for (const name of MEMBER_NAMES) if (this.#skipWord(name)) return name;
    return undefined;
  }

  /** Most members of a batch have the same method as the member before: its name is made once. */
  #method(): string | undefined {
    if (this.#lastMethod && this.#skipWord(this.#lastMethod.written)) return this.#lastMethod.name;
    const start = this.#at;
    const read = this.#string();
    const name = read === undefined ? undefined : known(read);
    if (name === undefined || !this.#isBatch) return name;
    this.#lastMethod = { written: this.#text.slice(start, this.#at), name };
    return name;
  }

  #cut(start: number, end: number): string {
    return this.#isBatch && end - start >= COPIED
      ? this.#body.toString("latin1", start, end)
      : this.#text.slice(start, end);
  }

  /** Skips an integer, a string or null. */
  #skipId(): boolean {
    const first = this.#text.charCodeAt(this.#at);
    if (first === QUOTE) return this.#string() !== undefined;
    return this.#skipWord("null") || this.#skipInteger();
  }

  /** The caller must find the end of the value behind the integer: then `1.5` and `01` are rejected. */
  #skipInteger(): boolean {
    const text = this.#text;
    if (text.charCodeAt(this.#at) === MINUS) this.#at += 1;
    const start = this.#at;
    while (isDigit(text.charCodeAt(this.#at))) this.#at += 1;
    const digits = this.#at - start;
    return digits === 1 || (digits > 1 && text.charCodeAt(start) !== ZERO);
  }

  #value(depth: number): unknown {
    this.#skipSpaces();
    switch (this.#text.charCodeAt(this.#at)) {
      case QUOTE:
        return this.#string() ?? OTHER;
      case OPEN_BRACE:
        this.#at += 1;
        return depth < DEEPEST ? this.#object(depth + 1) : OTHER;
      case OPEN_BRACKET:
        this.#at += 1;
        return depth < DEEPEST ? this.#array(depth + 1) : OTHER;
      default:
        return this.#wordOrNumber();
    }
  }

  #wordOrNumber(): unknown {
    if (this.#skipWord("true")) return true;
    if (this.#skipWord("false")) return false;
    if (this.#skipWord("null")) return null;
    const start = this.#at;
    if (!this.#skipInteger() || this.#at - start > SHORT_NUMBER) return OTHER;
    return Number(this.#text.slice(start, this.#at));
  }

  /** Reads an array from behind its opening bracket. */
  #array(depth: number): unknown[] | typeof OTHER {
    const list: unknown[] = [];
    if (this.#skips(CLOSE_BRACKET)) return list;
    do {
      const value = this.#value(depth);
      if (value === OTHER) return OTHER;
      list.push(value);
    } while (this.#skips(COMMA));
    return this.#skips(CLOSE_BRACKET) ? list : OTHER;
  }

  /** Reads an object from behind its opening brace. Names that some readers take for the same name are not plain. */
  #object(depth: number): Record<string, unknown> | typeof OTHER {
    const members: Record<string, unknown> = {};
    if (this.#skips(CLOSE_BRACE)) return members;
    do {
      const name = this.#string();
      if (name === undefined || !this.#skips(COLON) || !isNew(name, members)) return OTHER;
      const value = this.#value(depth);
      if (value === OTHER) return OTHER;
      members[name] = value;
    } while (this.#skips(COMMA));
    return this.#skips(CLOSE_BRACE) ? members : OTHER;
  }

  /** Reads a string. The text has no escapes: a string ends at the next quote. */
  #string(): string | undefined {
    if (!this.#skips(QUOTE)) return undefined;
    const start = this.#at;
    const end = this.#text.indexOf('"', start);
    if (end < 0) return undefined;
    this.#at = end + 1;
    return this.#cut(start, end);
  }

  #skipWord(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false;
    this.#at += word.length;
    return true;
  }

  /** Skips spaces, then the character. @returns false when the next character is another one. */
  #skips(character: number): boolean {
    this.#skipSpaces();
    if (this.#text.charCodeAt(this.#at) !== character) return false;
    this.#at += 1;
    return true;
  }

  #skipSpaces(): void {
    while (this.#text.charCodeAt(this.#at) === SPACE) this.#at += 1;
  }
}

/** Callers may invent method names: at most this many names are remembered, each of at most so many characters. */
const MOST_NAMES = 500;
const LONGEST_NAME = 64;
const names = new Map<string, string>();

/** Returns one and the same string for equal names: a map by method finds that string without comparing letters. */
function known(name: string): string {
  const before = names.get(name);
  if (before !== undefined) return before;
  if (name.length > LONGEST_NAME) return name;
  if (names.size === MOST_NAMES) names.clear();
  const own = Buffer.from(name).toString("latin1"); // a slice would keep the whole body in memory
  names.set(own, own);
  return own;
}

const isDigit = (character: number): boolean => character >= ZERO && character <= NINE;

function isNew(name: string, members: Readonly<Record<string, unknown>>): boolean {
  let count = 0;
  for (const other in members) {
    count += 1;
    if (other.length === name.length && other.toLowerCase() === name.toLowerCase()) return false;
  }
  return name !== "__proto__" && count < MOST_MEMBERS;
}
