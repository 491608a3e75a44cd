import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { logOf, select } from "../../test/support/fake-log-selection.ts";
import { CHUNK_BYTES, giveBackLent, lendChunk } from "../jsonrpc/raw-json.ts";
import { LogSelection } from "./log-selection.ts";
import { pieceOf, wholeItem } from "./stored-block.ts";

describe("logs that were found", () => {
  it("are kept while they are few", () => {
    const logs = [logOf(0, 10), logOf(1, 10)];
    const { found, loseBlock } = select(logs);
    loseBlock(0);
    expect(found.few?.map(String)).toEqual(logs);
    expect([found.count, found.numberOf(1), found.length]).toEqual([2, 1, logs.join(",").length]);
  });

  it.each([1_000, 70_000])("are read again when they are many, of %i bytes each", (length) => {
    const logs = Array.from({ length: 200 }, (_, number) => logOf(number, length));
    const { found } = select(logs);
    expect(found.few).toBeUndefined();
    const chunks = [...found.chunks()];
    expect(Buffer.concat(chunks).toString()).toBe(logs.join(","));
    expect(found.length).toBe(logs.join(",").length);
    expect(Math.max(...chunks.map((chunk) => chunk.length))).toBeLessThanOrEqual(
      length + CHUNK_BYTES,
    );
    expect(found.heldBytes).toBeLessThan(200 * 200);
    expect(found.all().map(String)).toEqual(logs);
  });

  it("break off when a block of theirs has left", () => {
    const { found, loseBlock } = select(
      Array.from({ length: 200 }, (_, number) => logOf(number, 1_000)),
    );
    const chunks = found.chunks();
    expect(chunks.next().value?.length).toBeGreaterThan(1_000);
    loseBlock(150);
    expect(() => [...chunks]).toThrow("left the store");
  });

  it("have parts, which are read as they are", () => {
    const logs = Array.from({ length: 200 }, (_, number) => logOf(number, 1_000));
    const { found } = select(logs);
    const part = found.slice(20, 120);
    expect([part.count, part.numberOf(0)]).toEqual([100, 20]);
    expect(Buffer.concat([...part.chunks()]).toString()).toBe(logs.slice(20, 120).join(","));
    expect(part.length).toBe(logs.slice(20, 120).join(",").length);
    expect(select(logs.slice(0, 9)).found.slice(2, 4).few?.map(String)).toEqual(logs.slice(2, 4));
  });
});

/** Selects logs of these lengths in pieces. The store's bytes last until the next read, or the end of a turn. */
function selectFrom(pieces: readonly (readonly number[])[]) {
  const logs: string[] = [];
  const stored: Buffer[] = [];
  let read = Buffer.alloc(0);
  let readings = 0;
  const endTurn = (): void => void read.fill("?");
  const store = {
    part: (_: string | Buffer, __: string, piece = 0) => {
      endTurn();
      readings += 1;
      read = Buffer.from(stored[piece] ?? []);
      return read;
    },
  };
  const found = new LogSelection({ store });
  found.beginBlock(1, Buffer.alloc(32));
  for (const [piece, lengths] of pieces.entries()) {
    let receipt = "";
    for (const length of lengths) {
      const log = logOf(logs.length, length);
      receipt += length % 2 === 0 && receipt !== "" ? "," : '{"logs":[';
      const span = { piece, start: receipt.length, length: log.length };
      found.add({ ...span, addressAt: 0, topicsAt: 0, topicCount: 0 }, Buffer.from(log));
      receipt += log;
      logs.push(log);
    }
    stored.push(pieceOf([wholeItem(Buffer.from(`${receipt}]}`))]));
  }
  return { found, logs, endTurn, readings: () => readings };
}

const isSame = (one: Buffer, other: Buffer): boolean =>
  one.buffer === other.buffer && one.byteOffset === other.byteOffset;

describe("many logs that are sent", () => {
  const length = fc.oneof(fc.nat(3_000), fc.constantFrom(20_000, 65_400, CHUNK_BYTES, 150_000));
  const pieces = fc.array(fc.array(length, { minLength: 1, maxLength: 30 }), { maxLength: 20 });

  it("are those that were found, however they lie, and each piece is read once", () => {
    const property = fc.property(pieces, (lengths) => {
      const { found, logs, endTurn, readings } = selectFrom(lengths);
      found.dropCopies();
      const given: Buffer[] = [];
      for (const chunk of found.chunks()) {
        given.push(chunk);
        endTurn();
      }
      expect(Buffer.concat(given).toString()).toBe(logs.join(","));
      // A piece that is larger than a chunk is read for each of its chunks.
      const large = lengths.flat().filter((each) => each > 20_000).length;
      const long = lengths.filter(
        (each) => each.reduce((sum, one) => sum + one, 0) > CHUNK_BYTES / 2,
      );
      expect(readings()).toBeLessThanOrEqual(lengths.length + large + 2 * long.length);
      for (const chunk of given) giveBackLent(chunk);
    });
    fc.assert(property, { numRuns: 200 });
  });

  it("of which no more are wanted give back the chunk that nobody was given, and no other", () => {
    const { found } = selectFrom(Array.from({ length: 20 }, () => Array<number>(30).fill(1_000)));
    found.dropCopies();
    const chunks = found.chunks();
    const first = chunks.next().value as Buffer;
    chunks.return(undefined);
    const others = [lendChunk(), lendChunk(), lendChunk()];
    for (const other of others) expect(isSame(other, first)).toBe(false);
    expect(first.toString("latin1", 0, 6)).toBe('{"n":0');
    for (const chunk of [first, ...others]) giveBackLent(chunk);
  });
});
