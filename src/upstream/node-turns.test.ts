import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import type { WorkKind } from "../namespaces/known-method.ts";
import {
  type AskerWithDeadline,
  FairQueue,
  NodeTurns,
  type NoTurn,
  type Turn,
} from "./node-turns.ts";

const never = new AbortController().signal;
const askerOf = (holder: string, remainingMs = 30_000, client = "c"): AskerWithDeadline => ({
  ...{ holder, client, weight: 1, remainingMs },
});

/** `begun` has the keys of the turns in order; `end` ends a key's oldest turn; at most `together` calls share one. */
function turnsOf(slots: number, together = 1) {
  const clock = new FakeClock();
  const turns = new NodeTurns(
    { slots },
    { clock, sizes: { mostOf: () => together, take: () => together } },
  );
  const begun: string[] = [];
  const held: Turn[] = [];
  const take = (turn: Turn | NoTurn): Turn["kind"] | NoTurn["kind"] => {
    if (turn.kind !== "turn") return turn.kind;
    begun.push(turn.holder ?? "");
    held.push(turn);
    return turn.kind;
  };
  const begin = async (own: AskerWithDeadline, signal = never, group?: WorkKind) => {
    const turn = turns.begin(own, signal, group);
    return take(turn instanceof Promise ? await turn : turn);
  };
  const end = async (holder: string, ms = 200, isCutOff = false): Promise<void> => {
    const [turn] = held.splice(
      held.findIndex((each) => each.holder === holder),
      1,
    );
    turns.end(turn as Turn, { sentAtMs: clock.now() - ms, isCutOff });
    await Promise.resolve();
    await Promise.resolve();
  };
  return { clock, turns, begun, held, begin, end };
}

describe("turns at a node", () => {
  it("are taken at once while there are slots, without a promise", () => {
    const { turns } = turnsOf(2);
    expect(turns.begin(askerOf("a"), never)).toMatchObject({ kind: "turn", calls: 1, room: 0 });
    expect(turns.begin(askerOf("a"), never)).toMatchObject({ kind: "turn" });
    expect(turns.begin(askerOf("a"), never)).toBeInstanceOf(Promise);
    expect(turns.waiting).toBe(1);
  });

  it("are shared between keys, though one came with everything before", async () => {
    const { begun, begin, end } = turnsOf(2);
    for (let index = 0; index < 50; index += 1) void begin(askerOf("a"));
    void begin(askerOf("b"));
    for (let index = 0; index < 3; index += 1) await end("a");
    expect(begun.slice(2)).toContain("b");
  });

  it("are kept for keys of which the node has nothing: slow work does not hold all", async () => {
    const { begun, begin, end, turns } = turnsOf(16);
    for (let index = 0; index < 50; index += 1) void begin(askerOf("a"));
    expect(begun).toHaveLength(14);
    expect(await begin(askerOf("b"))).toBe("turn");
    expect(await begin(askerOf("c"))).toBe("turn");
    expect(begun.slice(14)).toEqual(["b", "c"]);
    await end("b");
    expect(begun).toHaveLength(16);
    await end("a");
    await end("a");
    expect(begun).toHaveLength(17);
    expect(turns.waiting).toBe(35);
  });

  it("are refused where they would come too late, and told how long they take", async () => {
    const { begin, end, turns } = turnsOf(1);
    await begin(askerOf("a"));
    void begin(askerOf("a"));
    await end("a", 1_000);
    for (let index = 0; index < 4; index += 1) void begin(askerOf("a"));
    expect(turns.begin(askerOf("a", 3_000), never)).toEqual({ kind: "late", waitMs: 4_000 });
    expect(turns.begin(askerOf("b", 3_000), never)).toBeInstanceOf(Promise);
  });

  it.each([
    { what: "say nothing, where they took less than others", ms: 1, waitMs: 3_000 },
    { what: "count, where they took longer than others", ms: 11_000, waitMs: 6_000 },
  ])("that nobody waited for to the end $what", async ({ ms, waitMs }) => {
    const { begin, end, turns } = turnsOf(1);
    for (let index = 0; index < 6; index += 1) void begin(askerOf("a"));
    await end("a", 1_000);
    await end("a", ms, true);
    expect(turns.begin(askerOf("a", 10), never)).toEqual({ kind: "late", waitMs });
  });

  it("are refused beyond so many of a caller, and of a key", async () => {
    const { begin } = turnsOf(1);
    for (let index = 0; index <= 2_000; index += 1) void begin(askerOf("a"));
    expect(await begin(askerOf("a"))).toBe("full");
    for (let index = 0; index < 2_000; index += 1) void begin(askerOf("a", 30_000, "d"));
    expect(await begin(askerOf("a", 30_000, "e"))).toBe("full");
    void begin(askerOf("b"));
  });

  it("are not waited for any more when the caller leaves", async () => {
    const { begun, begin, end, turns } = turnsOf(1);
    await begin(askerOf("a"));
    const caller = new AbortController();
    const left = begin(askerOf("b"), caller.signal);
    void begin(askerOf("c"));
    caller.abort();
    expect(await left).toBe("left");
    expect(turns.waiting).toBe(1);
    await end("a");
    expect(begun).toEqual(["a", "c"]);
    expect(await begin(askerOf("d"), caller.signal)).toBe("left");
  });
});

