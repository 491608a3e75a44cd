// How large the next answer of a method will be: what was seen of it, or a guess by its price.
import { describe, expect, it } from "vitest";
import { AnswerSizes } from "./answer-sizes.ts";

describe("the size of an answer", () => {
  it.each([
    { price: 1, want: 16_384 },
    { price: 3, want: 16_384 },
    { price: 4, want: 65_536 },
    { price: 10, want: 262_144 },
    { price: 5_000, want: 262_144 },
  ])("is guessed from a price of $price while nothing came", ({ price, want }) => {
    expect(new AnswerSizes().expected("m", () => price)).toBe(want);
  });

  it("is what came first, and then moves by an eighth of each difference", () => {
    const sizes = new AnswerSizes();
    const known = (): number => {
      return sizes.expected("m", () => {
        throw new Error("the price of what is known is not asked for");
      });
    };
    sizes.saw("m", 800);
    expect(known()).toBe(800);
    sizes.saw("m", 1_600);
    expect(known()).toBe(900);
    expect(sizes.expected("other", () => 1)).toBe(16_384);
  });

  it("is remembered of 500 methods: names may be invented by callers", () => {
    const sizes = new AnswerSizes();
    for (let index = 0; index < 501; index += 1) sizes.saw(`m${index}`, 1);
    expect(sizes.expected("m499", () => 1)).toBe(1);
    expect(sizes.expected("m500", () => 1)).toBe(16_384);
    sizes.saw("m0", 9);
    expect(sizes.expected("m0", () => 1)).toBe(2);
  });
});
