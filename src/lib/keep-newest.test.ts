import { expect, it } from "vitest";
import { keepNewest } from "./keep-newest.ts";

it("forgets the entry that was set longest ago, not the one that was there first", () => {
  const entries = new Map<string, number>();
  for (const entry of [
    ["a", 1],
    ["b", 2],
    ["a", 3],
    ["c", 4],
  ] as const)
    keepNewest(entries, entry, 2);
  expect([...entries]).toEqual([
    ["a", 3],
    ["c", 4],
  ]);
});
