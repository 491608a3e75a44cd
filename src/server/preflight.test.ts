import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allowedHeaders } from "./preflight.ts";

const listOf = (requested?: string): string[] => allowedHeaders(requested).split(", ");

describe("the headers that a page may send", () => {
  it("are those that the gateway reads, where the page names none", () => {
    expect(listOf()).toEqual(
      expect.arrayContaining(["Content-Type", "Authorization", "X-Api-Key"]),
    );
  });

  it.each([
    ["content-type,x-viem-client", ["Content-Type", "x-viem-client"], ["content-type"]],
    ["X-Request-Source , solana-client", ["x-request-source", "solana-client"], []],
    ["a b,x\r\nset-cookie: c,<x>,é,,x-fine", ["x-fine"], ["a b", "<x>", "é", ""]],
  ])("are also those of %o", (requested, has, lacks) => {
    expect(listOf(requested)).toEqual(expect.arrayContaining(has));
    for (const name of lacks) expect(listOf(requested)).not.toContain(name);
  });

  it("are a short line of names, whatever is asked for", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 200 }), { maxLength: 400 }), (names) => {
        const value = allowedHeaders(names.join(","));
        expect(value).toMatch(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+(, [!#$%&'*+.^_`|~0-9A-Za-z-]+)*$/);
        expect(value.length).toBeLessThan(5_000);
      }),
    );
  });
});
