// Calls as they were written. The shape that nearly all have is read in one pass: an object with the members of a call, each once, in ASCII
// without escapes, or an array of these. Whatever else comes is left to the full reader (request.ts), to which this one is held by a test.
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
  /** The JSON text of the id as the caller wrote it, so that it is echoed byte for byte. */
  readonly id: string;
  readonly method: string;
  readonly params: readonly unknown[];
  /** Why a node may read other parameters than we do. */
  readonly ambiguity?: string | undefined;
  /** The message as the caller wrote it; see paramsJsonOf. */
  readonly json: Buffer;
  /** Where the text of the parameters begins and ends in it, where that is known already. */
  readonly paramsStart?: number | undefined;
  readonly paramsEnd?: number | undefined;
};

/** Spec, request envelope: "Default 0". */
export const DEFAULT_ID = "0";

/**
 * In bytes. A larger call is parsed: there the runtime's own parser is as fast, and texts cut out of a body keep all of
 * it in memory.
 */
const MOST = 4_096;
/** In characters: shorter texts are copied when they are cut out. */
const COPIED = 13;
/** Levels of arrays and objects in the parameters, and members of one object. */
const DEEPEST = 4;
const MOST_MEMBERS = 10;

const SPACE = 0x20;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
/** In digits: an integer that is read exactly. */
const SHORT_NUMBER = 15;

/** Of a body that has them, some strings may have to be decoded, or may be none. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: strings may not have them
const UNUSUAL = /[\\\x00-\x1f]/;

/** @returns undefined for what is not plain, which may be anything. */
export function readPlainCall(json: Buffer): CallMessage | undefined {
  if (json.length > MOST || !isAscii(json)) return undefined;
  const text = json.toString("latin1");
  return UNUSUAL.test(text) ? undefined : new PlainReader(text, json).lone();
}

/**
 * Reads a whole batch at once.
 *
 * @param most In members.
 * @returns undefined for one with another member than plain calls, one that is wrong, and one that is larger.
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

/** In place of a value: it is not plain. */
const OTHER = Symbol("not plain");

class PlainReader {
  #at = 0;
  readonly #text: string;
  readonly #body: Buffer;
  readonly #isBatch: boolean;
  #lastMethod: { readonly written: string; readonly name: string } | undefined;

  /** @param isBatch Nothing that is read keeps the text in memory: it may be long. */
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

  /** As it is written, in quotes; undefined where it is none that a call has. */
  #memberName(): string | undefined {
    this.#skipSpaces();
    for (const name of MEMBER_NAMES) if (this.#skipWord(name)) return name;
    return undefined;
  }

  /** Most members of a batch have the method of the one before: its name is made once. */
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

  /** An integer, a string or null. */
  #skipId(): boolean {
    const first = this.#text.charCodeAt(this.#at);
    if (first === QUOTE) return this.#string() !== undefined;
    return this.#skipWord("null") || this.#skipInteger();
  }

  /** Behind it must be the value's end, which is looked for by whoever goes on: `1.5` and `01` have none there. */
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

  /** From behind its bracket. */
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

  /** From behind its bracket. Names that some readers take for one are not plain. */
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

  /** There are no escapes: a string ends with the next quote. */
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

  /** Spaces, and the character if it is the next one. */
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

/** Callers may invent names of methods: so many are remembered, of so many characters at most. */
const MOST_NAMES = 500;
const LONGEST_NAME = 64;
const names = new Map<string, string>();

/** The text that this name was before: whatever is kept by method finds it without comparing letters. */
function known(name: string): string {
  const before = names.get(name);
  if (before !== undefined) return before;
  if (name.length > LONGEST_NAME) return name;
  if (names.size === MOST_NAMES) names.clear();
  const own = Buffer.from(name).toString("latin1"); // what was cut out of a body keeps all of it in memory
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
