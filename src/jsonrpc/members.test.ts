import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../lib/turns.ts";
import { findElements, findInnerObjects, findLongMembers, findMembers, textOf } from "./members.ts";

const parseMembers = (text: string, names: readonly string[]): unknown[] | undefined => {
  const json = Buffer.from(text);
  return findMembers(json, names)?.map((span) => span && JSON.parse(textOf(json, span)));
};

/** Any JSON object as text, with its keys in any order, indented or not. */
const anyObject = fc
  .record({ value: fc.dictionary(fc.string(), fc.jsonValue()), indent: fc.nat(3) })
  .map(({ value, indent }) => JSON.stringify(value, null, indent))
  .map((text) => ({ value: JSON.parse(text) as Record<string, unknown>, text }));

describe("findMembers", () => {
  it.each([
    ['{"jsonrpc":"2.0","id":1,"result":"0x1"}', [1, "0x1"]],
    ['{"result":[1,{"a":"]}"}],"id":"x"}', ["x", [1, { a: "]}" }]]],
    ['  { "id" : null , "result" : true }\n', [null, true]],
    ['{"id":1,"id":2}', [2, undefined]],
    ['{"\\u0069d":7}', [7, undefined]],
    ['{"result":"a\\\\","id":1}', [1, "a\\"]],
    ["{}", [undefined, undefined]],
  ])("%s", (text, want) => {
    expect(parseMembers(text, ["id", "result"])).toEqual(want);
  });

  it.each([
    "",
    "[]",
    "null",
    '{"id":1',
    '{"id":1}}',
    '{"id":}',
    '{"result":[{]}}',
    '{"result":"abc',
    '{"result":[{"topics":["0x1"]}',
    '{"id" 1}',
    "{id:1}",
    '{"\\x":1}',
  ])("refuses %s", (text) => {
    expect(parseMembers(text, ["id"])).toBeUndefined();
  });

  it("keeps the digits of an integer beyond 2^53", () => {
    const json = Buffer.from('{"id":90071992547409931}');
    const [id] = findMembers(json, ["id"]) ?? [];
    expect(id && textOf(json, id)).toBe("90071992547409931");
  });

  it("finds what JSON.parse finds", () => {
    fc.assert(
      fc.property(anyObject, fc.string(), ({ value, text }, other) => {
        const names = [...new Set([...Object.keys(value), other])];
        expect(parseMembers(text, names)).toEqual(
          names.map((name) => (Object.hasOwn(value, name) ? value[name] : undefined)),
        );
      }),
      { numRuns: 2_000 },
    );
  });

  it("notices every cut", () => {
    fc.assert(
      fc.property(anyObject, fc.nat(), ({ text }, seed) => {
        const json = Buffer.from(text);
        const cut = json.subarray(0, seed % json.length);
        expect(findMembers(cut, ["id"])).toBeUndefined();
      }),
      { numRuns: 2_000 },
    );
  });

  it("skips long strings with escapes", () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 40, maxLength: 400, unit: fc.constantFrom("\\", '"', "a") }),
        (long) => {
          expect(parseMembers(JSON.stringify({ long, id: 1 }), ["id", "long"])).toEqual([1, long]);
        },
      ),
    );
  });

  it("refuses what nests without end, in bounded time", () => {
    expect(findMembers(Buffer.from(`{"a":${"[".repeat(1 << 22)}`), ["a"])).toBeUndefined();
  });
});

describe("findElements", () => {
  it("finds what JSON.parse finds", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.nat(3), (values, indent) => {
        const json = Buffer.from(JSON.stringify(values, null, indent));
        const elements = findElements(json)?.map((span) => JSON.parse(textOf(json, span)));
        expect(elements).toEqual(JSON.parse(json.toString()));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(["[1,]", "[", "[1 2]", "{}", "[1]]", ""])("refuses %s", (text) => {
    expect(findElements(Buffer.from(text))).toBeUndefined();
  });
});

const NAMES = ["id", "result", "error"];
const both = (text: string) => {
  const json = Buffer.from(text);
  return [atOnce(findLongMembers(json, NAMES)), findMembers(json, NAMES)];
};

it("finds what findMembers finds, in any JSON and in what was cut off", () => {
  const anything = fc
    .record({
      value: fc.oneof(
        fc.dictionary(fc.oneof(fc.constantFrom(...NAMES), fc.string()), fc.jsonValue()),
        fc.jsonValue(),
      ),
      indent: fc.nat(3),
      cut: fc.nat(200),
    })
    .map(({ value, indent, cut }) => {
      const text = JSON.stringify(value, null, indent);
      return cut > 100 ? text : text.slice(0, cut);
    });
  fc.assert(
    fc.property(anything, (text) => {
      const [long, short] = both(text);
      expect(long).toEqual(short);
    }),
    { numRuns: 3_000 },
  );
});

it("finds the end of a value that is longer than a step", () => {
  const logs = Array.from({ length: 10_000 }, (_, at) => ({ at, data: '"}]{'.repeat(at % 7) }));
  const [long, short] = both(JSON.stringify({ id: 7, result: logs, error: null }));
  expect(long).toEqual(short);
  expect(long?.[1]?.end).toBeGreaterThan(1 << 17);
});

describe("findInnerObjects", () => {
  /** The objects in a value that have nothing but arrays around them. */
  const objectsIn = (value: unknown): unknown[] =>
    Array.isArray(value)
      ? value.flatMap(objectsIn)
      : typeof value === "object" && value !== null
        ? [value]
        : [];

  it("tells where the objects stand that are in no other but the outer one", () => {
    fc.assert(
      fc.property(anyObject, ({ text }) => {
        const json = Buffer.from(text);
        const found = atOnce(findInnerObjects(json)).map((span) => JSON.parse(textOf(json, span)));
        expect(found).toEqual(Object.values(JSON.parse(text)).flatMap(objectsIn));
      }),
    );
  });
});
