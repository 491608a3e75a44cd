import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { logOf, select } from "../../test/support/fake-log-selection.ts";
import { heldBytesOf, type JsonSource } from "../jsonrpc/raw-json.ts";
import { isSelection, joinRuns } from "./log-lists.ts";
import { NewestLogs } from "./newest-logs.ts";

const logs = (from: number, to: number): Buffer[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, index) => Buffer.from(String(from + index)));
const numbers = (found: NewestLogs): number[] =>
  found.inOrder().flatMap((run) => (isSelection(run) ? [] : run.map(Number)));

describe("the newest of many logs", () => {
  it("are counted from the end (specification: 10 logs, offset 1, limit 5 → 4 to 8)", () => {
    const found = new NewestLogs({ skip: 1, most: 5, looksFurther: false });
    found.add(logs(0, 10));
    expect(numbers(found)).toEqual([4, 5, 6, 7, 8]);
    expect(found.isFull).toBe(true);
  });

  it("are those of a naive count, however they are cut into pieces", () => {
    const cuts = fc.array(fc.nat(60), { maxLength: 8 });
    fc.assert(
      fc.property(fc.nat(60), cuts, fc.nat(70), fc.nat(70), (all, places, skip, most) => {
        const found = new NewestLogs({ skip, most, looksFurther: true });
        const ends = [...new Set([0, all, ...places.filter((place) => place < all)])];
        ends.sort((a, b) => b - a);
        for (const [index, end] of ends.entries()) found.add(logs(ends[index + 1] ?? end, end));
        const wanted = logs(0, all).slice(Math.max(0, all - skip - most), Math.max(0, all - skip));
        expect(numbers(found)).toEqual(wanted.map(Number));
        expect(found.hasMore).toBe(all > skip + most);
      }),
    );
  });

  it("want no more as soon as it makes no difference", () => {
    const found = new NewestLogs({ skip: 2, most: 3, looksFurther: false });
    found.add(logs(10, 14));
    expect(found.isFull).toBe(false);
    found.add(logs(9, 10));
    expect(found.isFull).toBe(true);
    const further = new NewestLogs({ skip: 2, most: 3, looksFurther: true });
    further.add(logs(9, 14));
    expect([further.isFull, further.hasMore]).toEqual([false, false]);
    further.add(logs(8, 9));
    expect([further.isFull, further.hasMore]).toEqual([true, true]);
  });

  it("of the store are read when they are sent, as they would have been joined", () => {
    const texts = Array.from({ length: 250 }, (_, number) => logOf(number, 1_000));
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: 249 }), { maxLength: 8 });
    fc.assert(
      fc.property(cuts, fc.nat(260), fc.integer({ min: 1, max: 260 }), (places, skip, most) => {
        const found = new NewestLogs({ skip, most, looksFurther: true });
        const starts = [0, ...places.sort((a, b) => a - b)];
        for (const [index, start] of [...starts.entries()].toReversed()) {
          const piece = texts.slice(start, starts[index + 1]);
          found.add(index % 3 === 1 ? piece.map((text) => Buffer.from(text)) : select(piece).found);
        }
        const wanted = texts.slice(Math.max(0, 250 - skip - most), Math.max(0, 250 - skip));
        const json = joinRuns(found.inOrder());
        const joined = typeof json === "string" || Buffer.isBuffer(json) ? json : textOf(json);
        expect(String(joined)).toBe(`[${wanted.join(",")}]`);
        expect(json.length).toBe(String(joined).length);
      }),
      { numRuns: 50 },
    );
  });

  it("of the store take little room however many they are, in however many pieces", () => {
    const found = new NewestLogs({ skip: 0, most: 10_000, looksFurther: true });
    for (let piece = 0; piece < 100; piece += 1)
      found.add(select(Array.from({ length: 20 }, (_, number) => logOf(number, 5_000))).found);
    const json = joinRuns(found.inOrder());
    expect(json.length).toBeGreaterThan(10_000_000);
    expect(heldBytesOf([json])).toBeLessThan(300_000);
  });
});

const textOf = (json: JsonSource): string => Buffer.concat([...json.chunks()]).toString();
