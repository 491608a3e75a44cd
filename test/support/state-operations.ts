// The contract of every store of the shared state for limits, counters, journals and repeated operations: each store
// must do the same as the pure functions.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { OperationId } from "../../src/lib/outbox.ts";
import { type TakeRequest, takeFrom } from "../../src/lib/token-bucket.ts";
import { migrateState } from "../../src/state/open-state.ts";
import { addIn } from "../../src/state/operations.ts";
import type { Addition, CounterTree, State } from "../../src/state/state.ts";

let slots = 0;
const newSlot = (): string => {
  slots += 1;
  return slots.toString(16).padStart(16, "0");
};
/** The id of an operation that is not repeated. */
const once = (): OperationId => ({ slot: newSlot(), number: 1, keptMs: 60_000 });

const QUOTA = { size: 100, perSecond: 0 };
const asked = (more: Partial<TakeRequest>): TakeRequest => ({
  ...{ bounds: QUOTA, returned: 0, owed: 0, least: 0, wanted: 0, share: 1 },
  ...more,
});

const takes: fc.Arbitrary<TakeRequest> = fc.record({
  bounds: fc.record({ size: fc.integer({ min: 50, max: 300 }), perSecond: fc.constant(0) }),
  returned: fc.constantFrom(0, 0, 3, 40),
  owed: fc.constantFrom(0, 0, 5, 200),
  least: fc.constantFrom(0, 1, 30),
  wanted: fc.integer({ min: -5, max: 120 }),
  share: fc.constantFrom(1, 0.5, 1 / 3),
});

const numbers = fc.array(fc.nat(2 ** 40), { minLength: 1, maxLength: 4 });
const names = fc.constantFrom("eth", "bsc", "é \"'\\", "__proto_");
const counts: fc.Arbitrary<CounterTree> = fc.dictionary(
  names,
  fc.dictionary(names, numbers, { minKeys: 1 }),
  { minKeys: 1 },
);
const additions = fc.array(
  fc.record({ key: fc.constantFrom("usage a", "usage b", "usage c"), counts }),
  { minLength: 1, maxLength: 3 },
);

