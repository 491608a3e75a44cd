// Whether every reader of a JSON text reads the same in it. Of members with one name some readers take
// the last (JSON.parse), others the first, and some, as Go's, do not look at the case of letters.
import { atOnce, type Work } from "../lib/turns.ts";
import { CLOSE_BRACE, COLON, isSpace, OPEN_BRACE, QUOTE } from "./ascii.ts";
import { skipString } from "./members.ts";
import { OpenObjects } from "./open-objects.ts";

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
