import { createMPT } from "@ethereumjs/mpt";
import { RLP } from "@ethereumjs/rlp";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { orderedTrieRoot } from "../../test/support/at-once.ts";

describe("the root of an ordered trie", () => {
  it.each([0, 1, 2, 127, 128, 129, 256, 257, 300, 1_000])(
    "is that of a whole trie for %i items",
    async (count) => {
      const items = Array.from({ length: count }, (_, index) => Buffer.from(`item ${index}`));
      expect(orderedTrieRoot(items)).toBe(await rootOfWholeTrie(items));
    },
    60_000,
  );

  it("is that of a whole trie for items of any length", async () => {
    const item = fc.uint8Array({ minLength: 1, maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(fc.array(item, { maxLength: 300, size: "max" }), async (items) => {
        expect(orderedTrieRoot(items)).toBe(await rootOfWholeTrie(items));
      }),
      { numRuns: 60 },
    );
  });
});

async function rootOfWholeTrie(items: readonly Uint8Array[]): Promise<string> {
  const trie = await createMPT();
  for (const [index, item] of items.entries()) await trie.put(RLP.encode(index), item);
  return `0x${Buffer.from(trie.root()).toString("hex")}`;
}
