// Whether all readers of what a caller sent read the same in it, at less cost than `ambiguityIn`: mostly it is
// enough to count.
import { ambiguityIn } from "./ambiguity.ts";

/** What is said of a value that nests deeper than asked for. Nobody looked further. */
export const TOO_DEEP = "nests too deep";

/**
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
const COLON = 0x3a;
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
