import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ambiguityIn } from "./ambiguity.ts";

const isAmbiguous = (text: string): boolean => ambiguityIn(Buffer.from(text)) !== undefined;

/** JSON as a list of members, which an object cannot hold: it may have the same name twice. */
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

/** The rule, said once more and slowly. */
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
    // Escapes: this says "data" twice.
    '{"d\\u0061ta":1,"data":2}',
    '{"d\\u0061ta":1}',
    // Go folds both to ASCII letters: the Kelvin sign to k, the long s to s.
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

  it("take no more time where an object has a great many", () => {
    const members = Array.from({ length: 200_000 }, (_, at) => `"${at.toString(36)}":0`);
    expect(isAmbiguous(`{${members.join()}}`)).toBe(false);
    expect(isAmbiguous(`{${members.join()},"1A":0}`)).toBe(true);
  });

  it("whatever the bytes are, nothing is thrown", () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void ambiguityIn(Buffer.from(bytes))));
  });
});
