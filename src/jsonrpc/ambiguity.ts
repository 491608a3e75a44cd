// Whether every reader of a JSON text reads the same in it. Of members with one name some readers take
// the last (JSON.parse), others the first, and some, as Go's, do not look at the case of letters.
import { atOnce, type Work } from "../lib/turns.ts";
import { BACKSLASH, CLOSE_BRACE, COLON, OPEN_BRACE, QUOTE } from "./ascii.ts";
import { isSpace, skipString } from "./members.ts";

const LONGEST_SHOWN = 40;
/** Bytes between two pauses: a tenth of a millisecond. */
const STEP = 1 << 16;

/**
 * Why readers may differ: an object, at any depth, has two members of one name, or of names that differ
 * in the case of letters only; or a name is written with escapes or beyond ASCII, where readers have
 * ideas of their own about what is the same (Go folds the Kelvin sign to k).
 *
 * @param json What JSON.parse takes; of other texts a word is said or not.
 * @returns undefined when all readers read the same.
 */
export const ambiguityIn = (json: Buffer): string | undefined => atOnce(findAmbiguity(json));

/** The same in steps. */
export function* findAmbiguity(json: Buffer): Work<string | undefined> {
  const search = new Search(json);
  while (!search.isOver) {
    search.advance(STEP);
    yield;
  }
  return search.found;
}

/** What is said of a value that nests deeper than asked for. Nobody looked further. */
export const TOO_DEEP = "nests too deep";

/**
 * The same as `ambiguityIn`, at less cost: mostly it is enough to count.
 *
 * Each member has a colon that stands in no string. When a text without escapes has no more colons than the
 * parsed value has members, then the parse dropped none. Else there are colons in strings, or two members of one
 * name, and the bytes are looked through.
 *
 * Names with escapes are no business of JSON.parse: V8 13.6, in Node 24, reads "\u0074o" as the name `\u` when an
 * object that it parsed before has that name in this place.
 *
 * @param text The same as `json`. @param value What JSON.parse made of it.
 * @param levels How deep the value may nest; it is walked by recursion.
 * @returns Why readers may differ, TOO_DEEP, or undefined when all read the same.
 */
export function whyUnreadable(
  { json, text, value }: { json: Buffer; text: string; value: unknown },
  levels: number,
): string | undefined {
  const members = countMembers(value, levels);
  if (members === Number.POSITIVE_INFINITY) return TOO_DEEP;
  const isPlain = json.length === text.length && !text.includes("\\"); // ASCII, without escapes
  return isPlain && colonsIn(text) === members ? undefined : ambiguityIn(json);
}

/** Infinity for what nests too deep, and NaN for names that differ in case: both stay so in any sum. */
function countMembers(value: unknown, levels: number): number {
  if (typeof value !== "object" || value === null) return 0;
  if (levels === 0) return Number.POSITIVE_INFINITY;
  let count = 0;
  if (Array.isArray(value)) {
    for (const element of value) count += countMembers(element, levels - 1);
    return count;
  }
  const members = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(members);
  if (areAlike(names)) return Number.NaN;
  for (const name of names) count += 1 + countMembers(members[name], levels - 1);
  return count;
}

/**
 * Whether a text says no more than the value that JSON.parse made of it, in the shortest way there is: then the parse dropped
 * no member, since that would have been further text. Where a number is in it, or it nests deeper than a block, that is
 * not known.
 *
 * @param length Of the text, which is ASCII without escapes.
 */
export const isWrittenOnce = (value: unknown, length: number): boolean =>
  shortestLength(value, BLOCK_LEVELS) === length;

/** A block nests six levels deep: block, transactions, transaction, access list, entry, keys. */
const BLOCK_LEVELS = 8;

