import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { checkEnvironment } from "./check-environment.ts";

const PAGE = 4096;
/** The distance between two pages that the test damages. */
const STEP = 29;
const EVERY_LEAF = { mayGoOn: () => true };

let folder: string;
let good: string;
let bad: string;
let file: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "headgate-environment-"));
  good = join(folder, "good");
  bad = join(folder, "bad");
  file = join(bad, "data.mdb");
  const root = openIn(good);
  await fill(root);
  await root.close();
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => {
  rmSync(bad, { recursive: true, force: true });
  cpSync(good, bad, { recursive: true });
});

const openIn = (path: string): RootDatabase<Buffer, string> =>
  open<Buffer, string>({ path, noSubdir: false, encoding: "binary", eventTurnBatching: false });

/** Writes two tables of some depth, values of many pages, and pages that become free again. */
async function fill(root: RootDatabase<Buffer, string>): Promise<void> {
  for (const name of ["short", "long"]) {
    const table = root.openDB<Buffer, string>({ name, encoding: "binary" });
    for (let round = 0; round < 8; round += 1)
      await root.transaction(() => {
        for (let key = 0; key < 40; key += 1)
          table.putSync(`${key * 7919} ${round}`, Buffer.alloc(name === "long" ? 9_000 : 300));
        if (round % 3 === 0) table.removeSync(`0 ${round}`);
      });
  }
}

/** Replaces the page at `number` with the result of `change`. */
function changePage(number: number, change: (page: Buffer) => Buffer): void {
  const bytes = readFileSync(file);
  change(bytes.subarray(number * PAGE, (number + 1) * PAGE)).copy(bytes, number * PAGE);
  writeFileSync(file, bytes);
}

describe("a file of LMDB", () => {
  it("that is not there, or as it should be, can be opened", () => {
    expect(checkEnvironment(join(folder, "none"), EVERY_LEAF)).toEqual({ kind: "absent" });
    expect(checkEnvironment(good, EVERY_LEAF)).toEqual({ kind: "sound" });
    expect(checkEnvironment(good, { mayGoOn: () => false })).toEqual({ kind: "sound" });
  });

  it("that was just made can be opened", async () => {
    const root = openIn(join(folder, "new"));
    expect(checkEnvironment(join(folder, "new"), EVERY_LEAF)).toEqual({ kind: "sound" });
    await root.close();
  });

  it.each([
    ["empty", () => truncateSync(file, 0)],
    ["of one page", () => truncateSync(file, PAGE)],
    ["of two pages", () => truncateSync(file, 2 * PAGE)],
    ["half", () => truncateSync(file, Math.floor(readFileSync(file).length / 2))],
    ["garbage", () => writeFileSync(file, Buffer.alloc(200_000, "garbage"))],
    ["of another first page", () => changePage(0, (page) => page.fill(7))],
    ["of another second page", () => changePage(1, (page) => page.fill(0))],
  ])("that is %s cannot be opened", (_, damage) => {
    damage();
    expect(checkEnvironment(bad, { mayGoOn: () => false }).kind).toBe("damaged");
  });

  it("with any page in use zeroed, shuffled or another's cannot be opened", () => {
    const bytes = readFileSync(file);
    const damages = [
      (page: Buffer) => page.fill(0),
      (page: Buffer) => page.reverse(),
      () => bytes.subarray(5 * PAGE, 6 * PAGE),
    ];
    let found = 0;
    const pages = bytes.length / PAGE;
    for (let number = 2; number < pages; number += STEP) {
      changePage(number, damages[found % damages.length] as (page: Buffer) => Buffer);
      const check = checkEnvironment(bad, EVERY_LEAF);
      if (check.kind === "damaged") found += 1;
      writeFileSync(file, bytes);
    }
    // Free pages, and pages in the middle of long values, may hold anything.
    expect(found).toBeGreaterThan(pages / STEP / 4);
  });

  it("can be looked at while another process writes it", async () => {
    const root = openIn(bad);
    let isDone = false;
    const written = fill(root).then(() => {
      isDone = true;
    });
    while (!isDone) {
      expect(checkEnvironment(bad, EVERY_LEAF)).toEqual({ kind: "sound" });
      await new Promise(setImmediate);
    }
    await written;
    await root.close();
  });
});
