import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { servedMsOf } from "../../test/support/served-time.ts";
import { ambiguityIn, isWrittenOnce, TOO_DEEP, whyUnreadable } from "./ambiguity.ts";

const isAmbiguous = (text: string): boolean => ambiguityIn(Buffer.from(text)) !== undefined;

/** JSON as a list of members, so that a name can occur twice, as it cannot in an object. */
type Node =
  | { readonly kind: "scalar"; readonly text: string }
  | { readonly kind: "array"; readonly items: readonly Node[] }
  | { readonly kind: "object"; readonly members: readonly (readonly [string, Node])[] };

const NAMES = [
  "data",
  "Data",
  "DATA",
  "dat",
  "to",
  "tO",
  "a",
  "b",
  "",
  "é",
  "É",
  "K",
  "k",
  "ſ",
  'q"',
];
const name = fc.oneof(fc.constantFrom(...NAMES), fc.string({ maxLength: 3 }));
const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 5, depthSize: "small" },
    fc
      .oneof(fc.string(), fc.integer(), fc.boolean(), fc.constantFrom(null, '"a":1', "\\", "{}"))
      .map((value) => ({ kind: "scalar" as const, text: JSON.stringify(value) })),
    fc.array(tie("node"), { maxLength: 4 }).map((items) => ({ kind: "array" as const, items })),
    fc
      .array(fc.tuple(name, tie("node")), { maxLength: 6 })
      .map((members) => ({ kind: "object" as const, members })),
  ),
}));

function write(value: Node, space: string): string {
  if (value.kind === "scalar") return value.text;
  if (value.kind === "array")
    return `[${value.items.map((item) => write(item, space)).join(`,${space}`)}]`;
  const members = value.members.map(
    ([key, member]) => `${JSON.stringify(key)}${space}:${write(member, space)}`,
  );
  return `{${members.join(`${space},`)}${space}}`;
}

/** The rule of `ambiguityIn`, implemented plainly and slowly. */
function collides(value: Node): boolean {
  if (value.kind === "scalar") return false;
  if (value.kind === "array") return value.items.some(collides);
  const names = value.members.map(([key]) => key);
  const isUnusual = names.some((key) => !/^[\x20-\x7e\x7f]*$/.test(key) || /["\\]/.test(key));
  const isDouble = new Set(names.map((key) => key.toLowerCase())).size < names.length;
  return isUnusual || isDouble || value.members.some(([, member]) => collides(member));
}

describe("members that readers may take for each other", () => {
  it.each([
    '{"data":"0x","Data":"0x00"}',
    '{"stateRoot":"0x1","stateRoot":"0x2"}',
    '{"logs":[{"topics":[]},{"address":"0x1","topics":[{"a":1,"A":2}]}]}',
    '{"accessList":[{"storageKeys":[],"address":"0x","Address":"0x"}]}',
    '[{"to":1 , "TO" :2}]',
    // With the escape decoded, "data" occurs twice.
    '{"d\\u0061ta":1,"data":2}',
    '{"d\\u0061ta":1}',
    // Go folds both characters to ASCII letters: the Kelvin sign to k, the long s to s.
    '{"\u212aey":1,"key":2}',
    '{"\u017ftatus":1,"status":2}',
    '{"\u017ftatus":1}',
    `{${Array.from({ length: 100 }, (_, at) => `"m${at}":{"a":${at}}`).join()},"M7":1}`,
  ])("are found in %s", (text) => {
    expect(isAmbiguous(text)).toBe(true);
  });

  it.each([
    "{}",
    "[]",
    '"a"',
    '{"a":{"a":{"A":1}},"b":[{"a":1},{"A":2}]}',
    '{"a":"\\"A\\":1","b":"a"}',
    '{"Ab":1,"aC":2}',
    `{${Array.from({ length: 100 }, (_, at) => `"m${at}":{"a":${at}}`).join()},"a":1}`,
  ])("are not found in %s", (text) => {
    expect(isAmbiguous(text)).toBe(false);
  });

  it("are found wherever they are", () => {
    fc.assert(
      fc.property(node, fc.constantFrom("", " ", "\n\t"), (value, space) => {
        expect(isAmbiguous(write(value, space))).toBe(collides(value));
      }),
      { numRuns: 5_000 },
    );
  });

  it("are in no text that says no more than its value", () => {
    const isPlain = (text: string): boolean => /^[ -\x7f]*$/.test(text) && !text.includes("\\");
    let plain = 0;
    fc.assert(
      fc.property(node, (value) => {
        const text = write(value, "");
        const isOnce = isPlain(text) && isWrittenOnce(JSON.parse(text), text.length);
        if (isOnce) plain += 1;
        if (isOnce) expect(collides(value)).toBe(false);
      }),
      { numRuns: 5_000 },
    );
    expect(plain).toBeGreaterThan(500);
  });

  it.each([
    ['{"a":"0x1","b":[{"c":null,"d":false,"e":true},[],{}]}', true],
    ['{"a":"0x1","a":"0x1"}', false],
    ['{"a":1e3,"a":10}', false], // 1e3 is shorter than the number written out
    ['{"a":"0x1", "b":""}', false],
    ['{"topic":"","Topic":""}', false],
  ])("may be in %s: %s is not", (text, isOnce) => {
    expect(isWrittenOnce(JSON.parse(text), text.length)).toBe(isOnce);
  });

  it("take no more time where an object has a great many", () => {
    const members = Array.from({ length: 200_000 }, (_, at) => `"${at.toString(36)}":0`);
    expect(isAmbiguous(`{${members.join()}}`)).toBe(false);
    expect(isAmbiguous(`{${members.join()},"1A":0}`)).toBe(true);
  });

  it("whatever the bytes are, nothing is thrown", () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void ambiguityIn(Buffer.from(bytes))));
  });
});

const check = (text: string, levels = 100): string | undefined =>
  whyUnreadable({ json: Buffer.from(text), text, value: JSON.parse(text) }, levels);

describe("what a caller sent", () => {
  it.each([
    '{"data":"0x1","data":"0x2"}',
    '{"data":"0x1","Data":"0x2"}',
    '{"d\\u0061ta":"0x1","data":"0x2"}',
    '{"d\\u0061ta":1}', // no name needs an escape
    '[{"a":[{"b":{"c":1,"c":1}}]}]',
    '{"a":{"x":1},"a":{"x":1}}',
    '{"a":{},"a":{}}',
    '{"addre\u017f\u017f":1}', // the long s
    '{"__proto__":1,"__proto__":2}',
    '{"__proto__":1,"__PROTO__":2}',
    '{"":1,"":2}',
    '{"a":":","a":":"}',
    '{"a":"\\u003a","a":1}', // counted as a colon, it would balance the duplicate
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
    // V8 13.6 looks for the name that an earlier object had in this place.
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

  it("takes time that grows with the text only", async () => {
    const dense = [
      ":".repeat(1_000_000),
      "\\\\".repeat(500_000),
      `${" ".repeat(33)}:`.repeat(30_000),
    ];
    for (const text of dense.map((inner) => `["${inner}"]`)) {
      expect(await servedMsOf(() => expect(check(text)).toBeUndefined())).toBeLessThan(1_000);
    }
  });
});

/** A member name as an attacker writes it: repeated, in any case, with any character escaped. */
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
