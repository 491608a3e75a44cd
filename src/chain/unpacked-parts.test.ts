import { zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UnpackedParts } from "./unpacked-parts.ts";

const part = fc
  .tuple(fc.string({ unit: "grapheme" }), fc.nat(3_000))
  .map(([unit, times]) => Buffer.from(unit.repeat(times)));

describe("compressed parts", () => {
  it("are unpacked as they are, in any order and however often, from bytes that do not last", () => {
    const asked = fc.tuple(
      fc.array(part, { minLength: 1, maxLength: 60 }),
      fc.array(fc.nat(), { maxLength: 200 }),
    );
    const property = fc.property(asked, ([parts, order]) => {
      const unpacked = new UnpackedParts();
      const packed = parts.map((each) => zstdCompressSync(each));
      const read = Buffer.alloc(Math.max(...packed.map(({ length }) => length)));
      for (const index of order.map((each) => each % parts.length)) {
        const length = packed[index]?.copy(read) ?? 0;
        const bytes = unpacked.unpack(read.subarray(0, length));
        expect(bytes.equals(parts[index] as Buffer)).toBe(true);
        read.fill(0);
      }
    });
    fc.assert(property, { numRuns: 60 });
  });

  it("are held while they were asked for last, unless they are large", () => {
    const unpacked = new UnpackedParts();
    const [small, large] = [100, 100_000].map((length) => zstdCompressSync(Buffer.alloc(length)));
    if (!small || !large) throw new Error("nothing was compressed");
    expect(unpacked.unpack(small)).toBe(unpacked.unpack(Buffer.from(small)));
    expect(unpacked.unpack(large)).not.toBe(unpacked.unpack(large));
  });

  it("that are broken are none, also where what they were is held", () => {
    const unpacked = new UnpackedParts();
    const packed = zstdCompressSync(Buffer.from("a part"));
    unpacked.unpack(packed);
    expect(() => unpacked.unpack(packed.subarray(0, -1))).toThrow();
    const broken = Buffer.from(packed);
    broken[0] = 0;
    expect(() => unpacked.unpack(broken)).toThrow();
    expect(() => unpacked.unpack(Buffer.of(1))).toThrow();
  });
});
