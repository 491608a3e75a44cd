import { describe, expect, it } from "vitest";
import { LogSelection } from "./log-selection.ts";

/** As a piece of receipts is written: how many items, where each ends, then the items. */
function pieceOf(log: string): Buffer {
  const head = Buffer.alloc(6);
  head.writeUInt16LE(1, 0);
  head.writeUInt32LE(log.length, 2);
  return Buffer.concat([head, Buffer.from(log)]);
}

/** Logs of blocks that have one each, in a store that can lose them. */
function select(logs: readonly string[]) {
  const pieces = new Map(logs.map((log, number) => [String(hashOf(number)), pieceOf(log)]));
  const store = { part: (hash: string | Buffer) => pieces.get(String(hash)) };
  const found = new LogSelection({ store });
  for (const [number, log] of logs.entries()) {
    found.beginBlock(number, hashOf(number));
    const place = { receipt: 0, start: 0, length: log.length };
    found.add({ ...place, addressAt: 0, topicsAt: 0, topicCount: 0 }, Buffer.from(log));
  }
  return { found, loseBlock: (number: number) => pieces.delete(String(hashOf(number))) };
}

const hashOf = (number: number): Buffer =>
  Buffer.alloc(32, number % 100, "latin1").fill(number, 30);

const logOf = (number: number, length: number): string =>
  `{"n":${number},"data":"${"a".repeat(length)}"}`;

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
    expect(Math.max(...chunks.map((chunk) => chunk.length))).toBeLessThan(length + 70_000);
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
});
