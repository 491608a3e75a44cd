// The contract that every store of the shared state must keep.
import { describe, expect, it } from "vitest";
import type { Next, State } from "../../src/state/state.ts";
import { describeOperations } from "./state-operations.ts";

/** Replaces the expected text; undefined stands for none. @returns Whether the expected text was there. */
async function replace(
  state: Pick<State, "update">,
  key: string,
  ...[expected, text]: readonly [string | undefined, string | undefined]
): Promise<boolean> {
  const next: Next = ([there]) => (there === expected ? [text] : undefined);
  return (await state.update([key], next, { known: [expected] })).isChanged;
}

/** @param current The store under test, empty before each test. */
export function describeStateContract(name: string, current: () => State): void {
  describe(`${name}, as a state`, () => {
    it("puts, changes and removes a text, and says nothing of what is not there", async () => {
      const state = current();
      expect(await state.get("key a")).toBeUndefined();
      expect(await replace(state, "key a", undefined, "one")).toBe(true);
      expect(await replace(state, "key a", "one", "two")).toBe(true);
      expect(await state.get("key a")).toBe("two");
      expect(await replace(state, "key a", "two", undefined)).toBe(true);
      expect(await state.get("key a")).toBeUndefined();
      expect(await state.list("key ")).toEqual([]);
    });

    it("changes nothing when something else is there than was expected", async () => {
      const state = current();
      await replace(state, "key a", undefined, "one");
      expect(await replace(state, "key a", undefined, "two")).toBe(false);
      expect(await replace(state, "key a", "two", "three")).toBe(false);
      expect(await replace(state, "key b", "one", "two")).toBe(false);
      expect(await state.get("key a")).toBe("one");
    });

    it("tells an empty text from none", async () => {
      const state = current();
      expect(await replace(state, "key a", undefined, "")).toBe(true);
      expect(await replace(state, "key a", undefined, "one")).toBe(false);
      expect(await state.get("key a")).toBe("");
      expect(await replace(state, "key a", "", "one")).toBe(true);
    });

    it("changes several keys together, or none of them", async () => {
      const state = current();
      const both = ["key a", "key b"];
      const ifNothing: Next = (texts) => (texts.some(Boolean) ? undefined : ["1", "2"]);
      expect(await state.update(both, ifNothing)).toEqual({ isChanged: true, texts: ["1", "2"] });
      expect(await state.update(both, ifNothing)).toEqual({ isChanged: false, texts: ["1", "2"] });
      const swap: Next = ([a, b]) => (a === "1" ? [undefined, b, "3"] : undefined);
      const swapped = { isChanged: true, texts: [undefined, "2", "3"] };
      expect(await state.update([...both, "key c"], swap)).toEqual(swapped);
      expect((await state.list("key ")).map(({ text }) => text)).toEqual(["2", "3"]);
      expect(await state.update([...both, "key c"], swap)).toEqual({
        ...swapped,
        isChanged: false,
      });
    });

    it("updates what is there, whatever the caller thought was there", async () => {
      const state = current();
      await replace(state, "key a", undefined, "one");
      const more: Next = ([text]) => [`${text} more`];
      const known = ["of yesterday"];
      expect((await state.update(["key a"], more, { known })).texts).toEqual(["one more"]);
      const never: Next = ([text]) => (text === "one" ? ["two"] : undefined);
      expect(await state.update(["key a"], never, { known: ["one"] })).toEqual({
        isChanged: false,
        texts: ["one more"],
      });
    });

    it("refuses a change of several groups", async () => {
      const change = current().update(["key a", "other a"], () => ["1", "2"]);
      await expect(change).rejects.toThrow("several groups");
      expect(await current().get("key a")).toBeUndefined();
    });

    it("makes each of many updates at once, one after the other", async () => {
      const state = current();
      const raise: Next = ([text]) => [String(Number(text ?? 0) + 1)];
      const raised = await Promise.all(
        Array.from({ length: 100 }, () => state.update(["key count"], raise)),
      );
      const numbers = raised.map(({ texts }) => Number(texts[0]));
      expect(numbers.toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 100 }, (_, n) => n + 1),
      );
    });

    it("lets one of many who change the same at once succeed", async () => {
      const state = current();
      await replace(state, "key count", undefined, "0");
      const tries = Array.from({ length: 100 }, (_, n) =>
        replace(state, "key count", "0", `${n + 1}`),
      );
      expect((await Promise.all(tries)).filter(Boolean)).toHaveLength(1);
    });

    it("lists what begins with a prefix, in the order of bytes, whatever the characters", async () => {
      const state = current();
      const names = [
        "b",
        "a",
        "",
        "a b",
        "é",
        "😀",
        "\uffff",
        "z{}",
        "Z",
        "a\n\"'\\",
        "\u0001",
        "日本",
      ];
      for (const word of names) await replace(state, `key ${word}`, undefined, `text of ${word}`);
      await replace(state, "keys a", undefined, "of another group");
      await replace(state, "kez", undefined, "of a third");
      const inOrder = names.map((word) => `key ${word}`).sort(byBytes);
      const want = inOrder.map((key) => ({ key, text: `text of ${key.slice(4)}` }));
      expect(await state.list("key ")).toEqual(want);
      expect((await state.list("key a")).map(({ key }) => key)).toEqual(
        inOrder.filter((key) => key.startsWith("key a")),
      );
      expect(await state.list("key x")).toEqual([]);
    });

    it("keeps texts of a megabyte and lists many of them", async () => {
      const state = current();
      const long = "é".repeat(524_288);
      for (const n of [1, 2, 3]) await replace(state, `key ${n}`, undefined, long + n);
      expect(await state.get("key 2")).toBe(`${long}2`);
      expect(await replace(state, "key 2", `${long}2`, `${long}4`)).toBe(true);
      expect((await state.list("key ")).map(({ text }) => text.at(-1))).toEqual(["1", "4", "3"]);
    });

    it("lists 20,000 entries, each once", async () => {
      const state = current();
      const keys = Array.from({ length: 20_000 }, (_, n) => `key ${String(n).padStart(5, "0")}`);
      for (let from = 0; from < keys.length; from += 1000) {
        const some = keys.slice(from, from + 1000);
        await state.update(some, () => some, { known: some.map(() => undefined) });
      }
      expect((await state.list("key ")).map(({ key }) => key)).toEqual(keys);
      expect(await state.list("key 012")).toHaveLength(100);
    });
  });

  describeOperations(name, current);
}

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
