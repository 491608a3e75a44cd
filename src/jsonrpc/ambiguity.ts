// Whether every reader of a JSON text reads the same in it. Of members with one name some readers take
// the last (JSON.parse), others the first, and some, as Go's, do not look at the case of letters.
import { CLOSE_BRACE, COLON, isSpace, OPEN_BRACE, QUOTE } from "./ascii.ts";
import { skipString } from "./members.ts";
import { OpenObjects } from "./open-objects.ts";

const LONGEST_SHOWN = 40;

/** Grows with the depth; never read across calls. */
const objects = new OpenObjects();

/**
 * Why readers may differ: an object, at any depth, has two members of one name, or of names that differ
 * in the case of letters only; or a name is written with escapes or beyond ASCII, where readers have
 * ideas of their own about what is the same (Go folds the Kelvin sign to k).
 *
 * @param json What JSON.parse takes; of other texts a word is said or not.
 * @returns undefined when all readers read the same.
 */
export function ambiguityIn(json: Buffer): string | undefined {
  const { length } = json;
  objects.reset();
  for (let at = 0; at < length; ) {
    const byte = json[at];
    if (byte !== QUOTE) {
      if (byte === OPEN_BRACE) objects.open();
      else if (byte === CLOSE_BRACE) objects.close();
      at += 1;
      continue;
    }
    const start = at + 1;
    at = skipString(json, at);
    if (at < 0) return "a text that does not end";
    const end = at - 1;
    while (isSpace(json[at])) at += 1;
    if (json[at] !== COLON) continue;
    const added = objects.add(json, start, end);
    if (added !== "new") return `${WORDS[added]} ${shown(json, start, end)}`;
  }
  return undefined;
}

const WORDS = {
  taken: "two members are named, but for the case of letters,",
  unusual: "a member has the unusual name",
} as const;

const shown = (json: Buffer, start: number, end: number): string =>
  JSON.stringify(json.toString("utf8", start, Math.min(end, start + LONGEST_SHOWN)));
