import { createHmac } from "node:crypto";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Next, Updated } from "../../state/state.ts";
import { isKeyText, keyHasher, keyTextOf, openKeyHasher } from "./key-hash.ts";

const hmac = (secret: string, text: string): string =>
  createHmac("sha256", secret).update(text).digest("binary");

describe("a key's hash", () => {
  it("is the HMAC-SHA-256 with the installation's secret", () => {
    const texts = fc.stringMatching(/^[!-~]{0,64}$/);
    fc.assert(
      fc.property(fc.string({ maxLength: 100 }), texts, texts, (secret, first, second) => {
        const hasher = keyHasher(secret);
        const one = hasher.hash(first);
        // The second hash must not change the first one, should they share a buffer.
        expect(hasher.hash(second)).toBe(hmac(secret, second));
        expect(one).toBe(hmac(secret, first));
      }),
    );
  });

  it("comes with what tells secrets apart, and nothing of them", () => {
    expect(keyHasher("a").secretId).toBe(keyHasher("a").secretId);
    expect(keyHasher("a").secretId).not.toBe(keyHasher("b").secretId);
    expect(keyHasher("a").secretId).toMatch(/^[\w-]{8}$/);
  });

  it("uses the configured secret, and else the one that was kept first", async () => {
    const state = oneEntry();
    const configured = await openKeyHasher({ secret: "configured" }, state);
    expect(configured.secretId).toBe(keyHasher("configured").secretId);
    expect(state.text()).toBeUndefined();

    const all = Array.from({ length: 5 }, () => openKeyHasher({ secret: undefined }, state));
    const ids = (await Promise.all(all)).map(({ secretId }) => secretId);
    expect(new Set(ids)).toEqual(new Set([keyHasher(state.text() ?? "").secretId]));
    expect(Buffer.from(state.text() ?? "", "base64url")).toHaveLength(32);
  });
});

function oneEntry() {
  let kept: string | undefined;
  return {
    text: () => kept,
    get: async (): Promise<string | undefined> => kept,
    update: async (_: readonly string[], next: Next): Promise<Updated> => {
      const texts = next([kept]);
      kept = texts?.[0] ?? kept;
      return { isChanged: texts !== undefined, texts: [kept] };
    },
  };
}

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
