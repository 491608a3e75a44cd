import { zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HotBlocks, HotPieces, UnpackedParts } from "./block-tables.ts";
import type { StoredBlock } from "./stored-block.ts";

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

/** A block of this many transactions, and how often all its hashes were read. */
function blockOf(number: number, transactions: number) {
  const hashes = Array.from({ length: transactions }, (_, index) => `0x${number} ${index}`);
  const read = { times: 0 };
  const block = {
    number,
    outline: { transactions },
    transactionHashes: () => {
      read.times += 1;
      return hashes;
    },
  } as unknown as StoredBlock;
  return { block, hashes, read };
}

describe("hot blocks", () => {
  it("know where all transactions are once two were looked for, and nothing once they are forgotten", () => {
    const hot = new HotBlocks();
    const { block, hashes } = blockOf(7, 20);
    hot.hold(block);
    const positions = () => hashes.map((hash) => hot.position(hash));
    hot.sawLook(block);
    expect(positions()).toEqual(hashes.map(() => undefined));
    hot.sawLook(block);
    expect(positions()).toEqual(hashes.map((_, index) => ({ number: 7, index })));
    expect(hot.block(7)).toBe(block);
    hot.forget();
    expect([hot.block(7), ...positions()]).toEqual([undefined, ...hashes.map(() => undefined)]);
  });

  it("read all of a large block for one in sixteen that are looked for, and never all of a huge one", () => {
    const hot = new HotBlocks();
    const [large, huge] = [blockOf(1, 800), blockOf(2, 1_001)];
    for (const { block } of [large, huge]) hot.hold(block);
    for (let look = 0; look < 150; look += 1)
      for (const { block } of [large, huge]) hot.sawLook(block);
    expect([large.read.times, huge.read.times]).toEqual([3, 0]);
  });

  it("hold so many transactions at most, and so many blocks", () => {
    const hot = new HotBlocks();
    const all = Array.from({ length: 300 }, (_, number) => blockOf(number, 100));
    for (const { block } of all) {
      hot.hold(block);
      for (let look = 0; look < 7; look += 1) hot.sawLook(block);
    }
    const held = all.flatMap(({ hashes }) => hashes).filter((hash) => hot.position(hash));
    expect(held.length).toBeLessThanOrEqual(20_000);
    expect(held.length).toBeGreaterThan(0);
    expect(all.filter(({ block }) => hot.block(block.number)).length).toBe(128);
  });

  it("do not tell one block's transactions by another one with the same position", () => {
    const hot = new HotBlocks();
    const [one, other] = [blockOf(1, 4), blockOf(129, 4)];
    hot.hold(one.block);
    hot.hold(other.block);
    for (let look = 0; look < 3; look += 1) hot.sawLook(one.block);
    expect([hot.block(1), hot.position(one.hashes[0] ?? "")]).toEqual([undefined, undefined]);
    expect(hot.block(129)).toBe(other.block);
  });
});

describe("pieces", () => {
  const passing = Buffer.alloc(50_000);
  const read = (pieces: HotPieces, hash: string, piece: number, length = 100): Buffer => {
    const held = pieces.get(hash, "receipts", piece);
    if (held) return held;
    const bytes = passing.fill(`${hash} ${piece}`).subarray(0, length);
    pieces.sawPiece(hash, "receipts", piece, bytes);
    return bytes;
  };
  const isHeld = (pieces: HotPieces, hash: string, piece: number): boolean =>
    pieces.get(hash, "receipts", piece) !== undefined;

  it("are held once they were read twice, and the next one at once, as they were", () => {
    const pieces = new HotPieces();
    read(pieces, "a", 0);
    expect(isHeld(pieces, "a", 0)).toBe(false);
    read(pieces, "a", 0);
    read(pieces, "a", 1);
    passing.fill("other");
    expect([0, 1].map((piece) => read(pieces, "a", piece).toString("latin1", 0, 3))).toEqual([
      "a 0",
      "a 1",
    ]);
    expect(pieces.get("a", "transactions", 0)).toBeUndefined();
    pieces.forget();
    expect(isHeld(pieces, "a", 0)).toBe(false);
  });

  it("that are large are not held", () => {
    const pieces = new HotPieces();
    for (let time = 0; time < 3; time += 1) read(pieces, "a", 0, 50_000);
    expect(isHeld(pieces, "a", 0)).toBe(false);
  });

  it("are what was read last, however many of however many blocks", () => {
    const wanted = fc.array(fc.tuple(fc.nat(700), fc.nat(3), fc.boolean()), { maxLength: 600 });
    const property = fc.property(wanted, (all) => {
      const pieces = new HotPieces();
      let most = 0;
      for (const [block, piece, isForgotten] of all) {
        if (isForgotten && piece === 0 && block < 5) pieces.forget();
        for (let time = 0; time < 2; time += 1) {
          const name = `${block} ${piece}`;
          expect(read(pieces, String(block), piece).toString("latin1", 0, name.length)).toBe(name);
        }
        most += 1;
      }
      const held = all.filter(([block, piece]) => isHeld(pieces, String(block), piece));
      expect(new Set(held.map(String)).size).toBeLessThanOrEqual(Math.min(most, 256));
    });
    fc.assert(property);
  });

  it("leave when others come, also of another network: so many are held", () => {
    const pieces = new HotPieces();
    const hashes = Array.from({ length: 400 }, (_, index) => `block ${index}`);
    const ofOther = new HotPieces();
    for (let time = 0; time < 2; time += 1) read(ofOther, "a", 0);
    for (const hash of hashes) for (let time = 0; time < 2; time += 1) read(pieces, hash, 0);
    expect(hashes.filter((hash) => isHeld(pieces, hash, 0))).toEqual(hashes.slice(-256));
    expect(isHeld(ofOther, "a", 0)).toBe(false);
  });
});
