import { describe, expect, it } from "vitest";
import { atOnce, type Work } from "./long-work.ts";

function* counting(to: number): Work<number> {
  for (let step = 0; step < to; step += 1) yield;
  return to;
}

describe("long work", () => {
  it("is done at once", () => {
    expect(atOnce(counting(1000))).toBe(1000);
  });
});