describe("a turn that several calls share", () => {
  const askers = (holder: string, count: number): AskerWithDeadline[] =>
    Array.from({ length: count }, () => askerOf(holder));

  it("is one slot, until the last of them has its answer", async () => {
    const { begin, end, held, turns } = turnsOf(2, 3);
    for (const asker of askers("a", 4)) void begin(asker, never, "state");
    expect(held.map((turn) => held.indexOf(turn))).toEqual([0, 0, 0, 3]);
    expect(turns.waiting).toBe(0);
    void begin(askerOf("b"), never);
    for (let left = 3; left > 0; left -= 1) {
      expect(turns.waiting).toBe(1);
      await end("a");
    }
    expect(turns.waiting).toBe(0);
  });

  it("is of one key and of one kind, and open until the request is sent", async () => {
    const { begin, held } = turnsOf(8, 3);
    await begin(askerOf("a"), never, "state");
    await begin(askerOf("b"), never, "state");
    await begin(askerOf("a"), never, "execution");
    await begin(askerOf("a"));
    expect(new Set(held).size).toBe(4);
    for (const turn of held) turn.room = 0; // as the connection does when it sends the request
    await begin(askerOf("a"), never, "state");
    expect(new Set(held).size).toBe(5);
  });

  it("takes along what waits behind its first, and no more than fit", async () => {
    const { begin, end, held, turns } = turnsOf(1, 3);
    await begin(askerOf("a"));
    for (const asker of askers("b", 5)) void begin(asker, never, "state");
    for (const asker of askers("c", 2)) void begin(asker, never, "state");
    void begin(askerOf("b"));
    await end("a");
    expect(held.map(({ holder, calls }) => [holder, calls])).toEqual(Array(3).fill(["b", 3]));
    for (let left = 3; left > 0; left -= 1) await end("b");
    expect(held.map(({ holder, calls }) => [holder, calls])).toEqual(Array(2).fill(["c", 2]));
    expect(turns.waiting).toBe(3);
  });

  it("is not held by what the gateway asks for itself", () => {
    const { turns } = turnsOf(1, 3);
    const own = turns.ownTurn("other");
    expect(turns.ownTurn("other")).toBe(own);
    expect(turns.begin(askerOf("a"), never)).toMatchObject({ kind: "turn" });
    turns.end(own);
    turns.end(own);
    expect(turns.begin(askerOf("a"), never)).toBeInstanceOf(Promise);
  });
});

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
          /** The turns of other keys since a key began to wait, by key. */
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
                expect(times).toBeLessThanOrEqual(2); // one turn of each of the two other keys
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
