import { describe, expect, it } from "vitest";
import { atOnce, inTurns, type Work } from "./long-work.ts";

function* counting(to: number, onStep: () => void = () => undefined): Work<number> {
  for (let step = 0; step < to; step += 1) {
    onStep();
    yield;
  }
  return to;
}

describe("long work", () => {
  it("is done at once", () => {
    expect(atOnce(counting(1000))).toBe(1000);
  });

  it("lets others have their turn after some milliseconds", async () => {
    let now = 0;
    let turns = 0;
    const clock = {
      now: () => now,
      yield: async () => {
        turns += 1;
      },
    };
    const work = counting(100, () => {
      now += 1;
    });
    expect(await inTurns(work, { clock })).toBe(100);
    expect(turns).toBe(25);
  });
});
