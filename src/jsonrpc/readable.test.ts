import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ambiguityIn } from "./ambiguity.ts";
import { TOO_DEEP, whyUnreadable } from "./readable.ts";

const check = (text: string, levels = 100): string | undefined =>
  whyUnreadable({ json: Buffer.from(text), text, value: JSON.parse(text) }, levels);

describe("what a caller sent", () => {
  it.each([
    '{"data":"0x1","data":"0x2"}',
    '{"data":"0x1","Data":"0x2"}',
    '{"d\\u0061ta":"0x1","data":"0x2"}',
    '{"d\\u0061ta":1}', // nobody needs an escape to name a member
    '[{"a":[{"b":{"c":1,"c":1}}]}]',
    '{"a":{"x":1},"a":{"x":1}}',
    '{"a":{},"a":{}}',
    '{"addre\u017f\u017f":1}', // the long s
    '{"__proto__":1,"__proto__":2}',
    '{"__proto__":1,"__PROTO__":2}',
    '{"":1,"":2}',
    '{"a":":","a":":"}',
    '{"a":"\\u003a","a":1}', // a colon that the duplicate could hide behind
    '{"a":1,"a":"\\u003A"}',
    `{${Array.from({ length: 20 }, (_, index) => `"a${index}":1`).join()},"A7":1}`,
    `{"data":"0x${"00".repeat(1000)}","data":"0x"}`,
  ])("is read in several ways: %s", (text) => {
    expect(check(text)).toMatch(/^(two members|a member)/);
  });

  it.each([
    "{}",
    "[]",
    '"a:b:c"',
    '{"data":"0x1","input":"0x1"}',
    '[{"a":1},{"a":2}]',
    '{"a":{"a":{"a":1}}}',
    '{"a:b":"c:d","e":["f::"]}',
    '{"a":"\\u003a\\u003A","b":"\\\\u003a","c":"\u017f"}',
    '["\\"a\\":1",{"b":"\\\\"}]',
    '{"constructor":1,"toString":2,"__proto__":{"__proto__":3}}',
    '{ "a" : "cfx:type.user:aarc9abycue0hhzgyrr53m6cxedgccrmmyybjgh4xg" }',
  ])("is read in one way: %s", (text) => {
    expect(check(text)).toBeUndefined();
  });

  it("may not hide behind a parse that takes an escaped name for another one", () => {
    // V8 13.6 looks for the name that stood in this place before.
    for (let count = 0; count < 10; count += 1) JSON.parse('{"to":1,"\\\\u":2}');
    expect(check('{"to":1,"\\u0074o":2}')).toContain("unusual name");
  });

  it("is not looked through deeper than asked for", () => {
    expect(check("[[[1]]]", 3)).toBeUndefined();
    expect(check("[[[1]]]", 2)).toBe(TOO_DEEP);
    expect(check(`${"[".repeat(100_000)}${"]".repeat(100_000)}`)).toBe(TOO_DEEP);
    expect(check('{"a":1,"b":{"c":{}},"d":2}', 2)).toBe(TOO_DEEP);
    expect(check(`{"a":1,"A":${"[".repeat(100_000)}${"]".repeat(100_000)}}`)).toContain('"A"');
  });

  it("is judged as by a look at every byte", () => {
    fc.assert(
      fc.property(anyJson, (text) => {
        expect(check(text)).toBe(ambiguityIn(Buffer.from(text)));
      }),
      { numRuns: 5_000 },
    );
  });

  it("takes time that grows with the text only", () => {
    const dense = [
      ":".repeat(1_000_000),
      "\\\\".repeat(500_000),
      `${" ".repeat(33)}:`.repeat(30_000),
    ];
    for (const text of dense.map((inner) => `["${inner}"]`)) {
      const startedAt = performance.now();
      expect(check(text)).toBeUndefined();
      expect(performance.now() - startedAt).toBeLessThan(1_000);
    }
  });
});

/** As somebody writes it who may write a member twice, in any case, and spell any character with an escape. */
const letter = fc.constantFrom("a", "A", "b", "s", "\u017f", ":", "\\", '"', "{");
const spelled = fc
  .array(fc.tuple(letter, fc.boolean()), { maxLength: 3 })
  .map(
    (letters) =>
      `"${letters.map(([each, isEscaped]) => (isEscaped ? hex(each) : quoted(each))).join("")}"`,
  );

const { anyJson } = fc.letrec<{ anyJson: string }>((tie) => ({
  anyJson: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    spelled,
    fc.constantFrom("1", "null", "true", "-1.5e3"),
    fc.array(tie("anyJson"), { maxLength: 3 }).map((elements) => `[${elements.join()}]`),
    fc
      .array(fc.tuple(spelled, fc.constantFrom(":", " :", ": \n"), tie("anyJson")), {
        maxLength: 4,
      })
      .map((members) => `{${members.map((parts) => parts.join("")).join()}}`),
  ),
}));

const hex = (each: string): string => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`;
const quoted = (each: string): string => JSON.stringify(each).slice(1, -1);
