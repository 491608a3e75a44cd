import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FairQueue } from "./fair-queue.ts";

type Item = { asker: { holder: string; client: string; weight: number }; order: number };

const any = (): boolean => true;
let order = 0;
const item = (holder: string, client = "c", weight = 1): Item => ({
  asker: { holder, client, weight },
  order: ++order,
});
const filled = (...items: Item[]): FairQueue<Item> => {
  const queue = new FairQueue<Item>();
  for (const each of items) queue.add(each);
  return queue;
};
const all = (queue: FairQueue<Item>): Item[] => {
  const taken: Item[] = [];
  for (let next = queue.take(any); next; next = queue.take(any)) taken.push(next);
  return taken;
};
const many = (count: number, holder: string, client?: string, weight?: number): Item[] =>
  Array.from({ length: count }, () => item(holder, client, weight));
const holders = (items: Item[]): string => items.map(({ asker }) => asker.holder).join("");
const clients = (items: Item[]): string => items.map(({ asker }) => asker.client).join("");

describe("the turns of those that wait", () => {
  it("go round the keys, however much one has waiting", () => {
    expect(holders(all(filled(...many(5, "a"), ...many(2, "b"), item("c"))))).toBe("abcabaaa");
  });

  it("go to a key as often as its weight", () => {
    const queue = filled(...many(6, "a", "c", 3), ...many(3, "b"));
    expect(holders(all(queue))).toBe("aaabaaabb");
  });

  it("go round the callers of a key", () => {
    const queue = filled(...many(4, "a", "x"), ...many(2, "a", "y"), item("b", "z"));
    expect(clients(all(queue))).toBe("xzyxyxx");
  });

  it("are in the order of arrival for one caller", () => {
    const items = many(50, "a");
    expect(all(filled(...items))).toEqual(items);
  });

  it("pass over keys that may have none now, and come back to them", () => {
    const queue = filled(...many(2, "a"), item("b"));
    expect(queue.take((holder) => holder === "b")?.asker.holder).toBe("b");
    expect(queue.take(() => false)).toBeUndefined();
    expect(holders(all(queue))).toBe("aa");
  });

  it("are fair, complete and bounded, whoever comes and leaves meanwhile", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.record({
              act: fc.constant("add" as const),
              holder: fc.constantFrom("a", "b", "c"),
              client: fc.constantFrom("x", "y", "z"),
            }),
            fc.record({ act: fc.constantFrom("take" as const, "leave" as const), at: fc.nat() }),
          ),
          { maxLength: 200 },
        ),
        (steps) => {
          const queue = new FairQueue<Item>();
          const waiting = new Set<Item>();
          /** How often others had their turn since a key began to wait. */
          const passed = new Map<string, number>();
          for (const step of steps) {
            if (step.act === "add") {
              const next = item(step.holder, step.client);
              queue.add(next);
              waiting.add(next);
            } else if (step.act === "leave") {
              const next = [...waiting][step.at % Math.max(1, waiting.size)];
              if (next) queue.remove(next);
              if (next) waiting.delete(next);
            } else {
              const next = queue.take(any);
              expect(next === undefined).toBe(waiting.size === 0);
              if (!next) continue;
              expect(waiting.delete(next)).toBe(true);
              passed.delete(next.asker.holder);
              for (const { asker } of new Map(
                [...waiting].map((each) => [each.asker.holder, each]),
              ).values()) {
                if (asker.holder === next.asker.holder) continue;
                const times = (passed.get(asker.holder) ?? 0) + 1;
                expect(times).toBeLessThanOrEqual(2); // one turn of each other key
                passed.set(asker.holder, times);
              }
            }
            const holding = new Set([...waiting].map(({ asker }) => asker.holder));
            for (const holder of passed.keys()) if (!holding.has(holder)) passed.delete(holder);
            expect(queue.size).toBe(waiting.size);
          }
        },
      ),
    );
  });

  it("are counted ahead of one more", () => {
    const queue = filled(...many(100, "a", "x"), ...many(10, "a", "y"), ...many(3, "b"));
    expect(queue.ahead({ holder: "c", client: "z", weight: 1 })).toBe(2);
    expect(queue.ahead({ holder: "b", client: "c", weight: 1 })).toBe(3 + 4);
    expect(queue.ahead({ holder: "a", client: "x", weight: 1 })).toBe(110 + 3);
    expect(queue.ahead({ holder: "a", client: "new", weight: 1 })).toBe(2 + 3);
  });
});
