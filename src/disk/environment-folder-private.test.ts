import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { memberId } from "../access/limits/members.ts";
import { BlockStore } from "../chain/block-store.ts";
import { LmdbState } from "../state/lmdb-state.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-private-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const modeOf = (...names: readonly string[]): string =>
  (statSync(join(folder, ...names)).mode & 0o777).toString(8);

const stores = {
  state: (path: string) => new LmdbState({ path }),
  store: (path: string) => new BlockStore({ path, windowBlocks: 1, bytes: 1e6 }),
};

it.each(["state", "store"] as const)("the %s is private to the user", async (kind) => {
  const made = stores[kind](join(folder, kind, "inner"));
  expect([modeOf(kind), modeOf(kind, "inner")]).toEqual(["700", "700"]);
  for (const file of ["data.mdb", "lock.mdb"]) expect(modeOf(kind, "inner", file)).toBe("600");
  await made.close();
});

it.each(["state", "store"] as const)(
  "the %s that an earlier version left open becomes private",
  async (kind) => {
    const path = join(folder, `old ${kind}`);
    mkdirSync(path, { mode: 0o755 });
    writeFileSync(join(path, "lock.mdb"), "");
    chmodSync(join(path, "lock.mdb"), 0o644);
    const made = stores[kind](path);
    expect([modeOf(`old ${kind}`), modeOf(`old ${kind}`, "lock.mdb")]).toEqual(["700", "600"]);
    await made.close();
  },
);

it("the name of a gateway is private, and the folder made for it", () => {
  memberId({ data: join(folder, "data"), slot: 0 });
  expect([modeOf("data"), modeOf("data", "_member")]).toEqual(["700", "600"]);
});
