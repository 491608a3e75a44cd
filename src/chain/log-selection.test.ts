import { describe, expect, it } from "vitest";
import { logOf, select } from "../../test/support/fake-log-selection.ts";

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
