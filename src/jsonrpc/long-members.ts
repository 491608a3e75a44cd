// `findMembers` of a text so long that others would wait for it.
import type { Work } from "../lib/turns.ts";
import { CLOSE_BRACE, COLON, COMMA, isSpace, OPEN_BRACE, QUOTE } from "./ascii.ts";
import { MORE, ValueScanner } from "./element-stream-value.ts";
import { keyText, type Span, skipString } from "./members.ts";

/** Bytes between two pauses: a tenth of a millisecond. */
const STEP = 1 << 16;

/** As `findMembers`, in steps. */
export function* findLongMembers(
  json: Buffer,
  names: readonly string[],
): Work<(Span | undefined)[] | undefined> {
  const found: (Span | undefined)[] = names.map(() => undefined);
  let at = behindSpace(json, 0);
  if (json[at] !== OPEN_BRACE) return undefined;
  at = behindSpace(json, at + 1);
  if (json[at] === CLOSE_BRACE)
    return behindSpace(json, at + 1) === json.length ? found : undefined;
  for (;;) {
    const keyEnd = json[at] === QUOTE ? skipString(json, at) : -1;
    const key = keyEnd < 0 ? undefined : keyText(json, at, keyEnd);
    if (key === undefined) return undefined;
    at = behindSpace(json, keyEnd);
    if (json[at] !== COLON) return undefined;
    const start = behindSpace(json, at + 1);
    const end = yield* skipLongValue(json, start);
    if (end === undefined) return undefined;
    const name = names.indexOf(key);
    if (name >= 0) found[name] = { start, end };
    at = behindSpace(json, end);
    if (json[at] === CLOSE_BRACE)
      return behindSpace(json, at + 1) === json.length ? found : undefined;
    if (json[at] !== COMMA) return undefined;
    at = behindSpace(json, at + 1);
  }
}

function* skipLongValue(json: Buffer, start: number): Work<number | undefined> {
  const value = new ValueScanner();
  if (!value.begin(json[start] ?? 0)) return undefined;
  for (let from = start; from < json.length; from += STEP) {
    const end = value.scan(json.subarray(from, from + STEP), 0);
    if (end >= 0) return from + end;
    if (end !== MORE) return undefined;
    yield;
  }
  return undefined;
}

function behindSpace(json: Buffer, from: number): number {
  let at = from;
  while (isSpace(json[at])) at += 1;
  return at;
}
