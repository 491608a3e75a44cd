import { expect, it } from "vitest";
import { HISTORY_SECONDS, History } from "./history.ts";

const DAY_SECONDS = 86_400;

it("holds half an hour, however long the page is open", () => {
  const history = new History();
  for (let second = 0; second < DAY_SECONDS; second += 1)
    history.add(second, new Map([["calls", second]]));
  const { seconds, values } = history.read("calls", DAY_SECONDS - 1);
  expect(HISTORY_SECONDS).toBe(1_800);
  expect(seconds).toHaveLength(HISTORY_SECONDS / 3);
  expect(values.at(0)).toBe(DAY_SECONDS - HISTORY_SECONDS);
  expect(values.at(-1)).toBe(DAY_SECONDS - 3);
});

it("has a gap where the page was hidden, and forgets who is not named any more", () => {
  const history = new History();
  history.add(1, new Map([["calls", 1]]));
  history.add(60, new Map<string, number | undefined>([["calls", undefined]]));
  expect(history.read("calls", 60)).toEqual({ seconds: [1, 2, 60], values: [1, null, null] });
  history.add(63, new Map());
  expect(history.read("calls", 63)).toEqual({ seconds: [], values: [] });
});

it("takes what was before the page was opened, and of what it has already nothing", () => {
  const history = new History();
  const add = (second: number) => history.add(second, new Map([["calls", second]]));
  for (const before of [10, 20, 30]) add(before);
  for (let second = 31; second < 40; second += 1) add(second);
  for (const before of [20, 30, 40, 50]) history.recall(before, new Map([["calls", before]]));
  expect(history.read("calls", 50).seconds).toEqual([10, 20, 30, 33, 36, 39, 50]);
});

it("begins anew when the clock was set back", () => {
  const history = new History();
  const add = (second: number) => history.add(second, new Map([["calls", second]]));
  for (const second of [10_000, 10_003]) add(second);
  for (const second of [6_400, 6_403]) add(second);
  expect(history.read("calls", 6_403).seconds).toEqual([6_400, 6_403]);
});
