import { expect, it } from "vitest";
import { replacedIn } from "./replace-process.ts";
import { whatNext } from "./unexpected-errors.ts";

it.each([
  ["rejection", 5, false, "replace"],
  ["exception", 5, false, "replace"],
  ["rejection", 500_000, true, "go on"], // it would be replaced at every call that has the fault
  ["rejection", 700_000, true, "replace"],
  ["exception", 5_000, true, "end"], // nobody is helped by a process that dies and dies
  ["exception", 20_000, true, "replace"],
] as const)(
  "after an unexpected %s, %i ms after the start (replaced: %s): %s",
  (kind, aliveMs, wasReplaced, want) => {
    expect(whatNext(kind, { aliveMs, wasReplaced })).toBe(want);
  },
);

it("is told to the process that takes the place", () => {
  expect(replacedIn({})).toEqual({ isReplaced: false, rejections: 0, exceptions: 0 });
  expect(replacedIn({ HEADGATE_REPLACED: "2 1" })).toEqual({
    isReplaced: true,
    rejections: 2,
    exceptions: 1,
  });
});
