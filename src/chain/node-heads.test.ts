import { expect, it } from "vitest";
import { chooseLeader } from "./node-heads.ts";

const node = (name: string, number: number, isDistrusted = false) => ({
  ...{ name, number, isDistrusted },
  isOnOtherBranch: false,
});
const elsewhere = (name: string, number: number) => ({
  ...node(name, number),
  isOnOtherBranch: true,
});

it.each([
  { why: "there is none", nodes: [], present: undefined, want: undefined },
  { why: "it is the only one", nodes: [node("a", -1)], present: undefined, want: "a" },
  {
    why: "it is the first of equals",
    nodes: [node("a", 5), node("b", 5)],
    present: undefined,
    want: "a",
  },
  {
    why: "it has the newest block",
    nodes: [node("a", 4), node("b", 5)],
    present: undefined,
    want: "b",
  },
  {
    why: "it leads already and is one behind",
    nodes: [node("a", 4), node("b", 5)],
    present: "a",
    want: "a",
  },
  { why: "the leader is two behind", nodes: [node("a", 3), node("b", 5)], present: "a", want: "b" },
  { why: "the leader is gone", nodes: [node("b", 5)], present: "a", want: "b" },
  {
    why: "the leader is distrusted",
    nodes: [node("a", 9, true), node("b", 5)],
    present: "a",
    want: "b",
  },
  {
    why: "it is distrusted, and the other one says nothing",
    nodes: [node("a", 4, true), node("b", -1)],
    present: "b",
    want: "a",
  },
  {
    why: "all are distrusted, and it is the best",
    nodes: [node("a", 4, true), node("b", 5, true)],
    present: undefined,
    want: "b",
  },
  {
    why: "the leader left our chain, and it did not",
    nodes: [elsewhere("a", 5), node("b", 5)],
    present: "a",
    want: "b",
  },
  {
    why: "the leader left our chain, and it did not and is one behind",
    nodes: [elsewhere("a", 5), node("b", 4)],
    present: "a",
    want: "b",
  },
  {
    why: "it left our chain, and the other is far behind",
    nodes: [elsewhere("a", 5), node("b", 3)],
    present: "a",
    want: "a",
  },
  {
    why: "all left our chain, and it leads already",
    nodes: [elsewhere("a", 5), elsewhere("b", 5)],
    present: "b",
    want: "b",
  },
])("$want leads since $why", ({ nodes, present, want }) => {
  expect(chooseLeader(nodes, present)).toBe(want);
});
