// One JSON array of values that are JSON already.
import type { RawJson } from "../jsonrpc/envelope.ts";

const COMMA = 0x2c;

/** @param before An array whose values come first. */
export function joinJson(values: readonly RawJson[], before?: Buffer): RawJson {
  if (values.length === 0) return before ?? "[]";
  const pieces = values.map((value) => (typeof value === "string" ? Buffer.from(value) : value));
  if (before && before.length > "[]".length)
    pieces.unshift(before.subarray(before.indexOf("[") + 1, before.lastIndexOf("]")));
  const bytes = pieces.reduce((sum, piece) => sum + piece.length + 1, 1);
  const joined = Buffer.allocUnsafe(bytes);
  let at = joined.write("[");
  for (const piece of pieces) {
    at += piece.copy(joined, at);
    joined[at] = COMMA;
    at += 1;
  }
  joined.write("]", at - 1);
  return joined;
}
