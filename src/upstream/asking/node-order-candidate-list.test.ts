import { describe, expect, it } from "vitest";
import type { Upstream } from "../upstream.ts";
import { CandidateList } from "./node-order.ts";

type Node = {
  readonly lacks?: string;
  readonly waitMs?: number;
  readonly breaker?: "open" | "half-open";
  readonly mayExceedLearnedLimit?: boolean;
};

/** A list of nodes a, b, c … for a call of `m` that costs 3; `wait` changes a node's budget. */
function listOf(nodes: readonly Node[], variant?: string) {
  const waits = new Map<string, number>();
  const queued = nodes.map((node, index) => {
    const { lacks, waitMs = 0, breaker = "closed", mayExceedLearnedLimit = false } = node;
    const name = "abcdef"[index] ?? "z";
    waits.set(name, waitMs);
    const isMissing = (what: string): boolean => what === lacks;
    const health = {
      ofKind: (kind: string) => ({ breaker: kind === "state" ? breaker : "closed" }),
    };
    const costOf = (method: string): number => (method === "m" ? 3 : 0);
    const budget = {
      costOf,
      waitMs: (cost: number) => (cost === 3 ? waits.get(name) : 0),
      mayExceedLearnedLimit: (cost: number) => cost === 3 && mayExceedLearnedLimit,
    };
    return { name, isMissing, health, budget } as unknown as Upstream;
  });
  const list = new CandidateList(queued, { method: "m", variant });
  /** The names of all nodes that the list gives, in order. */
  const taken = (): string => {
    let names = "";
    for (let node = list.take(0); node; node = list.take(0)) names += node.name;
    return names;
  };
  const wait = (name: string, ms: number): void => void waits.set(name, ms);
  return { list, taken, wait };
}

describe("the nodes that a call may go to", () => {
  it.each<{ rule: string; nodes: readonly Node[]; variant?: string; want: string }>([
    { rule: "nobody", nodes: [], want: "" },
    { rule: "each of them once, in order", nodes: [{}, {}, {}], want: "abc" },
    { rule: "not who lacks the method", nodes: [{ lacks: "m" }, {}, { lacks: "m" }], want: "b" },
    {
      rule: "not who lacks this variant of it",
      nodes: [{ lacks: "variant" }, {}],
      variant: "variant",
      want: "b",
    },
    { rule: "who lacks another variant", nodes: [{ lacks: "variant" }, {}], want: "ab" },
    { rule: "not who has no budget", nodes: [{}, { waitMs: 1 }, {}], want: "ac" },
    { rule: "who was given up, last in order", nodes: [{}, { breaker: "open" }], want: "ab" },
  ])("are $rule: $want", ({ nodes, variant, want }) => {
    const { list, taken } = listOf(nodes, variant);
    expect(taken()).toBe(want);
    expect(list.hasNext).toBe(false);
    expect(list.advance(0)).toBeUndefined();
  });

  it("may be none although there are some: they are looked at one by one", () => {
    const { list } = listOf([{ lacks: "m" }, { waitMs: 5 }]);
    expect(list.hasNext).toBe(true);
    expect(list.advance(0)).toBeUndefined();
    expect(list.hasNext).toBe(false);
  });

  it("are not taken by looking", () => {
    const { list, taken } = listOf([{}, {}]);
    expect([list.advance(0)?.name, list.advance(0)?.name, list.advance(0)?.name]).toEqual([
      "a",
      "a",
      "a",
    ]);
    expect(taken()).toBe("ab");
  });

  it("are counted once when they lack the method", () => {
    const { list, taken } = listOf([{ lacks: "m" }, {}, { lacks: "m" }]);
    expect(list.missing).toBe(0);
    taken();
    list.comeBack();
    taken();
    expect(list.missing).toBe(2);
  });

  it("are also some that were not there at the beginning, each once", () => {
    const { list, taken } = listOf([{}, {}]);
    const others = [listOf([{}]).list.take(0), listOf([{}]).list.take(0)];
    const newcomers = others.filter((node) => node !== undefined);
    expect(list.take(0)?.name).toBe("a");
    list.add(newcomers);
    list.add(newcomers);
    expect(taken()).toBe("baa");
    list.add(newcomers);
    expect(taken()).toBe("");
  });

  it("are, for a cross-check, not those who were given up for this kind of work", () => {
    const nodes: Node[] = [{}, { breaker: "open" }, { breaker: "half-open" }, { breaker: "open" }];
    const one = listOf(nodes);
    one.list.dropOpen("state");
    expect(one.taken()).toBe("ac");
    const other = listOf(nodes);
    other.list.dropOpen("logs");
    expect(other.taken()).toBe("abcd");
  });

  it("are, for a cross-check, not those without budget either who were given up", () => {
    const { list } = listOf([{}, { waitMs: 5, breaker: "open" }, { waitMs: 9 }]);
    list.take(0);
    expect(list.advance(0)).toBeUndefined(); // the list has set both aside
    list.dropOpen("state");
    expect([list.limited, list.soonestMs(0)]).toEqual([1, 9]);
  });
});

