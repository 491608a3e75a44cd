import { describe, expect, it } from "vitest";
import { BROKEN, MORE, ValueScanner } from "./value-scanner.ts";

/** The offset behind the value at the start of the text, which is read in chunks of `size` bytes. */
function endOf(text: string, size = text.length): number {
  const json = Buffer.from(text);
  const scanner = new ValueScanner();
  if (!scanner.begin(json[0] ?? 0)) return BROKEN;
  for (let at = 0; at < json.length; at += size) {
    const end = scanner.scan(json.subarray(at, at + size), 0);
    if (end !== MORE) return end === BROKEN ? end : at + end;
  }
  return MORE;
}

describe("ValueScanner", () => {
  it.each([
    ["12,3", 2],
    ["true}", 4],
    ["-1 ", 2],
    ["12", MORE],
    ['"a"b', 3],
    ['"\\"', MORE],
    ['{"a":"}"}}', 9],
    ["[[]]]", 4],
    ["[[]", MORE],
    ["[}", BROKEN],
    ["[{]", BROKEN],
    ['1"', BROKEN],
    ["1[", BROKEN],
    ["]", BROKEN],
    [",", BROKEN],
  ])("%s ends at %d", (text, end) => {
    expect(endOf(text)).toBe(end);
    expect(endOf(text, 1)).toBe(end);
  });

  it.each(['"', "\\", '\\"', '\\\\"]', "]", "\\".repeat(200)])(
    "finds the end of a long string with %s, wherever it is cut",
    (special) => {
      const long = "a".repeat(100);
      const value = JSON.stringify([special + long, long + special, special + long + special]);
      for (let size = 1; size <= value.length; size += 1) {
        expect(endOf(`${value} "]`, size)).toBe(value.length);
      }
    },
  );

  it("knows each bracket of a deep nesting", () => {
    const inner = '[{"a":'.repeat(500);
    const text = `${inner}1${"}]".repeat(500)}`;
    expect(endOf(text)).toBe(text.length);
    expect(endOf(`${inner}1${"}]".repeat(499)}]}`)).toBe(BROKEN);
  });

  it("refuses what nests without end, in bounded time and memory", () => {
    expect(endOf("[".repeat(1 << 22))).toBe(BROKEN);
  });
});
