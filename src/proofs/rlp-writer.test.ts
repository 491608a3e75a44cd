import { RLP } from "@ethereumjs/rlp";
import fc from "fast-check";
import { expect, it } from "vitest";
import { RlpWriter } from "./rlp-writer.ts";

const hexOf = (bytes: Uint8Array | undefined): string | undefined =>
  bytes && Buffer.from(bytes).toString("hex");

it("writes bytes, numbers and nested lists as RLP", () => {
  const item = fc.tuple(
    fc.uint8Array({ maxLength: 400 }),
    fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  );
  fc.assert(
    fc.property(fc.array(item, { maxLength: 20 }), (items) => {
      const writer = new RlpWriter();
      writer.listOf(items, (one) => {
        const [bytes, number] = one as [Uint8Array, bigint];
        writer.list(() => {
          writer.data(`0x${hexOf(bytes)}`);
          writer.bytes(bytes);
          writer.quantity(`0x${number.toString(16)}`);
        });
      });
      const want = RLP.encode(items.map(([bytes, number]) => [bytes, bytes, number]));
      expect(hexOf(writer.since(0))).toBe(hexOf(want));
    }),
  );
});

it.each([
  ["quantity", "0x00ff", "81ff"], // some nodes pad r and s
  ["quantity", "0x0", "80"],
  ["quantity", "0xF", "0f"],
  ["quantity", "0x", undefined],
  ["quantity", `0x1${"0".repeat(64)}`, undefined],
  ["quantity", 1, undefined],
  ["data", "0x00", "00"],
  ["data", "0xf", undefined],
  ["data", "0xg0", undefined],
  ["data", `0x${"00".repeat(40)}\u0131\u0131`, undefined], // Buffer.write reads ı as 1, its low byte
  ["data", null, undefined],
] as const)("writes the %s %j as %s", (kind, text, want) => {
  const writer = new RlpWriter();
  writer[kind](text);
  expect(hexOf(writer.since(0))).toBe(want);
});
