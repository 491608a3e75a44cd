import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open } from "lmdb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { beginOpening } from "./environment-folder.ts";

let folder: string;
const file = () => join(folder, "data.mdb");
const damagedFiles = () => readdirSync(folder).filter((name) => name.includes("damaged"));
const begin = (wallTimeMs = 0) =>
  beginOpening(folder, { clock: { now: () => 0, wallTime: () => wallTimeMs } });

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "headgate-opening-"));
  await makeStore();
});
afterEach(() => rmSync(folder, { recursive: true }));

async function makeStore(): Promise<void> {
  const root = open({ path: folder, noSubdir: false, eventTurnBatching: false });
  await root.put("key", "x".repeat(50_000));
  await root.close();
}

describe("the opening of a store", () => {
  it("leaves a sound file alone, whether it was closed or its process died", () => {
    const first = begin();
    first.opened();
    expect(begin().damage).toBeUndefined();
    const second = begin();
    second.opened();
    second.closed();
    expect(begin().damage).toBeUndefined();
    expect(damagedFiles()).toEqual([]);
  });

  it("sets a damaged file aside, and keeps one such file", async () => {
    truncateSync(file(), 5_000);
    const { damage } = begin(1_767_323_045_999);
    expect(damage).toMatchObject({ keptAs: "data.mdb.damaged-1767323045" });
    expect(existsSync(file())).toBe(false);
    await makeStore();
    truncateSync(file(), 5_000);
    expect(begin(1000).damage).toBeDefined();
    expect(damagedFiles()).toEqual(["data.mdb.damaged-1"]);
  });

  it("gives a file up that processes die over again and again, though nothing seems wrong with it", () => {
    const deaths = [begin(), begin(), begin()];
    expect(deaths.map(({ damage }) => damage)).toEqual([undefined, undefined, undefined]);
    expect(begin().damage).toMatchObject({ why: "processes died while they opened it" });
    expect(begin().damage).toBeUndefined();
  });

  it("does not give it up for deaths after it was open", () => {
    for (let death = 0; death < 10; death += 1) {
      const opening = begin();
      expect(opening.damage).toBeUndefined();
      opening.opened();
    }
  });

  it("has the whole table of readers on the disk before it is used", () => {
    rmSync(join(folder, "lock.mdb"));
    begin();
    const { size, blocks } = statSync(join(folder, "lock.mdb"));
    expect(blocks * 512).toBeGreaterThanOrEqual(size);
    expect(size).toBeGreaterThan(8_000);
  });
});
