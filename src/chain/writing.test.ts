import { expect, it } from "vitest";
import type { BlockRecord } from "./block-record.ts";
import { HeldBlocks } from "./writing.ts";

const block = (hash: string, bytes: number): BlockRecord =>
  ({ hash, outline: { transactionBytes: bytes, receiptBytes: 0 } }) as BlockRecord;

it("holds a block until it is released, once", () => {
  const held = new HeldBlocks({ bytes: 100 });
  held.hold(1, block("0x1", 10));
  expect(held.release(1).hash).toBe("0x1");
  expect(() => held.release(1)).toThrow("no longer exists");
});

it("forgets the oldest when all together are too much, and holds one block however large it is", () => {
  const held = new HeldBlocks({ bytes: 100 });
  held.hold(1, block("0x1", 60));
  held.hold(2, block("0x2", 40));
  held.hold(3, block("0x3", 30));
  expect(() => held.release(1)).toThrow();
  expect(held.release(2).hash).toBe("0x2");
  held.hold(4, block("0x4", 1_000));
  expect(() => held.release(3)).toThrow();
  expect(held.release(4).hash).toBe("0x4");
});
