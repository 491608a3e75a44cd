import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keyHasher, openKeyHasher } from "./key-hash.ts";

const hmac = (secret: string, text: string): string =>
  createHmac("sha256", secret).update(text).digest("binary");

describe("a key's hash", () => {
  it("is the HMAC-SHA-256 with the installation's secret", () => {
    const texts = fc.stringMatching(/^[!-~]{0,64}$/);
    fc.assert(
      fc.property(fc.string({ maxLength: 100 }), texts, texts, (secret, first, second) => {
        const hasher = keyHasher(secret);
        const one = hasher.hash(first);
        // The buffers are used again: what was given before must not change.
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
    replace: async (_: string, expected: string | undefined, next: string | undefined) => {
      if (kept !== expected) return false;
      kept = next;
      return true;
    },
  };
}
