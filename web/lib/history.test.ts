import { expect, it } from "vitest";
import { HISTORY_SECONDS, History } from "./history.ts";

const DAY_SECONDS = 86_400;

it("holds ten minutes, however long the page is open", () => {
  const history = new History();
  for (let second = 0; second < DAY_SECONDS; second += 1)
    history.add(second, new Map([["calls", second]]));
  const { seconds, values } = history.read("calls", DAY_SECONDS - 1);
  expect(seconds).toHaveLength(HISTORY_SECONDS);
  expect(values.at(0)).toBe(DAY_SECONDS - HISTORY_SECONDS);
  expect(values.at(-1)).toBe(DAY_SECONDS - 1);
});

it("has a gap where the page was hidden, and forgets who is not named any more", () => {
  const history = new History();
  history.add(1, new Map([["calls", 1]]));
  history.add(60, new Map<string, number | undefined>([["calls", undefined]]));
  expect(history.read("calls", 60)).toEqual({ seconds: [1, 2, 60], values: [1, null, null] });
  history.add(61, new Map());
  expect(history.read("calls", 61)).toEqual({ seconds: [], values: [] });
});
