import { expect, it } from "vitest";
import type { Tag } from "./dialect.ts";
import { TagOrder } from "./tagged-blocks.ts";

const at = (number: number) => ({ number, hash: `0x${number}` });

/** A `TagOrder` under head 10. @param told The numbers to which each tag resolves, one after the other. */
const ordered = (told: Partial<Record<Tag, readonly (number | undefined)[]>>) => {
  const left = new Map(Object.entries(told).map(([tag, numbers]) => [tag, [...(numbers ?? [])]]));
  return new TagOrder(at(10), {
    tagged: async (tag) => {
      const number = left.get(tag)?.shift();
      return number === undefined ? undefined : at(number);
    },
  });
};

it.each([
  { asked: ["safe", "finalized"], told: { safe: [7], finalized: [9] }, want: [7, 7] },
  { asked: ["finalized", "safe"], told: { safe: [7], finalized: [9] }, want: [9, 9] },
  { asked: ["safe", "finalized"], told: { safe: [8], finalized: [6] }, want: [8, 6] },
  { asked: ["safe", "safe"], told: { safe: [7, 8] }, want: [7, 7] },
  { asked: ["finalized", "safe"], told: { finalized: [12], safe: [13] }, want: [10, 10] },
  { asked: ["finalized", "safe"], told: { finalized: [4] }, want: [4, 4] },
  { asked: ["safe", "finalized"], told: { finalized: [4] }, want: [undefined, 4] },
  { asked: ["latest_state"], told: { latest_state: [11] }, want: [10] },
] as const)("asked for $asked, one call sees $want", async ({ asked, told, want }) => {
  const order = ordered(told);
  const found = await Promise.all(asked.map((tag) => order.find(tag)));
  expect(found.map((position) => position?.number)).toEqual(want);
});

it("asks again after a failure", async () => {
  let isAway = true;
  const order = new TagOrder(at(10), {
    tagged: async () => {
      if (isAway) throw new Error("away");
      return at(3);
    },
  });
  await expect(order.find("safe")).rejects.toThrow("away");
  isAway = false;
  expect(await order.find("safe")).toEqual(at(3));
});
