// A long JSON text parsed in steps: the elements of one array in it one by one, then what is around them.
import type { Work } from "../lib/turns.ts";
import { ElementStream } from "./element-stream.ts";
import { parsed } from "./parsed.ts";

export type ParsedList =
  | {
      readonly kind: "parsed";
      /** The text, with an empty array in place of the one that was looked for. */
      readonly around: unknown;
      readonly elements: readonly unknown[];
    }
  /** What stands behind them was not looked at. */
  | { readonly kind: "too many" }
  | { readonly kind: "malformed" };

/** Bytes between two pauses: under a millisecond's work. */
const STEP = 1 << 16;

/** @param options.path See `ElementStream`. @param options.most Elements. */
export function* parseList(
  json: Buffer,
  options: { readonly path: readonly string[]; readonly most: number },
): Work<ParsedList> {
  const { path, most } = options;
  const elements: unknown[] = [];
  const stream = new ElementStream(
    { path, maxElementBytes: json.length, maxRestBytes: json.length },
    (element) => {
      elements.push(element);
      return elements.length <= most;
    },
  );
  for (let at = 0; at < json.length; at += STEP) {
    if (!stream.add(json.subarray(at, at + STEP))) return { kind: "malformed" };
    if (elements.length > most) return { kind: "too many" };
    yield;
  }
  const rest = stream.finish();
  const around = rest && parsed(rest);
  return around === undefined ? { kind: "malformed" } : { kind: "parsed", around, elements };
}
