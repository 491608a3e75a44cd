import { describe, expect, it } from "vitest";
import { Queue, type QueuedUpstream } from "./queue.ts";

type Node = {
  readonly lacks?: string;
  readonly waitMs?: number;
  readonly breaker?: "open" | "half-open";
  readonly mayBeTried?: boolean;
};

/** A queue of nodes a, b, c … for a call of `m` that costs 3; budgets may be changed later. */
function queueOf(nodes: readonly Node[], way?: string) {
  const waits = new Map<string, number>();
  const queued = nodes.map((node, index) => {
    const { lacks, waitMs = 0, breaker = "closed", mayBeTried = false } = node;
    const name = "abcdef"[index] ?? "z";
    waits.set(name, waitMs);
    const isMissing = (what: string): boolean => what === lacks;
    const health = {
      group: (group: string) => ({ breaker: group === "state" ? breaker : "closed" }),
    };
    const costOf = (method: string): number => (method === "m" ? 3 : 0);
    const budget = {
      costOf,
      waitMs: (cost: number) => (cost === 3 ? waits.get(name) : 0),
      mayBeTried: (cost: number) => cost === 3 && mayBeTried,
    };
    return { name, isMissing, health, budget } as unknown as QueuedUpstream;
  });
  const queue = new Queue(queued, { method: "m", way });
  /** All that it gives, in order. */
  const taken = (): string => {
    let names = "";
    for (let node = queue.take(); node; node = queue.take()) names += node.name;
    return names;
  };
  const wait = (name: string, ms: number): void => void waits.set(name, ms);
  return { queue, taken, wait };
}

describe("the nodes that a call may go to", () => {
  it.each<{ rule: string; nodes: readonly Node[]; way?: string; want: string }>([
    { rule: "nobody", nodes: [], want: "" },
    { rule: "each of them once, in order", nodes: [{}, {}, {}], want: "abc" },
    { rule: "not who lacks the method", nodes: [{ lacks: "m" }, {}, { lacks: "m" }], want: "b" },
    {
      rule: "not who lacks this way to call it",
      nodes: [{ lacks: "way" }, {}],
      way: "way",
      want: "b",
    },
    { rule: "who lacks another way", nodes: [{ lacks: "way" }, {}], want: "ab" },
    { rule: "not who has no budget", nodes: [{}, { waitMs: 1 }, {}], want: "ac" },
    { rule: "who was given up, last in order", nodes: [{}, { breaker: "open" }], want: "ab" },
  ])("are $rule: $want", ({ nodes, way, want }) => {
    const { queue, taken } = queueOf(nodes, way);
    expect(taken()).toBe(want);
    expect(queue.hasNext).toBe(false);
    expect(queue.hasReady).toBe(false);
  });

  it("may be none although there are some: they are looked at one by one", () => {
    const { queue } = queueOf([{ lacks: "m" }, { waitMs: 5 }]);
    expect(queue.hasNext).toBe(true);
    expect(queue.hasReady).toBe(false);
    expect(queue.hasNext).toBe(false);
  });

  it("are not taken by looking", () => {
    const { queue, taken } = queueOf([{}, {}]);
    expect([queue.hasReady, queue.hasReady, queue.hasReady]).toEqual([true, true, true]);
    expect(taken()).toBe("ab");
  });

  it("are counted once when they lack the method", () => {
    const { queue, taken } = queueOf([{ lacks: "m" }, {}, { lacks: "m" }]);
    expect(queue.missing).toBe(0);
    taken();
    queue.comeBack();
    taken();
    expect(queue.missing).toBe(2);
  });

  it("are also some that were not there at the beginning, each once", () => {
    const { queue, taken } = queueOf([{}, {}]);
    const others = [queueOf([{}]).queue.take(), queueOf([{}]).queue.take()];
    const newcomers = others.filter((node) => node !== undefined);
    expect(queue.take()?.name).toBe("a");
    queue.add(newcomers);
    queue.add(newcomers);
    expect(taken()).toBe("baa");
    queue.add(newcomers);
    expect(taken()).toBe("");
  });

  it("are, for an opinion, not those who were given up for this kind of work", () => {
    const nodes: Node[] = [{}, { breaker: "open" }, { breaker: "half-open" }, { breaker: "open" }];
    const one = queueOf(nodes);
    one.queue.dropOpen("state");
    expect(one.taken()).toBe("ac");
    const other = queueOf(nodes);
    other.queue.dropOpen("logs");
    expect(other.taken()).toBe("abcd");
  });

  it("are, for an opinion, not those without budget either who were given up", () => {
    const { queue } = queueOf([{}, { waitMs: 5, breaker: "open" }, { waitMs: 9 }]);
    queue.take();
    expect(queue.hasReady).toBe(false); // they have been looked at
    queue.dropOpen("state");
    expect([queue.limited, queue.soonestMs]).toEqual([1, 9]);
  });
});

describe("nodes without budget", () => {
  it("come back behind those that were not asked yet, when they have some", () => {
    const { queue, taken, wait } = queueOf([{ waitMs: 30 }, {}, { waitMs: 20 }, {}]);
    expect(queue.take()?.name).toBe("b");
    expect([queue.limited, queue.soonestMs]).toEqual([1, 30]);
    wait("a", 0);
    queue.comeBack();
    expect(queue.limited).toBe(0);
    expect(taken()).toBe("da");
    expect([queue.limited, queue.soonestMs]).toEqual([1, 20]);
  });

  it("go back when they have none yet", () => {
    const { queue, taken, wait } = queueOf([{ waitMs: 30 }, { waitMs: 20 }]);
    expect(taken()).toBe("");
    wait("b", 0);
    wait("a", 10);
    queue.comeBack();
    expect(taken()).toBe("b");
    expect([queue.limited, queue.soonestMs]).toEqual([1, 10]);
  });

  it("are also those that said so when they were asked", () => {
    const { queue, wait } = queueOf([{}, {}]);
    const node = queue.take();
    if (node) queue.giveBack(node);
    wait("a", 70);
    expect([queue.limited, queue.soonestMs]).toEqual([1, 70]);
    expect(queue.take()?.name).toBe("b");
    wait("a", 0);
    queue.comeBack();
    expect(queue.take()?.name).toBe("a");
  });

  it("are never the soonest when there are none", () => {
    expect(queueOf([{}]).queue.soonestMs).toBe(Number.POSITIVE_INFINITY);
  });

  it("are asked insistently, one after the other, when they never told a limit", () => {
    const learned = { waitMs: 2_000, mayBeTried: true };
    const { queue, taken } = queueOf([{ waitMs: 1 }, learned, learned]);
    expect(queue.insistent).toBeUndefined(); // nobody was found without budget yet
    expect(taken()).toBe("");
    for (const name of ["b", "c"]) {
      const node = queue.insistent;
      expect(node?.name).toBe(name);
      if (node) expect(queue.takeLimited(node)).toBe(node);
    }
    expect(queue.insistent).toBeUndefined();
    expect([queue.limited, queue.soonestMs]).toEqual([1, 1]);
  });
});
