import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  assembleJson,
  BatchResponseBuffer,
  BorrowedJson,
  beforeResult,
  CHUNK_BYTES,
  giveBackLent,
  JsonPacker,
  LONGEST_TEXT,
  lendChunk,
  lengthOf,
  ownedCopy,
  ownedJson,
  PackedJson,
} from "./raw-json.ts";

const MEGABYTE = 1 << 20;

function packed(pieces: readonly string[]) {
  const packer = new JsonPacker();
  for (const piece of pieces) packer.write(piece);
  return packer.finish();
}

describe("bytes that do not last", () => {
  it.each([
    ["ASCII", Buffer.from('{"a":"\\u00e9"}'), "string"],
    ["nothing", Buffer.alloc(0), "string"],
    ["letters beyond ASCII", Buffer.from('{"a":"Größe"}'), "object"],
    ["bytes that are no UTF-8", Buffer.from([0x22, 0xff, 0xc3, 0x22]), "object"],
    ["the longest text", Buffer.alloc(LONGEST_TEXT, "a"), "string"],
    ["more than a text holds", Buffer.alloc(LONGEST_TEXT + 1, "a"), "object"],
  ])("last: %s", (_, bytes, type) => {
    const original = Buffer.from(bytes);
    const copy = ownedCopy(bytes);
    bytes.fill(0);
    expect(Buffer.from(copy as string).equals(original)).toBe(true);
    expect(typeof copy).toBe(type);
    expect(copy.length).toBe(original.length);
  });
});

it("what is borrowed is kept as it was when it was taken", () => {
  const bytes = Buffer.from('{"a":1}');
  const text = ownedJson(new BorrowedJson(bytes));
  bytes.fill(0);
  expect(String(text)).toBe('{"a":1}');
  expect(ownedJson("as it is")).toBe("as it is");
});

const memories: ArrayBufferLike[] = [];

/** Identifies memory by its location, not by its content. */
function slotOf({ buffer, byteOffset }: Buffer): string {
  if (!memories.includes(buffer)) memories.push(buffer);
  return `${memories.indexOf(buffer)} at ${byteOffset}`;
}

describe("the buffer of a batch", () => {
  const answers = fc.array(
    fc.tuple(fc.constantFrom(0, 1, 30, 5_000, 40_000, CHUNK_BYTES), fc.constantFrom("a", "é")),
    { maxLength: 40 },
  );

  it("has each answer as it was put, with a mark before it, and none that finds no room", () => {
    const property = fc.property(answers, (all) => {
      const buffer = new BatchResponseBuffer(100);
      const passing = Buffer.alloc(CHUNK_BYTES);
      const put = all.map(([length, letter], index) => {
        passing.fill(letter);
        const json = passing.subarray(0, length);
        const text = `${beforeResult(`"${index}"`)}${json.toString("latin1")}}`;
        return { text, bytes: buffer.put(`"${index}"`, json) };
      });
      expect(buffer.bytes).toBeLessThanOrEqual(8 * CHUNK_BYTES);
      let isFirst = true;
      for (const { text, bytes } of put) {
        if (!bytes) {
          expect(buffer.bytes === 8 * CHUNK_BYTES || text.length >= CHUNK_BYTES).toBe(true);
          continue;
        }
        expect(bytes.toString("latin1")).toBe(text);
        const mark = Buffer.from(bytes.buffer, bytes.byteOffset - 1, 1).toString();
        expect(mark).toBe(isFirst ? "[" : ",");
        isFirst = false;
      }
      buffer.giveBack();
      expect(buffer.bytes).toBe(0);
    });
    fc.assert(property);
  });

  it("has none for a batch of few members", () => {
    const put = [7, 8].map((members) =>
      new BatchResponseBuffer(members).put("1", Buffer.from("2")),
    );
    expect(put.map(String)).toEqual(["undefined", '{"jsonrpc":"2.0","id":1,"result":2}']);
  });

  it("has none for an answer whose id is not ASCII, and is as it was", () => {
    const buffer = new BatchResponseBuffer(100);
    const put = ['"\u00e9"', '"e"'].map((id) => buffer.put(id, Buffer.from("2")));
    expect(put.map(String)).toEqual(["undefined", '{"jsonrpc":"2.0","id":"e","result":2}']);
    const [, bytes = Buffer.alloc(0)] = put;
    expect(Buffer.from(bytes.buffer, bytes.byteOffset - 1, 1).toString()).toBe("[");
  });

  it("is used again when it was given back, and never before", () => {
    const buffers = [new BatchResponseBuffer(100), new BatchResponseBuffer(100)];
    const slotIn = (buffer: BatchResponseBuffer): string =>
      slotOf(buffer.put("1", Buffer.from("1")) ?? Buffer.alloc(0));
    const [one, other] = buffers.map(slotIn);
    expect(one).not.toEqual(other);
    buffers[0]?.giveBack();
    buffers[0]?.giveBack();
    const again = [1, 2].map(() => slotIn(new BatchResponseBuffer(100)));
    expect(again[0]).toEqual(one);
    expect([one, other]).not.toContainEqual(again[1]);
  });
});

