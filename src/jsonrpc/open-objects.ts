// The objects that are open at a place of a JSON text, with the names of their members so far: finds out
// whether a name was there before, without making a string of it.
import { BACKSLASH } from "./ascii.ts";

export type Added =
  | "new"
  /** The object has a member of this name, or of one that differs in the case of letters only. */
  | "taken"
  /** Written with escapes, or beyond ASCII. */
  | "unusual";

/** In an object of more members than this, names are found in a set: to compare each with each would cost their square. */
const FEW = 32;

export class OpenObjects {
  /** Of all open objects, one behind the other: the members' folded hashes, and where their names stand. */
  #hashes = new Int32Array(128);
  #starts = new Int32Array(128);
  #ends = new Int32Array(128);
  #members = 0;
  /** For each open object, where its first member stands in them. */
  #firsts = new Int32Array(64);
  #depth = 0;
  /** The names of open objects that have many, by depth. */
  readonly #sets = new Map<number, Set<string>>();

  /** No object is open any more. */
  reset(): void {
    this.#members = 0;
    this.#depth = 0;
    this.#sets.clear();
  }

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
    if (this.#members - first >= FEW) {
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
