import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { describeStateContract } from "../../test/support/state-contract.ts";
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

describeStateContract("LMDB", () => state);

describe("the state of one machine", () => {
  it("is there again after it was closed, and seen by another that has it open", async () => {
    await state.update(["key a"], () => ["é😀"]);
    const other = new LmdbState({ path });
    expect(await other.get("key a")).toBe("é😀");
    await other.close();
    await state.close();
    state = new LmdbState({ path });
    expect(await state.list("key ")).toEqual([{ key: "key a", text: "é😀" }]);
  });
});
