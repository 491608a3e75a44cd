import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { z } from "zod";
import {
  address,
  data,
  hash,
  isHash,
  isQuantity,
  quantity,
  toNumber,
  toQuantity,
} from "./values.ts";

const whyNot = (schema: z.ZodType, value: unknown): string | undefined =>
  schema.safeParse(value).error?.issues[0]?.message;

describe("a QUANTITY", () => {
  it.each(["0x0", "0x1", "0xA", "0x1142F2a", `0x${"f".repeat(64)}`])("may be %s", (value) => {
    expect(whyNot(quantity, value)).toBeUndefined();
  });

  it.each([
    { value: "0x", want: "empty hex string, want 0x0 for zero" },
    { value: "0x01", want: "hex number with leading zero digits" },
    { value: "0x00", want: "hex number with leading zero digits" },
    { value: "1", want: "hex string without 0x prefix" },
    { value: "", want: "hex string without 0x prefix" },
    { value: "latest", want: "hex string without 0x prefix" },
    { value: "0xg", want: "invalid hex string" },
    { value: "0x1\n", want: "invalid hex string" },
    { value: `0x1${"0".repeat(64)}`, want: "hex number > 256 bits" },
    { value: 1, want: "want a hex string" },
    { value: {}, want: "want a hex string" },
  ])("may not be $value: $want", ({ value, want }) => {
    expect(whyNot(quantity, value)).toBe(want);
  });

  it("is what integers become, and becomes them again", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), (value) => {
        const text = toQuantity(value);
        expect(isQuantity(text) && quantity.safeParse(text).success).toBe(true);
        expect(BigInt(text)).toBe(value);
      }),
    );
    expect(toNumber("0x64")).toBe(100);
  });

  it("is never guessed from other text", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const isOne = /^0x(0|[1-9a-f][0-9a-f]{0,63})$/i.test(text) && !text.endsWith("\n");
        expect(quantity.safeParse(text).success).toBe(isOne);
      }),
    );
  });
});

describe("DATA", () => {
  it("is any number of bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        const hex = Buffer.from(bytes).toString("hex");
        expect(data.safeParse(`0x${hex}`).success).toBe(true);
        expect(data.safeParse(`0x${hex.toUpperCase()}`).success).toBe(true);
        expect(whyNot(data, `0x${hex}a`)).toBe("hex string of odd length");
        expect(whyNot(data, hex)).toBe("hex string without 0x prefix");
      }),
    );
  });

  it("may be as large as a request", () => {
    expect(data.safeParse(`0x${"ab".repeat(2 ** 20)}`).success).toBe(true);
  });

  it.each([
    { schema: hash, value: `0x${"ab".repeat(32)}`, want: undefined },
    { schema: hash, value: `0x${"AB".repeat(32)}`, want: undefined },
    { schema: hash, value: "0xabcd", want: "want 32 bytes" },
    { schema: hash, value: `0x${"ab".repeat(33)}`, want: "want 32 bytes" },
    { schema: hash, value: `0x${"zz".repeat(32)}`, want: "invalid hex string" },
    { schema: hash, value: "ab".repeat(32), want: "hex string without 0x prefix" },
    { schema: address, value: `0x${"ab".repeat(20)}`, want: undefined },
    { schema: address, value: `0x${"ab".repeat(19)}`, want: "want 20 bytes" },
    { schema: address, value: 5, want: "want a hex string" },
  ])("of a fixed length: $value gives $want", ({ schema, value, want }) => {
    expect(whyNot(schema, value)).toBe(want);
    if (schema === hash) expect(isHash(value)).toBe(want === undefined);
  });
});
