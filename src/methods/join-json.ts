// One JSON array of values that are JSON already.
import { COMMA, OPEN_BRACE } from "../jsonrpc/ascii.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";

/** @param before An array of objects, which come first. */
export function joinJson(values: readonly RawJson[], before?: Buffer): RawJson {
  if (values.length === 0) return before ?? "[]";
  const pieces = values.map((value) => (typeof value === "string" ? Buffer.from(value) : value));
  return joined(before ? [...insideOf(before), ...pieces] : pieces);
}

/** One array of what several arrays of objects hold. */
export function joinArrays(arrays: readonly Buffer[]): Buffer {
  const [only] = arrays;
  return only && arrays.length === 1 ? only : joined(arrays.flatMap(insideOf));
}

/** What stands between the brackets, if anything does. */
const insideOf = (array: Buffer): Buffer[] =>
  array.includes(OPEN_BRACE)
    ? [array.subarray(array.indexOf("[") + 1, array.lastIndexOf("]"))]
    : [];

function joined(pieces: readonly Buffer[]): Buffer {
  if (pieces.length === 0) return Buffer.from("[]");
  const bytes = pieces.reduce((sum, piece) => sum + piece.length + 1, 1);
  const whole = Buffer.allocUnsafe(bytes);
  let at = whole.write("[");
  for (const piece of pieces) {
    at += piece.copy(whole, at);
    whole[at] = COMMA;
    at += 1;
  }
  whole.write("]", at - 1);
  return whole;
}
