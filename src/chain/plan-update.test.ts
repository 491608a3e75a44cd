import { expect, it } from "vitest";
import { planUpdate } from "./plan-update.ts";

const block = (number: number, hash: string, parentHash: string) => ({ number, hash, parentHash });
const head = { number: 10, hash: "x" };

it.each([
  { why: "the next block", branch: [block(11, "y", "x")], onto: head, want: { removed: 0 } },
  {
    why: "several next blocks",
    branch: [block(11, "y", "x"), block(12, "z", "y")],
    onto: head,
    want: { removed: 0 },
  },
  {
    why: "another branch",
    branch: [block(9, "b", "a"), block(10, "c", "b")],
    onto: { number: 8, hash: "a" },
    want: { removed: 2 },
  },
  { why: "falling back", branch: [], onto: { number: 7, hash: "a" }, want: { removed: 3 } },
  {
    why: "a branch that stands elsewhere",
    branch: [block(11, "y", "w")],
    onto: head,
    want: undefined,
  },
  { why: "a gap", branch: [block(12, "y", "x")], onto: head, want: undefined },
  {
    why: "a branch that is not linked",
    branch: [block(11, "y", "x"), block(12, "z", "w")],
    onto: head,
    want: undefined,
  },
  {
    why: "a block above the head",
    branch: [block(12, "y", "q")],
    onto: { number: 11, hash: "q" },
    want: undefined,
  },
])("$why: $want", ({ branch, onto, want }) => {
  expect(planUpdate(head, branch, onto)).toEqual(want);
});
