import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Secrets } from "./secrets.ts";

const redacted = (text: string, ...secrets: string[]): string => new Secrets(secrets).redact(text);

describe("a secret in a text", () => {
  it.each([
    ["as it is", "at /s3cr3t/key"],
    ["in capitals", "at /S3CR3T/key"],
    ["percent-encoded", "at /s3%63r3t/key"],
    ["percent-encoded as a whole, in small letters", "at /%73%33%63%72%33%74/key"],
    ["percent-encoded twice", "at /s3%2563r3t/key"],
    ["with the escapes of JSON", "at /s3\\u0063r3t/key"],
    ["with the escapes of JSON in JSON", "at /s3\\\\u0063r3t/key"],
    ["beside bytes that are no UTF-8", "at /s3%63r3t/key%ff%fe"],
  ])("is replaced %s", (_, text) => {
    expect(redacted(text, "s3cr3t")).toMatch(/^at \/\*\*\*\/key/);
  });

  it("is replaced in each alphabet of base64, with what stands around it", () => {
    for (const around of ["", "a", "ab", "user:"])
      for (const alphabet of ["base64", "base64url"] as const) {
        const base64 = Buffer.from(`${around}s3cr3t?>?>-w0rd~~~`).toString(alphabet);
        const clean = redacted(`no ${base64}`, "s3cr3t?>?>-w0rd");
        expect(clean).toMatch(/^no .{0,8}\*\*\*/);
        expect(Buffer.from(clean.slice(3), "base64").toString()).not.toContain("cr3t");
      }
  });

  it("is replaced as a whole where it contains another one", () => {
    expect(redacted("https://eth.example.com/s3cr3t", "s3cr3t", "example.com/s3cr3t")).toBe(
      "https://eth.***",
    );
  });

  it("is none where it is short", () => {
    expect(redacted("no secret", "no", "")).toBe("no secret");
    expect(new Secrets(["short"]).isEmpty).toBe(true);
  });

  it.each(["100 % of \\ and \\u00", "%zz %2", "a\\nb", "0x08c379a0"])(
    "leaves a text without one as it is: %s",
    (text) => {
      expect(redacted(text, "s3cr3t")).toBe(text);
    },
  );

  /** Spells one character in one of the ways in which URLs, JSON and people do. */
  const spelled = (letter: string, way: number): string => {
    const hex = Buffer.from(letter).toString("hex");
    const encoded = hex.replace(/../g, (byte) => `%${way % 2 === 0 ? byte.toUpperCase() : byte}`);
    const units = letter.split("").map((unit) => unit.charCodeAt(0).toString(16).padStart(4, "0"));
    const ways = [letter, letter.toUpperCase(), encoded, encoded.replaceAll("%", "%25")];
    return [...ways, units.map((unit) => `\\u${unit}`).join("")][way % 5] ?? letter;
  };

  it("is replaced in every mixture of spellings", () => {
    const secret = fc.string({ unit: "grapheme-ascii", minLength: 6, maxLength: 40 });
    const ways = fc.array(fc.nat({ max: 9 }), { minLength: 40, maxLength: 40 });
    fc.assert(
      fc.property(secret, ways, (text, way) => {
        fc.pre(!/[%\\]/.test(text)); // then the text itself is a spelling of another one
        const told = [...text].map((letter, at) => spelled(letter, way[at] ?? 0)).join("");
        expect(redacted(`(${told})`, text)).toBe("(***)");
      }),
    );
  });

  it("takes time with the length of a hostile text, not with its square", () => {
    const secrets = new Secrets(["s3cr3t-s3cr3t", "a".repeat(64)]);
    const before = performance.now();
    for (const part of ["%25", "\\", "%", "a", "s3cr3t-s3cr3", "%25s3cr3t-s3cr3t"])
      secrets.redact(part.repeat(200_000 / part.length));
    expect(performance.now() - before).toBeLessThan(5_000); // a square would take minutes
  });
});
