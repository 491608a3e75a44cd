import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  defaultBudget,
  MemoryBudget,
  type MemoryRefusal,
  memoryHolder,
  memoryKinds,
} from "./memory-budget.ts";

const MB = 2 ** 20;

const budgetOf = (bytes: number) => {
  const refused: MemoryRefusal[] = [];
  return {
    refused,
    budget: new MemoryBudget({ bytes }, { onRefused: (what) => refused.push(what) }),
  };
};

describe("the memory budget", () => {
  it("counts by kind, and in all", () => {
    const { budget } = budgetOf(100);
    budget.hold("arriving", 10);
    budget.hold("unsent", 20);
    budget.release("arriving", 4);
    expect([budget.waiting, budget.waitingAs("arriving"), budget.waitingAs("unsent")]).toEqual([
      26, 6, 20,
    ]);
  });

  it.each([
    // `upTo`: the megabytes that may wait, of a budget of 16 MB, when the call begins.
    { what: "a hash", computeUnits: 1, isInBatch: false, upTo: 16 },
    { what: "a receipt", computeUnits: 3, isInBatch: false, upTo: 16 },
    { what: "a batch of receipts", computeUnits: 3, isInBatch: true, upTo: 5 },
    { what: "eth_call", computeUnits: 5, isInBatch: false, upTo: 8 },
    { what: "logs", computeUnits: 10, isInBatch: false, upTo: 3 },
    { what: "a batch of log queries", computeUnits: 10, isInBatch: true, upTo: 1 },
    { what: "a trace", computeUnits: 25, isInBatch: false, upTo: 3 },
  ])("lets $what begin while no more than $upTo of 16 MB wait", (row) => {
    const { budget, refused } = budgetOf(16 * MB);
    budget.hold("unsent", row.upTo * MB);
    const isAdmitted = (): boolean =>
      row.isInBatch
        ? budget.admitBatch(() => row.computeUnits)
        : budget.admitCall(row.computeUnits);
    expect(isAdmitted()).toBe(true);
    expect(refused).toEqual([]);
    budget.hold("unsent", 0.5 * MB);
    expect(isAdmitted()).toBe(false);
    expect(refused).toEqual([row.isInBatch ? "batches" : "calls"]);
  });

  it("reads no large answer on above three parts in 32, and no request above all of it", () => {
    const { budget, refused } = budgetOf(16 * MB);
    budget.hold("arriving", 1.5 * MB + 1);
    expect([budget.admitLargeAnswer(), budget.admitRequest()]).toEqual([false, true]);
    budget.hold("bodies", 14.5 * MB);
    expect(budget.admitRequest()).toBe(false);
    expect(refused).toEqual(["answers", "requests"]);
  });

  it.each([
    { total: 24_000, constrained: 0, want: 6_000 },
    { total: 24_000, constrained: 2 ** 64, want: 6_000 }, // some kernels report no limit like this
    { total: 24_000, constrained: 2_000, want: 500 },
    { total: 24 * 2 ** 30, constrained: 0, want: 2 ** 30 },
  ])("is a quarter of what may be used, and at most 1 GiB: $total, $constrained", (memory) => {
    expect(defaultBudget(memory)).toBe(memory.want);
  });
});

const keyOf = (weight = 1) => Object.assign(memoryHolder("key"), { weight });

