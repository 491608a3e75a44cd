import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NewestLogs } from "./newest-logs.ts";

const logs = (from: number, to: number): Buffer[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, index) => Buffer.from(String(from + index)));
const numbers = (found: NewestLogs): number[] => found.inOrder().map(Number);

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
});
