import { expect, it } from "vitest";
import { LearnedRange } from "./learned-range.ts";

const answered = (range: LearnedRange, times: number, width = range.width): void => {
  for (let count = 0; count < times; count += 1) range.fitted(width);
};

it("is the narrowest that a node said, and at least one", () => {
  const range = new LearnedRange(1000);
  range.limitedTo(100);
  range.limitedTo(500);
  expect(range.width).toBe(100);
  range.limitedTo(0);
  expect(range.width).toBe(1);
});

it("grows again while ranges of its width are answered, up to where it began", () => {
  const range = new LearnedRange(1000);
  range.limitedTo(300);
  answered(range, 1000, 299);
  answered(range, 63);
  expect(range.width).toBe(300);
  answered(range, 1);
  expect(range.width).toBe(600);
  answered(range, 200);
  expect(range.width).toBe(1000);
});

it("is looked for less often the more often the same is said", () => {
  const range = new LearnedRange(1000);
  const untilWider = (): number => {
    let count = 0;
    for (; range.width === 100; count += 1) range.fitted(100);
    return count;
  };
  const limited = (): number => {
    range.limitedTo(100);
    range.limitedTo(100); // several queries were in flight
    return untilWider();
  };
  expect([1, 2, 3, 4, 5, 6].map(limited)).toEqual([64, 128, 256, 512, 1024, 1024]);
  range.fitted(200); // a node takes more now
  expect(limited()).toBe(64);
});