describe("the memory budget of several keys", () => {
  const asked = {
    "a log query": (budget, key) => budget.admitCall(10, key),
    "a batch of log queries": (budget, key) => budget.admitBatch(() => 10, key),
    "a large answer of a node": (budget, key) => budget.admitLargeAnswer(key),
    "a call of a node": (budget, key) => budget.admitCall(5, key),
    "a cheap call": (budget, key) => budget.admitRequest(key),
    "a batch that need not be careful": (budget, key) => budget.isCalmFor(key),
    "a notification": (budget, key) => budget.mayPush(key),
  } satisfies Record<string, (budget: MemoryBudget, key: ReturnType<typeof keyOf>) => boolean>;

  it.each(Object.entries(asked))(
    "refuses %s to who has much waiting, and not to others",
    (_, ask) => {
      const { budget } = budgetOf(48 * MB);
      const [storm, other] = [keyOf(), keyOf()];
      budget.hold("unsent", 37 * MB, storm);
      budget.hold("bodies", MB, other);
      expect([ask(budget, storm), ask(budget, other)]).toEqual([false, true]);
      expect(budget.keysOverShare).toBe(1);
      budget.release("unsent", 37 * MB, storm);
      expect([ask(budget, storm), budget.keysOverShare]).toEqual([true, 0]);
    },
  );

  it("refuses everybody what is not cheap above seven eighths, and all above all of it", () => {
    const { budget, refused } = budgetOf(48 * MB);
    const [storm, other] = [keyOf(), keyOf()];
    budget.hold("unsent", 42 * MB + 1, storm);
    expect([budget.admitCall(10, other), budget.admitCall(1, other)]).toEqual([false, true]);
    budget.hold("unsent", 6 * MB, storm);
    expect(budget.admitCall(1, other)).toBe(false);
    expect(refused).toEqual(["calls", "calls"]);
  });

  it("lets one key alone have what all may have", () => {
    const { budget } = budgetOf(48 * MB);
    const lone = keyOf();
    budget.hold("unsent", 9 * MB, lone);
    expect(budget.admitCall(10, lone)).toBe(true);
    budget.hold("unsent", 1, lone);
    expect(budget.admitCall(10, lone)).toBe(false);
  });

  it("tells whether what waits for the key itself is why", () => {
    const told: unknown[] = [];
    const budget = new MemoryBudget(
      { bytes: 48 * MB },
      { onRefused: (_, why, holder) => told.push([why, holder === storm]) },
    );
    const [storm, other] = [keyOf(), keyOf()];
    budget.hold("unsent", 40 * MB, storm);
    budget.admitCall(10, storm);
    budget.hold("arriving", 10 * MB);
    budget.admitCall(10, other);
    expect(told).toEqual([
      ["key", true],
      ["all", false],
    ]);
  });

  it.each([
    { weight: 1, keys: 8, isRoom: true },
    { weight: 1, keys: 9, isRoom: false },
    { weight: 2, keys: 6, isRoom: true },
    { weight: 2, keys: 7, isRoom: false },
    { weight: 1_000_000, keys: 4, isRoom: true },
    { weight: 1_000_000, keys: 5, isRoom: false },
  ])("has room for another's log query beside $keys of weight $weight: $isRoom", (row) => {
    const { budget } = budgetOf(48 * MB);
    for (let key = 0; key < row.keys; key += 1) budget.hold("unsent", 2 * MB, keyOf(row.weight));
    const other = keyOf();
    budget.hold("bodies", 1_000, other);
    expect(budget.admitCall(10, other)).toBe(row.isRoom);
  });

  it("tells by whom it waits for", () => {
    const { budget } = budgetOf(48 * MB);
    budget.hold("arriving", 1);
    budget.hold("unsent", 20);
    budget.hold("arriving", 300, keyOf());
    expect(budget.waitingFor).toEqual({ gateway: 1, strangers: 20, keys: 300 });
  });

  it("has nothing left when all was given back, whatever was changed meanwhile", () => {
    const step = fc.record({
      key: fc.integer({ min: -1, max: 3 }),
      kind: fc.constantFrom(...memoryKinds),
      bytes: fc.integer({ min: 0, max: 8 * MB }),
      resized: fc.option(fc.integer({ min: 0, max: 64 * MB }), { freq: 5 }),
      weight: fc.integer({ min: 1, max: 100 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { budget } = budgetOf(16 * MB);
        const keys = [keyOf(), keyOf(), keyOf(), keyOf()];
        for (const { key, kind, bytes, resized, weight } of steps) {
          const holder = keys[key];
          if (holder) holder.weight = weight;
          if (resized !== null) budget.resize({ bytes: resized });
          budget.hold(kind, bytes, holder);
          expect(budget.keysOverShare).toBe(keys.filter((each) => each.excessBytes > 0).length);
          const shares = keys.map(
            (each) => [each, ((budget.bytes / 24) * each.weight) / (each.weight + 1)] as const,
          );
          if (resized !== null)
            for (const [each, share] of shares)
              if (each.bytes > 65_536)
                expect(Math.abs(each.excessBytes - Math.max(0, each.bytes - share))).toBeLessThan(
                  2,
                );
          expect(budget.waitingFor.keys).toBe(keys.reduce((sum, each) => sum + each.bytes, 0));
        }
        for (const { key, kind, bytes } of steps.toReversed())
          budget.release(kind, bytes, keys[key]);
        expect(budget.waitingFor).toEqual({ keys: 0, strangers: 0, gateway: 0 });
        expect([budget.waiting, budget.keysOverShare]).toEqual([0, 0]);
        expect(budget.admitBatch(() => 25, keys[0])).toBe(true);
      }),
    );
  });
});
