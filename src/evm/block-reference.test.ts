import { describe, expect, it } from "vitest";
import { blockNumberOrTag, blockReference, plainReference, pointerOf } from "./block-reference.ts";

const hash = `0x0${"a".repeat(63)}`;

describe("a block reference", () => {
  it.each([
    { reference: "latest", want: { kind: "number", numberOrTag: "latest" } },
    { reference: "finalized", want: { kind: "number", numberOrTag: "finalized" } },
    { reference: "0x1142F2a", want: { kind: "number", numberOrTag: "0x1142F2a" } },
    { reference: hash, want: { kind: "hash", hash, mustBeCanonical: false } },
    { reference: { blockHash: hash }, want: { kind: "hash", hash, mustBeCanonical: false } },
    {
      reference: { blockHash: hash, requireCanonical: true, more: 1 },
      want: { kind: "hash", hash, mustBeCanonical: true },
    },
    { reference: { blockNumber: "0x1" }, want: { kind: "number", numberOrTag: "0x1" } },
    {
      reference: { blockNumber: "pending", blockHash: null },
      want: { kind: "number", numberOrTag: "pending" },
    },
  ])("$reference means $want", ({ reference, want }) => {
    expect(pointerOf(blockReference.parse(reference))).toEqual(want);
  });

  it.each(["", "newest", "Latest", "0x", "0x01", "latest ", 1, true, [], {}, { blockNumber: 1 }])(
    "may not be %j",
    (reference) => {
      expect(blockReference.safeParse(reference).success).toBe(false);
    },
  );

  it("names one block, not two", () => {
    const both = { blockHash: hash, blockNumber: "0x1" };
    expect(blockReference.safeParse(both).success).toBe(false);
  });

  it("is a number or tag where a hash makes no sense", () => {
    expect(blockNumberOrTag.safeParse(hash).success).toBe(false);
    expect(blockNumberOrTag.safeParse("safe").success).toBe(true);
  });

  it("is plain text wherever it is not a hash in an object", () => {
    const byHash = { blockHash: hash };
    expect(plainReference({ blockNumber: "0x1" })).toBe("0x1");
    expect(plainReference(byHash)).toBe(byHash);
    expect(plainReference("latest")).toBe("latest");
    expect(plainReference(undefined)).toBeUndefined();
  });
});
