// What every store of the shared state must do, whichever it is.
import { describe, expect, it } from "vitest";
import type { State } from "../../src/state/state.ts";

/** @param current The store under test, empty before each test. */
export function describeStateContract(name: string, current: () => State): void {
  describe(`${name}, as a state`, () => {
    it("puts, changes and removes a text, and says nothing of what is not there", async () => {
      const state = current();
      expect(await state.get("key a")).toBeUndefined();
      expect(await state.replace("key a", undefined, "one")).toBe(true);
      expect(await state.replace("key a", "one", "two")).toBe(true);
      expect(await state.get("key a")).toBe("two");
      expect(await state.replace("key a", "two", undefined)).toBe(true);
      expect(await state.get("key a")).toBeUndefined();
      expect(await state.list("key ")).toEqual([]);
    });

    it("changes nothing when something else is there than was expected", async () => {
      const state = current();
      await state.replace("key a", undefined, "one");
      expect(await state.replace("key a", undefined, "two")).toBe(false);
      expect(await state.replace("key a", "two", "three")).toBe(false);
      expect(await state.replace("key b", "one", "two")).toBe(false);
      expect(await state.get("key a")).toBe("one");
    });

    it("tells an empty text from none", async () => {
      const state = current();
      expect(await state.replace("key a", undefined, "")).toBe(true);
      expect(await state.replace("key a", undefined, "one")).toBe(false);
      expect(await state.get("key a")).toBe("");
      expect(await state.replace("key a", "", "one")).toBe(true);
    });

    it("changes several keys together, or none of them", async () => {
      const state = current();
      const both = [
        { key: "key a", expected: undefined, next: "1" },
        { key: "key b", expected: undefined, next: "2" },
      ];
      expect(await state.change(both)).toBe(true);
      expect(await state.change(both)).toBe(false);
      const swap = [
        { key: "key a", expected: "1", next: undefined },
        { key: "key c", expected: undefined, next: "3" },
      ];
      expect(await state.change([...swap, { key: "key b", expected: "9", next: "8" }])).toBe(false);
      expect(await state.list("key ")).toHaveLength(2);
      expect(await state.change(swap)).toBe(true);
      expect((await state.list("key ")).map(({ text }) => text)).toEqual(["2", "3"]);
      expect(await state.change([])).toBe(true);
    });

    it("refuses a change of several groups", async () => {
      const change = [
        { key: "key a", expected: undefined, next: "1" },
        { key: "other a", expected: undefined, next: "2" },
      ];
      await expect(current().change(change)).rejects.toThrow("several groups");
      expect(await current().get("key a")).toBeUndefined();
    });

    it("lets one of many who change the same at once succeed", async () => {
      const state = current();
      await state.replace("key count", undefined, "0");
      const tries = Array.from({ length: 100 }, (_, n) =>
        state.replace("key count", "0", `${n + 1}`),
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
      for (const word of names) await state.replace(`key ${word}`, undefined, `text of ${word}`);
      await state.replace("keys a", undefined, "of another group");
      await state.replace("kez", undefined, "of a third");
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
      for (const n of [1, 2, 3]) await state.replace(`key ${n}`, undefined, long + n);
      expect(await state.get("key 2")).toBe(`${long}2`);
      expect(await state.replace("key 2", `${long}2`, `${long}4`)).toBe(true);
      expect((await state.list("key ")).map(({ text }) => text.at(-1))).toEqual(["1", "4", "3"]);
    });

    it("lists 20,000 entries, each once", async () => {
      const state = current();
      const keys = Array.from({ length: 20_000 }, (_, n) => `key ${String(n).padStart(5, "0")}`);
      for (let from = 0; from < keys.length; from += 1000) {
        const some = keys.slice(from, from + 1000);
        await state.change(some.map((key) => ({ key, expected: undefined, next: key })));
      }
      expect((await state.list("key ")).map(({ key }) => key)).toEqual(keys);
      expect(await state.list("key 012")).toHaveLength(100);
    }, 30_000);
  });
}

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
