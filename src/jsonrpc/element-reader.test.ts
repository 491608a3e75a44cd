import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../lib/turns.ts";
import { ElementReader, parseList } from "./element-reader.ts";
import { findElements, findInnerObjects, findList, textOf } from "./members.ts";
import { parsed } from "./raw-json.ts";

/** The elements that the reader returns, and whether it finds the array broken. */
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

const parse = (text: string, path: readonly string[], most = 100) =>
  atOnce(parseList(Buffer.from(text), { path, most }));

describe("a long list parsed in steps", () => {
  it("is what JSON.parse finds", () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue()),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (list, rest) => {
          const { list: _, ...others } = { ...rest, list };
          const text = JSON.stringify({ ...others, list });
          expect(parse(text, ["list"], list.length)).toMatchObject({
            kind: "parsed",
            around: JSON.parse(JSON.stringify({ ...others, list: [] })),
            elements: JSON.parse(JSON.stringify(list)),
          });
          expect(parse(JSON.stringify(list), [], list.length)).toMatchObject({ around: [] });
        },
      ),
    );
  });

  it("tells where the list and its elements stand, as a look for them does, however it is cut", () => {
    const long = fc.array(fc.oneof(fc.jsonValue(), fc.constant("é".repeat(40_000))));
    fc.assert(
      fc.property(long, fc.dictionary(fc.string(), fc.jsonValue()), (list, rest) => {
        const text = `{ "rest" : ${JSON.stringify(rest)}, "list" : ${JSON.stringify(list, null, 1)} , "more":[] }`;
        const json = Buffer.from(text);
        const found = parse(text, ["list"], list.length);
        expect(found).toMatchObject({ at: atOnce(findList(json, "list")) });
      }),
    );
  });

  it("ends at the first element too many, whatever stands behind it", () => {
    const elements = Array.from({ length: 100_000 }, () => "{}").join();
    expect(parse(`[${elements},`, [], 99)).toEqual({ kind: "too many" });
  });

  it.each(["", "7", "[", '{"list":[1,]}', '{"list":[1]', '{"list":[1]}}', '{"list":[01]}'])(
    "is nothing of %s",
    (text) => {
      expect(parse(text, ["list"])).toEqual({ kind: "malformed" });
    },
  );

  it("is the same where it is written as nodes do, with braces in texts, too", () => {
    const long = "7".repeat(30_000);
    const text = fc.constantFrom("0x", "0x", long, "", "{", "}", "}{", "{}", "],[", "list");
    const flat = fc.dictionary(fc.constantFrom("a", "b"), text, { maxKeys: 2 });
    const logs = fc.oneof(fc.array(flat, { maxLength: 3 }), fc.constant([[{ a: {} }]]));
    const names = fc.constantFrom("x", "logs", "y");
    const element = fc.dictionary(names, fc.oneof(text, logs), { maxKeys: 3 });
    let inner = 0;
    fc.assert(
      fc.property(fc.array(element, { maxLength: 3 }), text, text, (list, before, behind) => {
        const json = JSON.stringify({ before, list, behind });
        const found = parse(json, ["list"], list.length);
        expect(found).toMatchObject({ around: { before, list: [], behind }, elements: list });
        if (found.kind !== "parsed") throw new Error("this is JSON");
        expect(found.at).toMatchObject(atOnce(findList(Buffer.from(json), "list")) ?? {});
        for (const [index, { start, end }] of found.at.elements.entries()) {
          const objects = atOnce(findInnerObjects(Buffer.from(json.slice(start, end))));
          const pairs = found.at.inner?.[index] ?? [];
          if (pairs.length === 0 || pairs.length !== objects.length) continue;
          inner += 1;
          const moved = objects.map((span) => ({
            start: start + span.start,
            end: start + span.end,
          }));
          expect(pairs).toEqual(moved);
        }
      }),
      { numRuns: 4_000 },
    );
    expect(inner).toBeGreaterThan(30);
  });

  it.each([
    '{"in":{"list":[{"a":1}]},"list":[]}',
    '{"list":["list",{"a":1}]}',
    '{"a":"list","list":[{"a":1}]}',
    '{"list":[{"a":"}"},{"b":"{"}],"c":"\\u0041"}',
    ' {"list":[{"a":"é"}]}',
  ])("is what JSON.parse finds in %s", (json) => {
    const { list, ...others } = JSON.parse(json) as Record<string, unknown>;
    expect(parse(json, ["list"])).toMatchObject({
      around: { ...others, list: [] },
      elements: list,
      at: atOnce(findList(Buffer.from(json), "list")),
    });
  });
});