describe("nodes without budget", () => {
  it("come back behind those that were not asked yet, when they have some", () => {
    const { list, taken, wait } = listOf([{ waitMs: 30 }, {}, { waitMs: 20 }, {}]);
    expect(list.take(0)?.name).toBe("b");
    expect([list.limited, list.soonestMs(0)]).toEqual([1, 30]);
    wait("a", 0);
    list.comeBack();
    expect(list.limited).toBe(0);
    expect(taken()).toBe("da");
    expect([list.limited, list.soonestMs(0)]).toEqual([1, 20]);
  });

  it("go back when they have none yet", () => {
    const { list, taken, wait } = listOf([{ waitMs: 30 }, { waitMs: 20 }]);
    expect(taken()).toBe("");
    wait("b", 0);
    wait("a", 10);
    list.comeBack();
    expect(taken()).toBe("b");
    expect([list.limited, list.soonestMs(0)]).toEqual([1, 10]);
  });

  it("are also those that said so when they were asked", () => {
    const { list, wait } = listOf([{}, {}]);
    const node = list.take(0);
    if (node) list.giveBack(node);
    wait("a", 70);
    expect([list.limited, list.soonestMs(0)]).toEqual([1, 70]);
    expect(list.take(0)?.name).toBe("b");
    wait("a", 0);
    list.comeBack();
    expect(list.take(0)?.name).toBe("a");
  });

  it("are left alone until a given time, by this call alone, also beyond a learned limit", () => {
    const { list } = listOf([{ mayExceedLearnedLimit: true }]);
    const node = list.take(0);
    if (node) list.giveBack(node, 1_000);
    expect([list.soonestMs(0), list.soonestMs(400)]).toEqual([1_000, 600]);
    list.comeBack();
    expect(list.advance(999)).toBeUndefined();
    expect(list.beyondLearnedLimit(999)).toBeUndefined();
    expect(list.beyondLearnedLimit(1_000)).toBe(node);
    list.comeBack();
    expect(list.take(1_000)).toBe(node);
  });

  it("are never the soonest when there are none", () => {
    expect(listOf([{}]).list.soonestMs(0)).toBe(Number.POSITIVE_INFINITY);
  });

  it("are asked beyond the learned limit, one after the other, when they never told a limit", () => {
    const learned = { waitMs: 2_000, mayExceedLearnedLimit: true };
    const { list, taken } = listOf([{ waitMs: 1 }, learned, learned]);
    expect(list.beyondLearnedLimit(0)).toBeUndefined(); // the list has set no node aside yet
    expect(taken()).toBe("");
    for (const name of ["b", "c"]) {
      const node = list.beyondLearnedLimit(0);
      expect(node?.name).toBe(name);
      if (node) expect(list.takeLimited(node)).toBe(node);
    }
    expect(list.beyondLearnedLimit(0)).toBeUndefined();
    expect([list.limited, list.soonestMs(0)]).toEqual([1, 1]);
  });
});
