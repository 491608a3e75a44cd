import { describe, expect, it } from "vitest";
import { isSameAnswer, ofDifferentVendors, verdictOf } from "./at-once.ts";
import type { FinalReply } from "./call-options.ts";

const result = (json: string): FinalReply => ({ kind: "result", json: Buffer.from(json) });
const refusal = (code: number, message: string, data?: string): FinalReply => ({
  kind: "refused",
  code,
  message,
  json: JSON.stringify({ code, message, data }),
});

describe("two answers", () => {
  it.each<[string, FinalReply, FinalReply, boolean]>([
    ["equal bytes", result('"0x1"'), result('"0x1"'), true],
    ["different values", result('"0x1"'), result('"0x2"'), false],
    ["hex in another case", result('"0xAB"'), result('"0xab"'), true],
    ["members in another order", result('{"a":1,"b":[2]}'), result('{"b":[2],"a":1}'), true],
    ["elements in another order", result("[1,2]"), result("[2,1]"), false],
    ["spaces", result('{ "a": 1 }'), result('{"a":1}'), true],
    ["a member more", result('{"a":1}'), result('{"a":1,"b":null}'), false],
    ["null and an empty text", result("null"), result('""'), false],
    ["a result and a refusal", result("null"), refusal(-32000, "no"), false],
    ["one refusal in two wordings", refusal(3, "reverted"), refusal(3, "execution reverted"), true],
    ["reverts of different data", refusal(3, "no", "0x01"), refusal(3, "no", "0x02"), false],
    ["refusals of different codes", refusal(3, "no"), refusal(-32000, "no"), false],
  ])("of %s", (_, a, b, isSame) => {
    expect(isSameAnswer(a, b)).toBe(isSame);
  });
});

describe("the verdict over votes", () => {
  const votes = (text: string) =>
    [...text].map((letter, index) => ({ name: `${index}`, reply: result(`"${letter}"`) }));

  it.each([
    { said: "aa", agree: 2, want: "a", dissenters: [] },
    { said: "aba", agree: 2, want: "a", dissenters: ["1"] },
    { said: "baabb", agree: 3, want: "b", dissenters: ["1", "2"] },
    { said: "ab", agree: 2, want: undefined, dissenters: undefined },
    { said: "", agree: 2, want: undefined, dissenters: undefined },
    { said: "abc", agree: 2, want: undefined, dissenters: undefined },
  ])("$said, of which $agree must agree, is $want", ({ said, agree, want, dissenters }) => {
    const verdict = verdictOf(votes(said), agree);
    const reply = verdict?.reply;
    expect(reply?.kind === "result" ? JSON.parse(String(reply.json)) : undefined).toBe(want);
    expect(verdict?.dissenters.map(({ name }) => name)).toEqual(dissenters);
  });
});

it("one node of each vendor has a vote, the best one", () => {
  const nodes = ["x", "y", "x", "z"].map((vendor, name) => ({ name, options: { vendor } }));
  expect(ofDifferentVendors(nodes).map(({ name }) => name)).toEqual([0, 1, 3]);
});