describe("a chunk that was lent", () => {
  it("is used again once it was given back, by a part of it, and never twice at once", () => {
    const lent = Array.from({ length: 6 }, () => lendChunk());
    expect(new Set(lent.map((chunk) => JSON.stringify(chunk.byteOffset))).size).toBeGreaterThan(1);
    const [one, other] = lent as [Buffer, Buffer];
    giveBackLent(one.subarray(0, 10));
    giveBackLent(one.subarray(0, 10));
    const again = [lendChunk(), lendChunk()].map(slotOf);
    expect(again[0]).toEqual(slotOf(one));
    expect([one, other].map(slotOf)).not.toContainEqual(again[1]);
  });

  it("is not given back by bytes of others", () => {
    const chunk = lendChunk();
    giveBackLent(Buffer.from("some other bytes"));
    expect(slotOf(lendChunk())).not.toEqual(slotOf(chunk));
  });
});

it("a text is measured in bytes, read a moment ago or not", () => {
  const [long, other] = ["a".repeat(100), `${"a".repeat(99)}é`];
  const read = ownedCopy(Buffer.from(long));
  expect([[read], [long], [other]].map(lengthOf)).toEqual([100, 100, 101]);
});

it.each([5, LONGEST_TEXT, LONGEST_TEXT + 1])("%i bytes are put together, and last", (bytes) => {
  const letters = ["a", "b"].map((letter) => assembleJson(bytes, (into) => into.fill(letter)));
  expect(letters.map(String)).toEqual(["a".repeat(bytes), "b".repeat(bytes)]);
  const beyond = assembleJson(bytes, (into) => into.fill("é".repeat(bytes)));
  assembleJson(bytes, (into) => into.fill(0));
  expect(Buffer.from(beyond as string).equals(Buffer.alloc(bytes, "é"))).toBe(true);
});

describe("packed JSON", () => {
  it("is the text itself while it is short", () => {
    expect(packed([])).toBe("");
    expect(packed(['{"a":', "1", "}"])).toBe('{"a":1}');
    expect(packed(["é".repeat(MEGABYTE / 2)])).toBeTypeOf("string");
  });

  it.each([
    ["many small pieces", Array.from({ length: 300_000 }, (_, index) => `${index},`)],
    ["one large piece", ["x".repeat(3 * MEGABYTE)]],
    ["a large piece between small ones", ["[", "ü".repeat(MEGABYTE), "]"]],
  ])("of %s is what was written", (_, pieces) => {
    const text = pieces.join("");
    const result = packed(pieces);
    if (!(result instanceof PackedJson)) throw new Error("it was not packed");
    expect(result.length).toBe(Buffer.byteLength(text));
    expect(result.toString() === text).toBe(true);
    expect(result.toString() === text).toBe(true); // as often as wanted
  });

  it("takes in what is packed already", () => {
    const inner = packed(["y".repeat(2 * MEGABYTE)]);
    const packer = new JsonPacker();
    packer.write('{"inner":"');
    if (inner instanceof PackedJson) packer.append(inner);
    packer.write('"}');
    const outer = packer.finish();
    expect(outer.length).toBe(2 * MEGABYTE + 12);
    expect(JSON.parse(String(outer))).toEqual({ inner: "y".repeat(2 * MEGABYTE) });
  });

  it("joins any pieces of any length", () => {
    const piece = fc
      .tuple(fc.string({ unit: "grapheme" }), fc.nat(40_000))
      .map(([unit, times]) => unit.repeat(times));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        expect(String(packed(pieces)) === pieces.join("")).toBe(true);
      }),
      { numRuns: 50 },
    );
  });
});
