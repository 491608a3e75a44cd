import { crc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isKeyText, keyTextOf } from "./key-text.ts";

const secrets = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => Buffer.from(bytes));
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const numberOf = (digits: string): bigint =>
  [...digits].reduce((sum, digit) => sum * 62n + BigInt(DIGITS.indexOf(digit)), 0n);

describe("a key's text", () => {
  it("is hg_, 160 bits and a CRC-32, in base62", () => {
    expect(keyTextOf(Buffer.alloc(20))).toMatch(/^hg_0{27}[0-9A-Za-z]{6}$/);
    expect(keyTextOf(Buffer.alloc(20, 0xff))).toMatch(/^hg_[0-9A-Za-z]{33}$/);
    fc.assert(
      fc.property(secrets, (secret) => {
        const text = keyTextOf(secret);
        expect(isKeyText(text)).toBe(true);
        expect(numberOf(text.slice(3, 30))).toBe(BigInt(`0x${secret.toString("hex")}`));
        expect(numberOf(text.slice(30))).toBe(BigInt(crc32(text.slice(0, 30))));
      }),
    );
  });

  it("is known as mistyped when one character is another", () => {
    const places = fc.integer({ min: 0, max: 35 });
    const characters = fc.constantFrom(...DIGITS, "_", "-", "é");
    fc.assert(
      fc.property(secrets, places, characters, (secret, place, character) => {
        const text = keyTextOf(secret);
        const typo = text.slice(0, place) + character + text.slice(place + 1);
        expect(isKeyText(typo)).toBe(typo === text);
      }),
      { numRuns: 1000 },
    );
  });

  it("is known as mistyped when two neighbours have changed places, or one is missing", () => {
    fc.assert(
      fc.property(secrets, fc.integer({ min: 0, max: 34 }), (secret, at) => {
        const text = keyTextOf(secret);
        const [one = "", other = ""] = text.slice(at, at + 2);
        const swapped = text.slice(0, at) + other + one + text.slice(at + 2);
        expect(isKeyText(swapped)).toBe(one === other);
        expect(isKeyText(text.slice(0, at) + text.slice(at + 1))).toBe(false);
      }),
    );
  });

  it.each(["", "hg_", "demo", `hg_${"0".repeat(33)}`, `hg_${"é".repeat(33)}`])(
    "%s is none",
    (text) => {
      expect(isKeyText(text)).toBe(false);
    },
  );
});