/** @param current The store under test, empty before each test. */
export function describeOperations(name: string, current: () => State): void {
  describe(`${name}, of limits`, () => {
    it("grants what is left of a quota, takes back, and books what is owed", async () => {
      const state = current();
      const take = (more: Partial<TakeRequest>) => state.take("limits a", asked(more), once());
      expect(await take({ wanted: 30 })).toEqual({ granted: 30, left: 70 });
      expect(await take({ wanted: 40, share: 0.5 })).toEqual({ granted: 35, left: 35 });
      expect(await take({ least: 36, wanted: 36 })).toEqual({ granted: 0, left: 35 });
      expect(await take({ returned: 10 })).toEqual({ granted: 0, left: 45 });
      expect(await take({ owed: 60, wanted: 1 })).toEqual({ granted: 0, left: -15 });
      expect(await state.get("limits a")).toMatch(/^115 \d+$/);
    });

    it("goes on with what a version before this one wrote", async () => {
      const state = current();
      await state.update(["limits a"], () => ["25 1763800000000.5 m-0.17"]);
      expect((await state.take("limits a", asked({ wanted: 10 }), once())).left).toBe(65);
    });

    it("gives a rate back with time, and no sooner", async () => {
      const state = current();
      const bounds = { size: 1000, perSecond: 500 };
      const take = (wanted: number) =>
        state.take("limits rate", asked({ bounds, wanted, least: wanted }), once());
      const sinceMs = performance.now();
      expect((await take(1000)).granted).toBe(1000);
      let granted = 0;
      while (granted < 200) granted += (await take(50)).granted;
      expect(performance.now() - sinceMs).toBeGreaterThanOrEqual(395);
    });

    it("forgets of a rate what would not fit into its burst, and a time that is far ahead", async () => {
      const state = current();
      const bounds = { size: 100, perSecond: 1 };
      await state.update(["limits rate"], () => [`100 ${Date.now() + 3_600_000} old.1`]);
      const { left } = await state.take("limits rate", asked({ bounds, owed: 900 }), once());
      expect(left).toBe(0);
      const back = await state.take("limits rate", asked({ bounds, returned: 50 }), once());
      expect(back.left).toBeGreaterThanOrEqual(50);
      expect(back.left).toBeLessThan(60);
      const [, atMs] = (await state.get("limits rate"))?.split(" ").map(Number) ?? [];
      expect(Math.abs((atMs ?? 0) - Date.now())).toBeLessThan(2000);
    });

    it("does as the pure function does, whatever is asked", async () => {
      let run = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(takes, { maxLength: 12 }), async (requests) => {
          run += 1;
          let taken = { units: 0, atMs: 0 };
          for (const request of requests) {
            const wanted = takeFrom(taken, request, 0);
            taken = wanted.taken;
            const left = request.bounds.size - taken.units;
            const told = await current().take(`limits ${run}`, request, once());
            expect(told).toEqual({ granted: wanted.granted, left });
          }
        }),
        { numRuns: 40 },
      );
    });
  });

  describe(`${name}, of counters`, () => {
    it("adds as the pure function does, to what is there and to nothing", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(additions, { maxLength: 4 }), async (batches) => {
          const want = new Map<string, string>();
          const table = {
            get: (key: string) => want.get(key),
            set: (key: string, text: string | undefined) => want.set(key, text ?? ""),
          };
          const prefix = newSlot();
          for (const batch of batches) {
            const apart = distinct(batch, prefix);
            addIn(table, apart);
            await current().add(apart, once());
          }
          for (const [key, text] of want)
            expect(JSON.parse((await current().get(key)) ?? "")).toEqual(JSON.parse(text));
        }),
        { numRuns: 30 },
      );
    });

    it("keeps figures exact that are as large as a year's bytes", async () => {
      const state = current();
      const large = { eth: { eth_call: [2 ** 52, 1] } };
      await state.add([{ key: "usage a", counts: large }], once());
      await state.add([{ key: "usage a", counts: { eth: { eth_call: [1, 0] } } }], once());
      const told = JSON.parse((await state.get("usage a")) ?? "") as typeof large;
      expect(told.eth.eth_call).toEqual([2 ** 52 + 1, 1]);
    });
  });

  describe(`${name}, of an operation that comes again`, () => {
    it("does nothing more, and tells what it told, also when others came between", async () => {
      const state = current();
      const id = once();
      const first = await state.take("limits a", asked({ wanted: 30 }), id);
      await state.take("limits a", asked({ wanted: 10 }), once());
      expect(await state.take("limits a", asked({ wanted: 30 }), id)).toEqual(first);
      expect((await state.take("limits a", asked({}), once())).left).toBe(60);

      const counted = { key: "usage a", counts: { eth: { eth_call: [1] } } };
      for (let time = 0; time < 3; time += 1) await state.add([counted], { ...id, number: 2 });
      expect(await state.get("usage a")).toBe('{"eth":{"eth_call":[1]}}');

      const options = { id: { ...id, number: 3 } };
      const raise = ([text]: readonly (string | undefined)[]) => [`${text ?? ""}x`];
      await state.update(["key a"], raise, options);
      await state.update(["key a"], () => ["y"]);
      const again = await state.update(["key a"], raise, options);
      expect(again).toEqual({ isChanged: true, texts: ["y"] });
      expect(await state.get("key a")).toBe("y");
    });

    it("is refused when a later one of its slot was done", async () => {
      const state = current();
      const id = once();
      await state.take("limits a", asked({ wanted: 1 }), { ...id, number: 2 });
      const late = state.take("limits a", asked({ wanted: 50 }), id);
      await expect(late).rejects.toThrow();
      expect((await state.take("limits a", asked({}), once())).left).toBe(99);
    });

    it("may be tried again under its id when it changed nothing", async () => {
      const state = current();
      const options = { id: once() };
      expect((await state.update(["key a"], () => undefined, options)).isChanged).toBe(false);
      expect((await state.update(["key a"], () => ["1"], options)).isChanged).toBe(true);
    });
  });

  describe(`${name}, of journals`, () => {
    const kept = 16;

    it("appends at the end, tells those who are not there, and is read from anywhere", async () => {
      const state = current();
      const append = (at: number, ...items: string[]) =>
        state.append("pending main", { at, items, kept });
      expect(await append(0, "a", "b")).toEqual({ first: 0, end: 2, from: 0, items: ["a", "b"] });
      // The same append again, also by another process, adds nothing.
      expect(await append(0, "a", "b")).toEqual({ first: 0, end: 2, from: 0, items: ["a", "b"] });
      expect((await append(1, "z")).items).toEqual(["b"]);
      expect(await append(2, "c")).toEqual({ first: 0, end: 3, from: 2, items: ["c"] });
      expect((await state.readFrom("pending main", 1)).items).toEqual(["b", "c"]);
      expect(await state.readFrom("pending main", 9)).toMatchObject({ from: 3, items: [] });
      expect((await state.readFrom("pending other", 0)).end).toBe(0);
      expect((await state.list("pending main ")).map(({ text }) => text)).toEqual(["a", "b", "c"]);
    });

    it("forgets the oldest, and all of them where it is said to be longer", async () => {
      const state = current();
      let at = 0;
      for (let n = 0; n < 40; n += 1)
        at = (await state.append("pending main", { at, items: [`${n}`], kept })).end;
      const { first, end, items } = await state.readFrom("pending main", 0);
      expect([end, items.at(-1)]).toEqual([40, "39"]);
      expect(end - first).toBeGreaterThanOrEqual(kept);
      expect(end - first).toBeLessThanOrEqual(kept + kept / 8);
      expect(await state.list("pending main ")).toHaveLength(end - first);
      const request = { at: 50, items: ["x"], kept, least: 50 };
      const part = { first: 50, end: 51, from: 50, items: ["x"] };
      expect(await state.append("pending main", request)).toEqual(part);
      expect(await state.list("pending main ")).toHaveLength(1);
    });

    it("goes on with what a version before this one wrote", async () => {
      const state = current();
      const keys = [10, 11, 12].map((n) => `pending main ${n.toString(16).padStart(12, "0")}`);
      await state.update(keys, () => ["a", "b", "c"]);
      await state.update(["pending _first main"], () => ["a"]);
      await migrateState(state, { where: "the state", log: { info: () => undefined } });
      expect(await state.readFrom("pending main", 0)).toMatchObject({ first: 10, end: 13 });
      const part = await state.append("pending main", { at: 13, items: ["d"], kept });
      expect(part).toEqual({ first: 10, end: 14, from: 13, items: ["d"] });
    });

    it("has each item once when many append what all of them heard", async () => {
      const heard = Array.from({ length: 60 }, (_, n) => `${n}`);
      const appendAll = async (): Promise<void> => {
        const known = new Set<string>();
        for (let at = 0; known.size < heard.length; ) {
          const items = heard.filter((item) => !known.has(item)).slice(0, 7);
          const part = await current().append("pending main", { at, items, kept: 1000 });
          for (const item of part.items) known.add(item);
          at = part.from + part.items.length;
        }
      };
      await Promise.all(Array.from({ length: 5 }, appendAll));
      expect((await current().readFrom("pending main", 0)).items).toEqual(heard);
    });
  });
}

/** The first addition for each key: a batch contains a key once. */
const distinct = (batch: readonly Addition[], prefix: string): Addition[] => [
  ...new Map(
    batch.map(({ key, counts: more }) => [key, { key: `${key} ${prefix}`, counts: more }]),
  ).values(),
];
