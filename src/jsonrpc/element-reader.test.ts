import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ElementReader } from "./element-reader.ts";
import { findElements, textOf } from "./members.ts";
import { parsed } from "./raw-json.ts";

/** What is read, and whether it is one array. */
function read(text: string): { values: unknown[]; texts: string[]; isBroken: boolean } {
  const json = Buffer.from(text);
  const reader = new ElementReader(json);
  const values: unknown[] = [];
  const texts: string[] = [];
  while (reader.next()) {
    values.push(reader.value);
    texts.push(reader.text);
    expect(reader.text).toBe(json.toString("utf8", reader.start, reader.end));
  }
  return { values, texts, isBroken: reader.isBroken };
}

describe("the elements of an array", () => {
  it.each([
    ["[]", []],
    [" [ ] ", []],
    ['[{"a":"}"}]', [{ a: "}" }]],
    ['[{"a":{}},{}]', [{ a: {} }, {}]],
    ['[{"a":"\\"}"} , 1,[{}] ]\n', [{ a: '"}' }, 1, [{}]]],
    ["[{a}]", [undefined]],
  ])("of %s", (json, want) => {
    expect(read(json)).toMatchObject({ values: want, isBroken: false });
  });

  it.each([
    "",
    "{}",
    "null",
    "[",
    "[1",
    "[1,",
    "[1,]",
    "[,]",
    "[1 2]",
    "[{}",
    '[{"a":"}]',
    "[]]",
    "[{}}]",
  ])("are not those of %s", (json) => {
    expect(read(json).isBroken).toBe(true);
  });

  const flat = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.boolean()));
  const text = fc
    .record({
      value: fc.array(fc.oneof(flat, fc.jsonValue())),
      indent: fc.nat(2),
      cut: fc.nat(200),
      put: fc.record({
        at: fc.nat(100),
        what: fc.constantFrom("", "{", "}", "[", "]", ",", '"', "\\"),
      }),
    })
    .map(({ value, indent, cut, put: { at, what } }) => {
      const whole = JSON.stringify(value, null, indent);
      const changed = whole.slice(0, at) + what + whole.slice(at);
      return cut > 100 ? changed : changed.slice(0, cut);
    });

  it("are those that are found by looking at each byte, in any text", () => {
    fc.assert(
      fc.property(text, (any) => {
        const json = Buffer.from(any);
        const spans = findElements(json);
        const { values, texts, isBroken } = read(any);
        expect(isBroken).toBe(spans === undefined);
        if (!spans) return;
        expect(texts).toEqual(spans.map((span) => textOf(json, span)));
        expect(values).toEqual(texts.map(parsed));
      }),
      { numRuns: 5_000 },
    );
  });
});
