import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LmdbState } from "./lmdb-state.ts";

let path: string;
let state: LmdbState;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "headgate-state-"));
  state = new LmdbState({ path });
});
afterEach(async () => {
  await state.close();
  await rm(path, { recursive: true });
});

describe("the state", () => {
  it("puts, changes and removes a text, and says nothing of what is not there", async () => {
    expect(await state.get("a")).toBeUndefined();
    expect(await state.replace("a", undefined, "one")).toBe(true);
    expect(await state.replace("a", "one", "two")).toBe(true);
    expect(await state.get("a")).toBe("two");
    expect(await state.replace("a", "two", undefined)).toBe(true);
    expect(await state.get("a")).toBeUndefined();
  });

  it("changes nothing when something else is there than was expected", async () => {
    await state.replace("a", undefined, "one");
    expect(await state.replace("a", undefined, "two")).toBe(false);
    expect(await state.replace("a", "two", "three")).toBe(false);
    expect(await state.replace("b", "one", "two")).toBe(false);
    expect(await state.get("a")).toBe("one");
  });

  it("lets one of many who change the same at once succeed", async () => {
    await state.replace("count", undefined, "0");
    const tries = Array.from({ length: 50 }, (_, n) => state.replace("count", "0", `${n + 1}`));
    expect((await Promise.all(tries)).filter(Boolean)).toHaveLength(1);
  });

  it("lists what begins with a prefix, in order", async () => {
    for (const key of ["f b", "f a", "g", "f", "f c"]) await state.replace(key, undefined, key);
    expect((await state.list("f ")).map(({ key }) => key)).toEqual(["f a", "f b", "f c"]);
    expect(await state.list("h")).toEqual([]);
  });

  it("is there again after it was closed, and seen by another that has it open", async () => {
    await state.replace("a", undefined, "é😀");
    const other = new LmdbState({ path });
    expect(await other.get("a")).toBe("é😀");
    await other.close();
    await state.close();
    state = new LmdbState({ path });
    expect(await state.list("")).toEqual([{ key: "a", text: "é😀" }]);
  });
});
