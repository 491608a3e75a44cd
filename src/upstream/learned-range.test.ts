import { expect, it } from "vitest";
import { LearnedRange } from "./learned-range.ts";

const fitting = (range: LearnedRange, times: number): void => {
  for (let count = 0; count < times; count += 1) range.fitted();
};

it("is halved when a node says no, down to one", () => {
  const range = new LearnedRange(1000);
  range.tooWide(1000);
  expect(range.width).toBe(500);
  range.tooWide(3);
  expect(range.width).toBe(1);
  range.tooWide(1);
  expect(range.width).toBe(1);
});

it("is what a node says that it takes, and never more from then on", () => {
  const range = new LearnedRange(1000);
  range.tooWide(1000, 100);
  expect(range.width).toBe(100);
  fitting(range, 100);
  expect(range.width).toBe(100);
});

it("grows again while answers fit, up to where it began", () => {
  const range = new LearnedRange(1000);
  range.tooWide(400);
  fitting(range, 7);
  expect(range.width).toBe(200);
  fitting(range, 1);
  expect(range.width).toBe(400);
  fitting(range, 80);
  expect(range.width).toBe(1000);
});
