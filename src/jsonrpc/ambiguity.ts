// Whether all JSON readers understand a text alike. Of members with the same name, some readers take the last
// (JSON.parse), others the first; some readers, as Go's, ignore the case of letters in names.
import { atOnce, type Work } from "../lib/turns.ts";
import { BACKSLASH, CLOSE_BRACE, COLON, OPEN_BRACE, QUOTE } from "./ascii.ts";
import { isSpace, skipString } from "./members.ts";

const LONGEST_SHOWN = 40;
/** Bytes between two pauses: scanning them takes a tenth of a millisecond. */
const STEP = 1 << 16;

/**
 * Says why readers may understand a text differently. Either an object, at any depth, has two members with the same
 * name, or with names that differ only in case; or a name contains escapes or characters beyond ASCII, which readers
 * compare differently (Go folds the Kelvin sign to k).
 *
 * @param json Valid JSON. For other texts the result means nothing.
 * @returns undefined when all readers understand the text alike.
 */
export const ambiguityIn = (json: Buffer): string | undefined => atOnce(findAmbiguity(json));

/** As `ambiguityIn`, in steps. */
export function* findAmbiguity(json: Buffer): Work<string | undefined> {
  const search = new Search(json);
  while (!search.isOver) {
    search.advance(STEP);
    yield;
  }
  return search.found;
}

/** The verdict about a value that nests deeper than the caller allows; its deeper levels are not examined. */
export const TOO_DEEP = "nests too deep";

/**
 * As `ambiguityIn`, but cheaper: counting is mostly enough.
 *
 * Each member has one colon outside of strings. If an ASCII text without escapes has as many colons as the parsed value
 * has members, then JSON.parse dropped no member. Otherwise strings contain colons, or two members share a name, and
 * `ambiguityIn` scans the bytes.
 *
 * The count does not trust JSON.parse with escaped names: V8 13.6, in Node 24, reads "\u0074o" as the name `\u` when an
 * object that it parsed before has that name in this slot.
 *
 * @param text The same text as `json`. @param value The value that JSON.parse made of the text.
 * @param levels How deep the value may nest; the count recurses through it.
 * @returns Why readers may differ, TOO_DEEP, or undefined when all readers understand the text alike.
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

/** Members at all depths; Infinity if the value nests too deep, NaN if names differ only in case. Both survive sums. */
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
 * Whether a text is the shortest text for the value that JSON.parse made of it. If so, the parse dropped no member: a
 * dropped member would have made the text longer. False also means unknown: the value contains a number, or nests
 * deeper than a block.
 *
 * @param length The length of the text, which is ASCII without escapes.
 */
export const isWrittenOnce = (value: unknown, length: number): boolean =>
  shortestLength(value, BLOCK_LEVELS) === length;

/** A block nests six levels deep: block, transactions, transaction, access list, entry, keys. */
const BLOCK_LEVELS = 8;

/** The length of the shortest text for a value; NaN if it is unknown, or if names differ only in case. */
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

// Objects of a few kinds occur again and again: the cache lets each set of names be compared once.

type Names = { readonly names: readonly string[]; readonly length: number };
const knownNames: (Names | undefined)[] = [];
const KNOWN_NAMES = 64;
/** Characters of all names of one cached object. */
const KNOWN_LENGTH = 1_024;

/** The length of an object's text without its members' values; NaN if names differ only in case. */
function lengthOfNames(names: readonly string[]): number {
  const { length } = names;
  const last = names[length - 1] ?? "";
  const slot = (length * 8 + last.length + last.charCodeAt(0)) % KNOWN_NAMES || 0;
  const known = knownNames[slot];
  if (known && areEqual(known.names, names)) return known.length;
  const punctuation = 2 + 3 * length + Math.max(0, length - 1);
  const sum = names.reduce((all, name) => all + name.length, punctuation);
  const found = { names, length: areAlike(names) ? Number.NaN : sum };
  if (length <= MANY && sum <= KNOWN_LENGTH) knownNames[slot] = found;
  return found.length;
}

function areEqual(ones: readonly string[], others: readonly string[]): boolean {
  if (ones.length !== others.length) return false;
  for (let index = 0; index < ones.length; index += 1)
    if (ones[index] !== others[index]) return false;
  return true;
}

/** Up to this many members, which most objects have, comparing all pairs of names is the fastest. */
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

/** The bit that differs between a lowercase ASCII letter and its capital. */
const CASE = 0x20;
/** After this many colons a loop counts the rest: the runtime's search is the fastest only where colons are rare. */
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
  /** The object already has a member with this name, or with a name that differs only in case. */
  | "taken"
  /** The name contains escapes or characters beyond ASCII. */
  | "unusual";

/** Above this many members, an object's names go into a set: the time to compare all pairs grows with their square. */
const MANY = 32;

/** The objects that are open at an offset. Detects a repeated member name without making a string of the name. */
class OpenObjects {
  /** Of all open objects, in order of depth: the members' folded hashes, and the spans of their names. */
  #hashes = new Int32Array(128);
  #starts = new Int32Array(128);
  #ends = new Int32Array(128);
  #members = 0;
  /** For each open object, the index of its first member. */
  #firsts = new Int32Array(64);
  #depth = 0;
  /** By depth, the names of the open objects with more than MANY members. */
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

  /** Adds a member to the innermost object. @param start Behind the opening quote. @param end Before the other. */
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

  /** @returns false when the set already has the name. */
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