/** NaN where it is not known, or names differ in case. */
function shortestLength(value: unknown, levels: number): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value === "boolean" || value === null) return value === false ? 5 : 4;
  if (typeof value !== "object" || levels === 0) return Number.NaN;
  if (Array.isArray(value)) {
    let length = 2 + Math.max(0, value.length - 1);
    for (const element of value) length += shortestLength(element, levels - 1);
    return length;
  }
  let length = lengthOfNames(Object.keys(value));
  for (const member of Object.values(value))
    length += typeof member === "string" ? member.length + 2 : shortestLength(member, levels - 1);
  return length;
}

// Objects of a few kinds come again and again, so their names are looked at once.

type Names = { readonly names: readonly string[]; readonly length: number };
const knownNames: (Names | undefined)[] = [];
const KNOWN_NAMES = 64;
/** Of all names of an object, in characters. */
const KNOWN_LENGTH = 1_024;

/** What an object of these members takes without their values; NaN where names differ in case only. */
function lengthOfNames(names: readonly string[]): number {
  const { length } = names;
  const last = names[length - 1] ?? "";
  const place = (length * 8 + last.length + last.charCodeAt(0)) % KNOWN_NAMES || 0;
  const known = knownNames[place];
  if (known && areEqual(known.names, names)) return known.length;
  const punctuation = 2 + 3 * length + Math.max(0, length - 1);
  const sum = names.reduce((all, name) => all + name.length, punctuation);
  const found = { names, length: areAlike(names) ? Number.NaN : sum };
  if (length <= MANY && sum <= KNOWN_LENGTH) knownNames[place] = found;
  return found.length;
}

function areEqual(ones: readonly string[], others: readonly string[]): boolean {
  if (ones.length !== others.length) return false;
  for (let index = 0; index < ones.length; index += 1)
    if (ones[index] !== others[index]) return false;
  return true;
}

/** Most objects have so few members that comparing each with each is the fastest. */
const FEW = 10;

function areAlike(names: readonly string[]): boolean {
  if (names.length > FEW)
    return new Set(names.map((name) => name.toLowerCase())).size < names.length;
  for (let index = 1; index < names.length; index += 1) {
    const name = names[index] ?? "";
    for (let before = 0; before < index; before += 1)
      if (isAlike(name, names[before] ?? "")) return true;
  }
  return false;
}

const isAlike = (one: string, other: string): boolean =>
  one.length === other.length &&
  (one.charCodeAt(0) | CASE) === (other.charCodeAt(0) | CASE) &&
  one.toLowerCase() === other.toLowerCase();

/** What tells a small letter of ASCII from its capital. */
const CASE = 0x20;
/** The runtime's own search is the fastest where colons are rare, and slow where there is little else. */
const RARE = 64;

function colonsIn(text: string): number {
  let count = 0;
  let at = text.indexOf(":");
  for (; at >= 0 && count < RARE; at = text.indexOf(":", at + 1)) count += 1;
  if (at < 0) return count;
  for (; at < text.length; at += 1) if (text.charCodeAt(at) === COLON) count += 1;
  return count;
}

class Search {
  found: string | undefined;
  #at = 0;
  readonly #objects = new OpenObjects();
  readonly #json: Buffer;

  constructor(json: Buffer) {
    this.#json = json;
  }

  get isOver(): boolean {
    return this.#at >= this.#json.length || this.found !== undefined;
  }

  advance(bytes: number): void {
    const json = this.#json;
    const objects = this.#objects;
    const stop = Math.min(json.length, this.#at + bytes);
    let at = this.#at;
    while (at < stop) {
      const byte = json[at];
      if (byte !== QUOTE) {
        if (byte === OPEN_BRACE) objects.open();
        else if (byte === CLOSE_BRACE) objects.close();
        at += 1;
        continue;
      }
      const start = at + 1;
      at = skipString(json, at);
      if (at < 0) {
        this.#end("a text does not end", start, json.length);
        return;
      }
      const end = at - 1;
      while (isSpace(json[at])) at += 1;
      if (json[at] !== COLON) continue;
      const added = objects.add(json, start, end);
      if (added !== "new") {
        this.#end(WORDS[added], start, end);
        return;
      }
    }
    this.#at = at;
  }

  #end(word: string, start: number, end: number): void {
    const shown = this.#json.toString("utf8", start, Math.min(end, start + LONGEST_SHOWN));
    this.found = `${word}: ${JSON.stringify(shown)}`;
  }
}

