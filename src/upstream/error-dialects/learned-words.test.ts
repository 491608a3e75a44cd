import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LearnedWords, wordsOf } from "./learned-words.ts";

describe("the words of a refusal", () => {
  it.each([
    ["failed to load state at height 5", "-32000 failed to load state at height #"],
    ["no root 0xABcd at 12,345", "-32000 no root # at #"],
    ["no node deadbeef00112233 here", "-32000 no node # here"],
    ["see https://example.org/key?a=b now", "-32000 see # now"],
    ["Größe\u0007 falsch", "-32000 gr e falsch"],
    ["12 34", undefined],
    ["", undefined],
  ])("%s are %s", (message, want) => {
    expect(wordsOf({ code: -32000, message })).toBe(want);
  });

  it("are short and printable, whatever a node writes", () => {
    fc.assert(
      fc.property(fc.integer(), fc.string({ unit: "binary", maxLength: 600 }), (code, message) => {
        const words = wordsOf({ code, message });
        if (words !== undefined) expect(words).toMatch(/^-?\d+ [\x20-\x7e]{1,120}$/);
      }),
    );
  });
});

describe("learned words", () => {
  const made = (): { now: number; words: LearnedWords } => {
    const clock = { now: () => time.now };
    const time = { now: 0, words: new LearnedWords({ livesMs: 1_000 }, { clock }) };
    return time;
  };
  const said = (message: string) => ({ code: -32000, message });

  it("are known for their method and code, for a while", () => {
    const time = made();
    expect(time.words.remember("m", said("no flux 5"))).toBe(true);
    expect(time.words.remember("m", said("no flux 6"))).toBe(false);
    expect(time.words.has("m", said("no flux 7"))).toBe(true);
    expect(time.words.has("n", said("no flux 7"))).toBe(false);
    expect(time.words.has("m", { code: 1, message: "no flux 7" })).toBe(false);
    time.now = 1_000;
    expect(time.words.has("m", said("no flux 7"))).toBe(false);
  });

  it("are few: the oldest of a method, and of all, leave first", () => {
    const { words } = made();
    for (let each = 0; each < 20; each += 1) words.remember("m", said("x".repeat(each + 3)));
    expect(words.toRecord()).toHaveLength(8);
    expect(words.has("m", said("x".repeat(22)))).toBe(true);
    for (let each = 0; each < 200; each += 1) words.remember(`m${each}`, said("no flux"));
    expect(words.toRecord()).toHaveLength(64);
  });

  it("outlive a restart by their record", () => {
    const { words } = made();
    words.remember("m", said("no flux 5"));
    const other = made().words;
    other.restore(words.toRecord());
    expect(other.has("m", said("no flux 9"))).toBe(true);
    other.forget("m", said("no flux 9"));
    expect(other.toRecord()).toEqual([]);
  });
});
