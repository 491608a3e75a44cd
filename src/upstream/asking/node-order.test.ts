import { describe, expect, it } from "vitest";
import { fakeTraits } from "../../../test/support/fake-pool.ts";
import {
  headOf,
  inOrder,
  type RankedUpstream,
  submissionUpstreams,
  type Wanted,
} from "./node-order.ts";

type Node = {
  readonly at?: number;
  readonly isOnOtherBranch?: boolean;
  readonly waitMs?: number;
  /** The oldest block that the node has. */
  readonly from?: number;
  readonly isUntried?: boolean;
};

const those = (...nodes: readonly Node[]): RankedUpstream[] =>
  nodes.map(({ at, isOnOtherBranch = false, waitMs = 0, from = 0, isUntried = false }, index) => {
    const ofKind = () => ({ breaker: "closed", errorRate: 0, meanMs: 20, isUntried });
    return {
      name: "abc"[index],
      options: { weight: 1, price: 0 },
      health: { ofKind, inFlight: 0 },
      turns: { waiting: 0 },
      budget: { costOf: () => 1, waitMs: () => waitMs },
      capabilities: { isLacking: (_: unknown, { block }: { block: number }) => block < from },
      head: at === undefined ? undefined : { number: at, hash: `0x${at}` },
      isOnOtherBranch,
    } as unknown as RankedUpstream;
  });

const wanted = (method: string, rest: Partial<Wanted> = {}): Wanted => ({
  method,
  traits: fakeTraits(method),
  block: undefined,
  reaches: undefined,
  toleratedLag: 1,
  isTrial: false,
  ...rest,
});

describe("the nodes in order", () => {
  it.each<{ rule: string; nodes: readonly Node[]; call?: Partial<Wanted>; want: string }>([
    { rule: "one block behind is none", nodes: [{ at: 99 }, { at: 100 }], want: "ab" },
    { rule: "two blocks behind are last", nodes: [{ at: 98 }, { at: 100 }], want: "ba" },
    {
      rule: "a block that both have",
      nodes: [{ at: 90 }, { at: 100 }],
      call: { block: 90 },
      want: "ab",
    },
    {
      rule: "a block that one has",
      nodes: [{ at: 99 }, { at: 100 }],
      call: { block: 100 },
      want: "ba",
    },
    {
      rule: "what is reached counts, not the block",
      nodes: [{ at: 99 }, { at: 100 }],
      call: { block: 5, reaches: 100 },
      want: "ba",
    },
    { rule: "a node of unknown head", nodes: [{}, { at: 100 }], want: "ab" },
    {
      rule: "a node on another fork",
      nodes: [{ at: 101, isOnOtherBranch: true }, { at: 100 }],
      want: "ba",
    },
    {
      rule: "a node without so old state",
      nodes: [{ at: 100, from: 50 }, { at: 100 }],
      call: { block: 49 },
      want: "ba",
    },
    { rule: "a node without budget", nodes: [{ waitMs: 5 }, {}], want: "ba" },
    {
      rule: "a new node's turn",
      nodes: [{}, { isUntried: true }],
      call: { isTrial: true },
      want: "ba",
    },
    { rule: "not a new node's turn", nodes: [{}, { isUntried: true }], want: "ab" },
  ])("$rule: $want", ({ nodes, call, want }) => {
    const order = inOrder(those(...nodes), wanted("eth_call", call));
    expect(order.map(({ name }) => name).join("")).toBe(want);
  });

  it("is that of the configuration for what one node alone has", () => {
    const nodes = those({ at: 1 }, { at: 100 });
    expect(inOrder(nodes, wanted("eth_getFilterChanges"))).toBe(nodes);
  });
});

it.each<{ of: string; nodes: readonly Node[]; want: number | undefined }>([
  { of: "nobody", nodes: [], want: undefined },
  { of: "nodes that told none", nodes: [{}, {}], want: undefined },
  { of: "the highest", nodes: [{ at: 7 }, { at: 9 }, {}], want: 9 },
  {
    of: "those on the followed chain",
    nodes: [{ at: 7 }, { at: 9, isOnOtherBranch: true }],
    want: 7,
  },
  { of: "the first block", nodes: [{ at: 0 }], want: 0 },
])("the head of $of is $want", ({ nodes, want }) => {
  expect(headOf(those(...nodes))).toBe(want);
});

const upstream = (name: string) => ({ name, options: { isPrivate: name.startsWith("private") } });
const [a, b, one, two] = [
  upstream("a"),
  upstream("b"),
  upstream("private 1"),
  upstream("private 2"),
];

it.each([
  { all: [a, b], usable: [b], broadcast: undefined, want: [b] },
  { all: [a, one, b, two], usable: [a, one, b, two], broadcast: undefined, want: [one, two] },
  { all: [a, one, b, two], usable: [a, b, two], broadcast: undefined, want: [two] },
  { all: [a, one], usable: [a], broadcast: undefined, want: [] }, // no public node replaces a private one
  { all: [a, one, b], usable: [a, one, b], broadcast: 2, want: [a, b] },
  { all: [a, one], usable: [a, one], broadcast: 1, want: [a] },
])("of $all.length nodes with broadcast $broadcast, $want.length take transactions %#", (given) => {
  const { all, usable, broadcast, want } = given;
  expect(submissionUpstreams(usable, all, broadcast)).toEqual(want);
});