const WORDS = {
  taken: "two members have this name, but for the case of letters",
  unusual: "a member has an unusual name",
} as const;

type Added =
  | "new"
  /** The object has a member of this name, or of one that differs in the case of letters only. */
  | "taken"
  /** Written with escapes, or beyond ASCII. */
  | "unusual";

/** In an object of more members than this, names are found in a set: to compare each with each would cost their square. */
const MANY = 32;

/**
 * The objects that are open at an offset, with the names of their members so far: finds out whether a name was
 * there before, without making a string of it.
 */
class OpenObjects {
  /** Of all open objects, one behind the other: the members' folded hashes, and the spans of their names. */
  #hashes = new Int32Array(128);
  #starts = new Int32Array(128);
  #ends = new Int32Array(128);
  #members = 0;
  /** For each open object, the index of its first member. */
  #firsts = new Int32Array(64);
  #depth = 0;
  /** The names of open objects that have many, by depth. */
  readonly #sets = new Map<number, Set<string>>();

  open(): void {
    if (this.#depth === this.#firsts.length) this.#firsts = widened(this.#firsts);
    this.#firsts[this.#depth] = this.#members;
    this.#depth += 1;
  }

  close(): void {
    if (this.#depth === 0) return;
    if (this.#sets.size > 0) this.#sets.delete(this.#depth);
    this.#depth -= 1;
    this.#members = this.#firsts[this.#depth] ?? 0;
  }

  /** The next member of the innermost object. @param start Behind the opening quote; `end` before the closing one. */
  add(json: Buffer, start: number, end: number): Added {
    let hash = 0;
    for (let at = start; at < end; at += 1) {
      const byte = json[at] ?? 0;
      if (byte >= 0x80 || byte === BACKSLASH) return "unusual";
      hash = (Math.imul(hash, 31) + folded(byte)) | 0;
    }
    const first = this.#depth === 0 ? 0 : (this.#firsts[this.#depth - 1] ?? 0);
    if (this.#members - first >= MANY) {
      if (!this.#addToSet(json, first, json.toString("latin1", start, end).toLowerCase()))
        return "taken";
    } else {
      for (let at = first; at < this.#members; at += 1)
        if (this.#hashes[at] === hash && this.#isNamed(at, json, start, end)) return "taken";
    }
    if (this.#members === this.#hashes.length) this.#widen();
    this.#hashes[this.#members] = hash;
    this.#starts[this.#members] = start;
    this.#ends[this.#members] = end;
    this.#members += 1;
    return "new";
  }

  #isNamed(member: number, json: Buffer, start: number, end: number): boolean {
    let at = this.#starts[member] ?? 0;
    if ((this.#ends[member] ?? 0) - at !== end - start) return false;
    for (let other = start; other < end; other += 1, at += 1)
      if (folded(json[at] ?? 0) !== folded(json[other] ?? 0)) return false;
    return true;
  }

  /** @returns false when it was there. */
  #addToSet(json: Buffer, first: number, name: string): boolean {
    let names = this.#sets.get(this.#depth);
    if (!names) {
      names = new Set();
      for (let at = first; at < this.#members; at += 1)
        names.add(json.toString("latin1", this.#starts[at], this.#ends[at]).toLowerCase());
      this.#sets.set(this.#depth, names);
    }
    if (names.has(name)) return false;
    names.add(name);
    return true;
  }

  #widen(): void {
    this.#hashes = widened(this.#hashes);
    this.#starts = widened(this.#starts);
    this.#ends = widened(this.#ends);
  }
}

const folded = (byte: number): number => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte);

function widened(numbers: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const wider = new Int32Array(numbers.length * 2);
  wider.set(numbers);
  return wider;
}
