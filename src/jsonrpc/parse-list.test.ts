import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../lib/turns.ts";
import { parseList } from "./parse-list.ts";

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
          expect(parse(text, ["list"], list.length)).toEqual({
            kind: "parsed",
            around: JSON.parse(JSON.stringify({ ...others, list: [] })),
            elements: JSON.parse(JSON.stringify(list)),
          });
          expect(parse(JSON.stringify(list), [], list.length)).toMatchObject({ around: [] });
        },
      ),
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
});
